"""Guards the report on known names and the difference of two corpora.

Run: pytest tests/corpus/test_check_and_diff.py"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lean_finder.corpus.check import check_names, share_found
from lean_finder.corpus.diff import diff_corpora
from lean_finder.records import Declaration


def item(name: str, **changes: object) -> Declaration:
    return replace(Declaration(name, "theorem", "L.A", 1, ": p"), **changes)  # type: ignore[arg-type]


CORPUS = [
    item("A.B.foo"),
    item("A.bar", deprecated=True, replacement="A.baz"),
    item("S.f", kind="field", origin="field", generated_by="S"),
    item("hid", visibility="private"),
    item("tw", origin="to_additive", generated_by="t"),
    item("A.baz"),
]


@pytest.mark.parametrize(
    ("name", "found", "reason", "nearest"),
    [
        ("A.B.foo", True, "found", "A.B.foo"),
        ("_root_.A.baz ", True, "found", "A.baz"),
        ("A.bar", True, "found, deprecated: use A.baz", "A.bar"),
        ("S.f", True, "found, field of S", "S.f"),
        ("hid", True, "found, private", "hid"),
        ("tw", True, "found, made by to_additive from t", "tw"),
        ("foo", False, "in another namespace: A.B.foo", "A.B.foo"),
        ("Z.A.B.foo", False, "in another namespace: A.B.foo", "A.B.foo"),
        ("a.b.Foo", False, "only in another case: A.B.foo", "A.B.foo"),
        ("A.bax", False, "absent", "A.baz"),
        ("nothing", False, "absent", ""),
    ],
)
def test_why_a_name_is_or_is_not_there(name: str, found: bool, reason: str, nearest: str) -> None:
    check = check_names([name], CORPUS)[0]
    assert (check.found, check.reason) == (found, reason)
    assert check.nearest == nearest or (name == "A.bax" and check.nearest in {"A.bar", "A.baz"})


def test_share() -> None:
    assert share_found(check_names(["A.baz", "no", "A.B.foo", "nope"], CORPUS)) == 0.5
    assert share_found([]) == 1.0


def test_diff_of_two_revisions() -> None:
    old = [item("stays"), item("goes"), item("moves"), item("restated"), item("old_name")]
    new = [
        item("stays"),
        item("comes"),
        item("moves", module="L.B"),
        item("restated", signature=": q"),
        item("old_name", deprecated=True, replacement="new_name"),
        item("new_name"),
    ]
    found = diff_corpora(old, new)
    assert (found.added, found.removed, found.changed) == (["comes"], ["goes"], ["restated"])
    assert found.renamed == [("old_name", "new_name")]
    assert found.moved == [("moves", "L.A", "L.B")]
