"""lean-extract's rows and flags become records. Run: pytest tests/corpus/importers/test_lean_extract.py"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lean_finder.corpus.importers import import_corpus


def _row(name: str, kind: str, type_: str, *flags: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "moduleName": "Demo.Basic",
        "kind": kind,
        "docstring": "A square.",
        "type": type_,
        "displayType": type_,
        "source": {"startLine": 7, "endLine": 8, "body": ""},
        "deps": {"typeDeps": [], "valueDeps": []},
        "visibility": "public",
        "kindFlags": dict.fromkeys(flags, True) | {"isSimp": False},
    } | more


def test_flags_settle_kinds(write_rows: Callable[..., Path]) -> None:
    rows = [
        _row("Demo.Pair", "inductive", "Type", "isStructure"),
        _row("Demo.Pair.fst", "definition", "Demo.Pair → ℕ", "isProj"),
        _row("Demo.Magma", "inductive", "Type", "isStructure", "isClass"),
        _row("Demo.Colour", "inductive", "Type"),
        _row("Demo.instMagmaNat", "definition", "Magma ℕ", "isInstance"),
        _row("Demo.hidden", "definition", "ℕ", visibility="private"),
    ]
    imported = import_corpus(write_rows("extract.jsonl", rows))
    assert imported.format == "lean-extract"
    assert imported.certain_instances
    assert {item.name: (item.kind, item.is_instance) for item in imported.declarations} == {
        "Demo.Pair": ("structure", False),
        "Demo.Pair.fst": ("field", False),
        "Demo.Magma": ("class", False),
        "Demo.Colour": ("inductive", False),
        "Demo.instMagmaNat": ("instance", True),
    }
    assert imported.counts == {"private": 1}
    assert (imported.declarations[0].line, imported.declarations[0].docstring) == (7, "A square.")
