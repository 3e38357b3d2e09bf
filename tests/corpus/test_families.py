"""Guards what is joined, why, and what is not. Run: pytest tests/corpus/test_families.py"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lean_finder.corpus.families import REASONS, find_families, sizes
from lean_finder.corpus.parse import parse_file
from lean_finder.corpus.resolve import Resolver
from lean_finder.records import Declaration

TEXT = """
/-- Products may be swapped freely here. -/
@[to_additive] theorem mul_swap {G : Type*} [CommGroup G] (a b : G) : a * b = b * a := x
alias mul_swap' := mul_swap
@[deprecated mul_swap (since := "2024-01-01")] theorem old_swap : unrelated := x
theorem copy {H : Type u} (x y : H) [CommGroup H] : x * y = y * x := x
theorem other {H : Type u} (x y : H) [CommGroup H] : x * y = x * y := x
/-- A point of the plane. -/
@[ext] structure Pt where
  fst : Nat
  snd : Nat
def one_map (f : Nat → Nat) : Nat → Nat := f
def two_map (g : Nat → Nat) : Nat → Nat := g
@[to_additive existing add_thing] def mulThing : Nat := 1
def add_thing : Nat := 2
/-- The universal thing of these two. -/
def left_thing (A B : Cat) : foo A B := x
/-- The universal  thing of these two! -/
def right_thing (C D : Cat) : bar C D := x
namespace A
theorem small : zero = one := x
theorem zero : p := x
end A
namespace B
theorem small : zero = one := x
theorem zero : q := x
end B
"""


@pytest.fixture(scope="module")
def declarations() -> list[Declaration]:
    return Resolver([parse_file(TEXT, "L.F", "L/F.lean")]).run()


def test_every_reason_joins_what_it_should(declarations: list[Declaration]) -> None:
    families = find_families(declarations)
    swap = {"mul_swap", "mul_swap'", "add_swap", "old_swap", "copy"}
    assert set(families.members("copy")) == swap
    assert families.family_of["copy"] == min(swap)
    assert set(families.members("Pt")) == {"Pt", "Pt.fst", "Pt.snd", "Pt.ext", "Pt.ext_iff"}
    assert families.family_of["mulThing"] == families.family_of["add_thing"]
    assert families.family_of["left_thing"] == families.family_of["right_thing"]
    assert {join.reason for join in families.joins} == set(REASONS)
    assert all(join.evidence for join in families.joins)


def test_neighbours_and_equal_types_of_definitions_are_not_joined(declarations: list[Declaration]) -> None:
    family = find_families(declarations).family_of
    assert family["other"] != family["copy"]
    assert family["one_map"] != family["two_map"]


def test_names_are_read_in_their_namespace(declarations: list[Declaration]) -> None:
    family = find_families(declarations).family_of
    assert family["A.small"] != family["B.small"]


def test_the_order_of_declarations_does_not_matter(declarations: list[Declaration]) -> None:
    forward, backward = find_families(declarations), find_families(declarations[::-1])
    assert forward.family_of == backward.family_of


def test_a_partition(declarations: list[Declaration]) -> None:
    families = find_families(declarations)
    assert families.family_of.keys() == {item.name for item in declarations}
    assert sum(sizes(families).values()) == len(declarations)


def test_joins_to_names_outside_the_corpus_are_dropped() -> None:
    lone = replace(Declaration("a", "alias", "L", 1, ""), origin="alias", generated_by="Elsewhere.b")
    assert find_families([lone]).joins == []
