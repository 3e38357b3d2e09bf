"""doc-gen4's database becomes records. Run: pytest tests/corpus/importers/test_docgen_sqlite.py"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lean_finder.corpus.importers import import_corpus
from lean_finder.errors import InputError
from lean_finder.records import Declaration


def test_every_table_reaches_the_records(docgen_database: Path) -> None:
    imported = import_corpus(docgen_database)
    found = {item.name: item for item in imported.declarations}
    assert imported.format == "docgen4-sqlite"
    assert found["Demo.op_self"] == Declaration(
        name="Demo.op_self",
        kind="theorem",
        module="Demo.Basic",
        line=17,
        signature="{α : Type u} [Magma α] (a : α) : op a a = a",
        attributes=("simp",),
    )
    assert found["Demo.Pair"].docstring == "Two things."
    assert found["Demo.instMagmaNat"].signature == ": Magma ℕ"
    assert found["Demo.instMagmaNat"].is_instance
    old = found["Demo.old"]
    assert (old.deprecated, old.deprecated_since, old.replacement) == (True, "2025-01-31", "Demo.op_self")
    assert {name: (item.kind, item.generated_by) for name, item in found.items()} == {
        "Demo.Magma": ("class", ""),
        "Demo.Magma.op": ("field", "Demo.Magma"),
        "Demo.Pair": ("structure", ""),
        "Demo.Pair.mk": ("constructor", "Demo.Pair"),
        "Demo.Pair.toOne": ("projection", "Demo.Pair"),
        "Demo.Pair.snd": ("field", "Demo.Pair"),
        "Demo.Colour": ("inductive", ""),
        "Demo.Colour.red": ("constructor", "Demo.Colour"),
        "Demo.Covered": ("class", ""),
        "Demo.op_self": ("theorem", ""),
        "Demo.instMagmaNat": ("instance", ""),
        "Demo.Sq": ("abbrev", ""),
        "Demo.old": ("theorem", ""),
    }
    assert imported.counts == {"internal: made by Lean": 1}


def test_a_database_without_arguments_still_gives_types(docgen_database: Path) -> None:
    _change(docgen_database, "DROP TABLE declaration_args")
    found = {item.name: item.signature for item in import_corpus(docgen_database.parent).declarations}
    assert found["Demo.op_self"] == ": op a a = a"


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("DROP TABLE instances", r"missing table 'instances'"),
        ("DELETE FROM name_info", r"has no declaration"),
        ("UPDATE name_info SET type = x'0005'", r"name_info Demo\.Basic 0: a type that is no rendered code: ends too"),
        ("UPDATE name_info SET kind = 'verb'", r"name_info Demo\.Basic 0: unknown kind 'verb'"),
    ],
)
def test_bad_content_is_named(docgen_database: Path, statement: str, complaint: str) -> None:
    _change(docgen_database, statement)
    with pytest.raises(InputError, match=complaint):
        import_corpus(docgen_database)


def test_a_database_cut_in_half_is_named(docgen_database: Path) -> None:
    data = docgen_database.read_bytes()
    docgen_database.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"api-docs\.db: not a readable doc-gen4 database"):
        import_corpus(docgen_database)


def _change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)
