"""doc-gen4's database `api-docs.db` (since v4.29): names, kinds, types, docstrings, lines, attributes and instances."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lean_finder.corpus.importers.contract import Fact, Gathering, Imported, blank, one_line
from lean_finder.corpus.importers.kinds import KINDS, settle_kinds
from lean_finder.corpus.importers.rendered_code import BadBlobError, rendered_text
from lean_finder.errors import InputError

MAGIC = b"SQLite format 3\0"
_NEEDED = (
    *("name_info", "declaration_ranges", "declaration_markdown_docstrings", "declaration_attrs", "definitions"),
    *("instances", "structure_fields", "structure_parents", "structure_constructors", "constructors"),
)
_DEPRECATED = re.compile(
    r"deprecated(?: (?P<replacement>[^\s\"(]+))?(?: \"[^\"]*\")?(?: \(since := \"(?P<since>[^\"]*)\"\))?"
)

_Key = tuple[str, int]  # module, position


def import_docgen_sqlite(path: Path) -> Imported:
    """Read a database that doc-gen4 wrote. Databases before v4.30 have no arguments: signatures are types only.

    Raises:
        InputError: no database, not doc-gen4's, damaged, or a type that is no rendered code.
    """
    gathering = Gathering()
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            _check_tables(path, database)
            for name, where, fact in _facts(path, database):
                gathering.add(name, where, fact)
    except sqlite3.Error as error:
        raise InputError(path, f"not a readable doc-gen4 database: {error}", "build the documentation again") from error
    if not gathering.facts:
        raise InputError(path, "the database has no declaration", "build the documentation again")
    return gathering.imported(settle_kinds(gathering.user_facing()), "docgen4-sqlite", certain_instances=True)


def _check_tables(path: Path, database: sqlite3.Connection) -> None:
    missing = [name for name in _NEEDED if name not in _tables(database)]
    if missing:
        raise InputError(path, f"missing table {missing[0]!r}", "this is not the database of doc-gen4")


def _tables(database: sqlite3.Connection) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _facts(path: Path, database: sqlite3.Connection) -> Iterator[tuple[str, str, Fact]]:
    arguments = _lists(database, "declaration_args", "binder") if "declaration_args" in _tables(database) else {}
    attributes = _lists(database, "declaration_attrs", "attr")
    classes = dict(_pairs(database, "SELECT module_name, position, class_name FROM instances"))
    hints = dict(_pairs(database, "SELECT module_name, position, hints FROM definitions"))
    origins = _origins(database)
    (total,) = database.execute("SELECT count(*) FROM name_info").fetchone()
    rows = database.execute(
        "SELECT n.module_name, n.position, n.kind, n.name, n.type, r.start_line, d.text FROM name_info n"
        " LEFT JOIN declaration_ranges r ON r.module_name = n.module_name AND r.position = n.position"
        " LEFT JOIN declaration_markdown_docstrings d ON d.module_name = n.module_name AND d.position = n.position"
        " ORDER BY n.module_name, n.position"
    )
    for module, position, word, name, type_, line, docstring in tqdm(
        rows, total=total, desc="reading doc-gen4", unit="row", disable=None
    ):
        key = (module, position)
        where = f"{path}: name_info {module} {position}"
        if word not in KINDS:
            raise InputError(where, f"unknown kind {word!r}", "this version of doc-gen4 is not known")
        binders = [_text(blob, where) for blob in arguments.get(key, [])]
        kind = "abbrev" if hints.get(key) == "abbrev" and KINDS[word] == "def" else KINDS[word]
        elaborated = _text(type_, where)
        declaration = replace(
            blank(kind, module),
            line=line or 0,
            signature=" ".join([*binders, ":", elaborated]),
            docstring=(docstring or "").strip(),
            attributes=tuple(attributes.get(key, [])),
            is_instance=key in classes,
            **_deprecation(attributes.get(key, [])),
        )
        if name in origins and origins[name][0] != kind:
            made, owner = origins[name]
            declaration = replace(declaration, kind=made, origin=made, generated_by=owner)
        yield name, where, Fact(declaration, elaborated, written=True, certain=True)


def _text(blob: Any, where: str) -> str:
    """Text of rendered code; a database before v4.29 stored plain text."""
    if isinstance(blob, str):
        return one_line(blob)
    try:
        return one_line(rendered_text(blob))
    except (BadBlobError, TypeError) as error:
        raise InputError(where, f"a type that is no rendered code: {error}", "build the documentation again") from error


def _lists(database: sqlite3.Connection, table: str, column: str) -> dict[_Key, list[Any]]:
    """Values of a numbered table, in their order, by declaration."""
    found: dict[_Key, list[Any]] = defaultdict(list)
    query = f"SELECT module_name, position, {column} FROM {table} ORDER BY module_name, position, sequence"
    for key, value in _pairs(database, query):
        found[key].append(value)
    return found


def _pairs(database: sqlite3.Connection, query: str) -> Iterator[tuple[_Key, Any]]:
    for module, position, value in database.execute(query):
        yield (module, position), value


def _origins(database: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Name -> (field, projection or constructor; the type that it belongs to)."""
    owner = "JOIN name_info o ON o.module_name = t.module_name AND o.position = "
    queries = {
        "field": f"SELECT t.proj_name, o.name FROM structure_fields t {owner} t.position",
        "projection": f"SELECT t.projection_fn, o.name FROM structure_parents t {owner} t.position",
        "constructor": "SELECT n.name, o.name FROM constructors t JOIN name_info n ON n.module_name = t.module_name"
        f" AND n.position = t.position {owner} t.type_position",
    }
    found = {
        name: (kind, parent)
        for kind, query in queries.items()
        for name, parent in database.execute(query)
        if name.rpartition(".")[0] == parent  # a projection that is inherited belongs to the ancestor
    }
    structures = f"SELECT t.name, o.name FROM structure_constructors t {owner} t.position"
    return found | {name: ("constructor", parent) for name, parent in database.execute(structures)}


def _deprecation(attributes: list[str]) -> dict[str, Any]:
    for attribute in attributes:
        found = _DEPRECATED.match(attribute)
        if found:
            parts = found.groupdict(default="")
            return {"deprecated": True, "deprecated_since": parts["since"], "replacement": parts["replacement"]}
    return {}
