"""Lean Finder's published rows become records. Run: pytest tests/corpus/importers/test_lean_finder_jsonl.py"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lean_finder.corpus.importers import import_corpus
from lean_finder.errors import InputError
from lean_finder.records import Declaration

ROW = {
    "formal_name": "Demo.sq",
    "informal_name": "Square",
    "informal_description": "A square.",
    "kind": "theorem",
    "type": "∀ (n : ℕ), n = n",
    "path": "Demo/Basic.lean:12",
}


def test_rows(write_rows: Callable[..., Path]) -> None:
    rows = [ROW, ROW | {"formal_name": "Demo.«a.b».c", "path": "Demo/Far.lean", "kind": "inductive"}]
    imported = import_corpus(write_rows("corpus.jsonl", rows))
    assert imported.format == "lean-finder"
    assert imported.declarations[0] == Declaration(
        "Demo.sq", "theorem", "Demo.Basic", 12, "(n : ℕ) : n = n", informal="Square: A square."
    )
    assert (imported.declarations[1].name, imported.declarations[1].module) == ("Demo.a.b.c", "Demo.Far")


def test_a_missing_key_is_named(write_rows: Callable[..., Path]) -> None:
    rows = [ROW, {key: value for key, value in ROW.items() if key != "type"}]
    with pytest.raises(InputError, match=r"corpus\.jsonl:2: missing key 'type'.*every row needs: formal_name"):
        import_corpus(write_rows("corpus.jsonl", rows))
