"""Dependencies are found as Lean finds names. Run alone: pytest tests/generation/test_dependencies.py"""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lean_finder.generation.dependencies import dependency_plan
from lean_finder.records import Declaration


def decl(name: str, signature: str = ": Prop", **more: str) -> Declaration:
    return Declaration(name=name, kind="def", module="Demo", line=1, signature=signature, **more)


LIBRARY = [
    decl("Demo.main", "(x : Point) : Line x → Far.thing = Demo.Point.zero", namespace="Demo"),
    decl("Demo.Line", "(p : Point) : Type", namespace="Demo"),
    decl("Demo.Point", ": Type", docstring="A point of the plane."),
    decl("Demo.Point.zero", ": Point", namespace="Demo"),
    decl("Far.thing", ": Type"),
]


def names(library: list[Declaration], positions: list[int]) -> list[str]:
    return [library[index].name for index in positions]


def test_names_in_statements_are_dependencies_found_as_lean_finds_them() -> None:
    plan = dependency_plan(LIBRARY)
    assert names(LIBRARY, plan.dependencies[0]) == ["Demo.Point", "Demo.Line", "Far.thing", "Demo.Point.zero"]
    assert names(LIBRARY, plan.dependencies[3]) == ["Demo.Point"]
    order = names(LIBRARY, plan.order)
    assert order == ["Demo.Point", "Demo.Line", "Demo.Point.zero", "Far.thing", "Demo.main"]
    assert [names(LIBRARY, level) for level in plan.levels] == [
        ["Demo.Point", "Far.thing"],
        ["Demo.Line", "Demo.Point.zero"],
        ["Demo.main"],
    ]
    assert plan.broken == 0


def test_a_generated_declaration_builds_on_its_source() -> None:
    library = [decl("add_x", ": True", generated_by="mul_x"), decl("mul_x", ": True")]
    assert names(library, dependency_plan(library).order) == ["mul_x", "add_x"]


def test_the_innermost_namespace_wins_and_bound_letters_are_no_names() -> None:
    library = [
        decl("A.B.t", "(x : foo) : x = x", namespace="A.B"),
        decl("A.foo"),
        decl("foo"),
        decl("x"),
        decl("A.B.foo"),
    ]
    assert names(library, dependency_plan(library).dependencies[0]) == ["A.B.foo"]


def test_a_cycle_is_broken_inside_and_nothing_else_loses_a_dependency() -> None:
    library = [decl("dd", ": aa"), decl("aa", ": bb → zz"), decl("bb", ": cc"), decl("cc", ": aa"), decl("zz")]
    plan = dependency_plan(library)
    assert names(library, plan.order) == ["zz", "aa", "dd", "cc", "bb"]
    assert names(library, plan.dependencies[0]) == ["aa"]
    assert names(library, plan.dependencies[1]) == ["zz"]
    assert plan.broken == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), max_size=4), min_size=1, max_size=12))
def test_any_graph_gets_an_order_that_it_keeps(edges: list[list[int]]) -> None:
    library = [decl(f"n{index}", ": " + " ".join(f"n{other}" for other in found)) for index, found in enumerate(edges)]
    plan = dependency_plan(library)
    place = {index: number for number, index in enumerate(plan.order)}
    assert sorted(plan.order) == list(range(len(library)))
    assert all(place[other] < place[index] for index, found in enumerate(plan.dependencies) for other in found)
    assert dependency_plan(library) == plan


def test_a_long_chain_and_a_large_cycle_take_neither_recursion_nor_long() -> None:
    chain = [decl(f"c{number}", f": c{number + 1}") for number in range(20_000)]
    started = time.process_time()
    assert names(chain, dependency_plan(chain).order)[:2] == ["c19999", "c19998"]
    ring = [*chain, decl("c20000", ": c0")]
    assert dependency_plan(ring).broken == 1
    assert time.process_time() - started < 10
