"""Exact facts win, the source fills, nothing stands twice. Run: pytest tests/corpus/importers/test_merge.py"""

from __future__ import annotations

from typing import Any

import pytest

from lean_finder.corpus.importers.merge import Disagreement, merge_exact
from lean_finder.records import Declaration


def decl(name: str, kind: str = "theorem", line: int = 0, **more: Any) -> Declaration:
    return Declaration(**({"module": "M", "signature": ""} | more), name=name, kind=kind, line=line)


def test_types_come_from_lean_and_texts_from_the_source() -> None:
    source = decl(
        "a",
        "lemma",
        7,
        signature="(x : α) : x = x",
        variables="{α : Type*}",
        docstring="Doc.",
        attributes=("simp",),
        namespace="N",
        visibility="protected",
        deprecated=True,
        deprecated_since="2025-01-01",
        replacement="b",
    )
    exact = decl("a", "theorem", 5, signature="{α : Type u_1} (x : α) : x = x", informal="Text.")
    merged = merge_exact([source], [exact])
    assert merged.declarations == [
        decl(
            "a",
            "lemma",
            7,
            signature="{α : Type u_1} (x : α) : x = x",
            docstring="Doc.",
            attributes=("simp",),
            namespace="N",
            visibility="protected",
            deprecated=True,
            deprecated_since="2025-01-01",
            replacement="b",
            informal="Text.",
        )
    ]
    assert merged.disagreements == []


def test_a_corpus_without_signatures_keeps_the_sources() -> None:
    source = decl("a", line=7, signature="(x : α) : x = x", variables="{α : Type*}")
    assert merge_exact([source], [decl("a")]).declarations == [source]


@pytest.mark.parametrize(
    ("source", "exact", "taken", "counts"),
    [
        ("class", "inductive", "class", {}),
        ("structure", "inductive", "structure", {}),
        ("inductive", "structure", "structure", {"kind": 1}),
        ("structure", "class", "class", {"kind": 1}),
        ("alias", "theorem", "alias", {}),
        ("def", "theorem", "theorem", {"kind": 1}),
    ],
)
def test_kinds(source: str, exact: str, taken: str, counts: dict[str, int]) -> None:
    merged = merge_exact([decl("A", source)], [decl("A", exact)])
    assert [item.kind for item in merged.declarations] == [taken]
    assert merged.counts == counts
    assert merged.recovered == ({"A": taken} if exact == "inductive" else {})


def test_disagreements_are_listed_and_lean_wins() -> None:
    source = decl("a", line=1, module="M.Old", docstring="Ours.", is_instance=True, replacement="b")
    exact = decl("a", module="M.New", docstring="Theirs.", replacement="c")
    merged = merge_exact([source], [exact])
    taken = merged.declarations[0]
    assert (taken.module, taken.docstring, taken.is_instance, taken.replacement) == ("M.New", "Theirs.", False, "c")
    assert merged.disagreements == [
        Disagreement("a", "docstring", "Ours.", "Theirs."),
        Disagreement("a", "is_instance", "True", "False"),
        Disagreement("a", "module", "M.Old", "M.New"),
        Disagreement("a", "replacement", "b", "c"),
    ]


def test_where_instances_are_not_certain_the_source_is_believed() -> None:
    merged = merge_exact([decl("a", "def", is_instance=True)], [decl("a", "def")], certain_instances=False)
    assert merged.declarations[0].is_instance
    assert merged.disagreements == []


def test_nothing_that_only_one_side_has_is_lost() -> None:
    merged = merge_exact([decl("a"), decl("p", visibility="private")], [decl("b")])
    assert [item.name for item in merged.declarations] == ["a", "b", "p"]
    assert (merged.only_source, merged.only_exact) == (["a"], ["b"])


def instance(name: str, line: int = 0, **more: Any) -> Declaration:
    return decl(name, "instance", line, is_instance=True, **more)


def test_a_guessed_instance_name_at_the_same_line_is_replaced() -> None:
    source = [instance("instFooBar", 3, docstring="Doc."), instance("instBaz", 9)]
    exact = [instance("instFooBarId", 3), instance("instBaz", 9), instance("instQux", 20)]
    merged = merge_exact(source, exact)
    assert [(item.name, item.docstring) for item in merged.declarations] == [
        ("instFooBarId", "Doc."),
        ("instBaz", ""),
        ("instQux", ""),
    ]
    assert merged.disagreements == [Disagreement("instFooBarId", "name", "instFooBar", "instFooBarId")]
    assert merged.only_exact == ["instQux"]


def test_two_guesses_pair_in_order_of_lines() -> None:
    source = [instance("instA", 10), instance("instB", 20)]
    exact = [instance("instBx", 19), instance("instAx", 8)]
    merged = merge_exact(source, exact)
    assert {(item.source, item.exact) for item in merged.disagreements} == {("instA", "instAx"), ("instB", "instBx")}


def test_a_guess_that_cannot_be_paired_does_not_stand_beside_its_exact_name() -> None:
    source = [instance("instA", 10), instance("instB", 20)]
    merged = merge_exact(source, [instance("instCorrect")])
    assert [item.name for item in merged.declarations] == ["instCorrect"]
    assert merged.counts == {"name": 2}


def test_a_guess_stays_where_the_module_has_no_other_candidate() -> None:
    merged = merge_exact([instance("instA", 10)], [decl("t"), instance("instZ", module="Other")])
    assert merged.only_source == ["instA"]


def test_named_instances_are_never_renamed() -> None:
    merged = merge_exact([instance("M.monoid", 3)], [instance("M.instX", 3)])
    assert sorted(item.name for item in merged.declarations) == ["M.instX", "M.monoid"]
