"""LeanSearch v2's and FrenzyMath's rows become records. Run: pytest tests/corpus/importers/test_leansearch.py"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lean_finder.corpus.importers import import_corpus
from lean_finder.errors import InputError
from lean_finder.records import Declaration

Row = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


def _rows(row: Row) -> list[dict[str, Any]]:
    return [
        row(["Demo", "sq"], "theorem", "∀ {α : Type u} [inst : Demo.Magma α] (a : α), a = a", "(a : α) : a = a"),
        row(["Demo", "Magma"], "inductive", "Type u → Type u", "(α : Type u)"),
        row(["Demo", "Pair"], "structure", "Type u → Type u", "(α : Type u)"),
        row(["Demo", "Covered"], "classInductive", "Type u → Prop"),
        row(["Demo", "sq"], "theorem", "True"),
        row(["Demo", "instMagmaNat"], "instance", "Demo.Magma Nat", ": Magma Nat"),
        row(["Demo", "auto"], "definition", "(n : Nat) → Nat"),
        row(["Demo", "eq_of_sq"], "theorem", "True"),
    ]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_lsv2_rows(write_rows: Write, lsv2_row: Row, name: str) -> None:
    imported = import_corpus(write_rows(name, _rows(lsv2_row)))
    assert imported.format == "lsv2"
    assert imported.declarations[0] == Declaration(
        name="Demo.sq",
        kind="theorem",
        module="Demo.Basic",
        line=0,
        signature="(a : α) : a = a",
        variables="{α : Type u} [inst : Demo.Magma α]",
        informal="Square: The square of a number.",
    )
    kinds = {item.name: item.kind for item in imported.declarations}
    assert kinds == {
        "Demo.sq": "theorem",
        "Demo.Magma": "class",
        "Demo.Pair": "structure",
        "Demo.Covered": "class",
        "Demo.instMagmaNat": "instance",
        "Demo.auto": "def",
        "Demo.eq_of_sq": "theorem",
    }
    assert imported.counts == {"declared twice, the first was kept": 1}
    assert imported.problems[0].where.endswith(f"{name}:5")


def test_a_written_declaration_with_an_auxiliary_name_stays(write_rows: Write, lsv2_row: Row) -> None:
    rows = [
        lsv2_row(["Demo", "Pair"], "structure", "Type u → Type u", "(α : Type u)"),
        lsv2_row(["Demo", "Pair", "below"], "theorem", "True", ": True"),
        lsv2_row(["Demo", "Pair", "casesOn"], "definition", "True"),
    ]
    imported = import_corpus(write_rows("corpus.jsonl", rows))
    assert [item.name for item in imported.declarations] == ["Demo.Pair", "Demo.Pair.below"]
    assert imported.counts == {"internal: recursor or constructor lemma": 1}


def test_frenzymath_rows_have_docstrings(write_rows: Write, lsv2_row: Row) -> None:
    rows = [
        lsv2_row(["Demo", "sq"], "theorem", "True", docstring=" Squares. "),
        lsv2_row(["b"], "def", "ℕ", docstring=None),
    ]
    imported = import_corpus(write_rows("data.jsonl", rows))
    assert imported.format == "frenzymath"
    assert [item.docstring for item in imported.declarations] == ["Squares.", ""]


def test_a_mixed_file_names_the_first_foreign_row(write_rows: Write, lsv2_row: Row) -> None:
    rows = [lsv2_row(["a"], "theorem", "True"), {"formal_name": "b", "kind": "theorem"}]
    with pytest.raises(InputError, match=r"mixed\.jsonl:2: missing key 'name'"):
        import_corpus(write_rows("mixed.jsonl", rows))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "riddle"}, r"rows\.jsonl:2: unknown kind 'riddle'"),
        ({"name": "a.b"}, r"rows\.jsonl:2: 'name' is 'a\.b', expected a list"),
        ({"name": ["a", 1.5]}, r"rows\.jsonl:2: not a Lean name"),
        ({"signature": 3}, r"rows\.jsonl:2: 'signature' is 3, expected text"),
    ],
)
def test_a_bad_row_is_named(write_rows: Write, lsv2_row: Row, change: dict[str, Any], complaint: str) -> None:
    rows = [lsv2_row(["a"], "theorem", "True"), lsv2_row(["b"], "theorem", "True") | change]
    with pytest.raises(InputError, match=complaint):
        import_corpus(write_rows("rows.jsonl", rows), format="lsv2")
