"""JSON lines of lean-extract: `name, moduleName, kind, docstring, type, displayType, source, visibility, kindFlags`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lean_finder.corpus.importers.contract import Fact, Gathering, Imported, blank, one_line
from lean_finder.corpus.importers.kinds import KINDS, settle_kinds
from lean_finder.corpus.importers.reading import Row, iter_jsonl
from lean_finder.corpus.importers.signatures import signature_of_type
from lean_finder.errors import InputError

KEYS = ("name", "moduleName", "kind", "type", "kindFlags")


def import_lean_extract(path: Path) -> Imported:
    """Read what lean-extract wrote; its flags say for certain what is a class, a structure or an instance.

    Raises:
        InputError: names the file and row that is damaged or of another format.
    """
    gathering = Gathering()
    for row in iter_jsonl(path, KEYS):
        word = row.text("kind")
        if word not in KINDS:
            raise InputError(row.where, f"unknown kind {word!r}", f"known: {', '.join(sorted(KINDS))}")
        name = row.values["name"]
        if not KINDS[word] or row.text("visibility", "public") == "private":
            gathering.leave_out(row.where, "private" if KINDS[word] else f"no declaration: {word}", row.dotted("name"))
            continue
        gathering.add(name, row.where, _fact(row, KINDS[word]))
    return gathering.imported(settle_kinds(gathering.user_facing()), "lean-extract", certain_instances=True)


def _fact(row: Row, kind: str) -> Fact:
    flags = {key for key, value in row.inner("kindFlags").values.items() if value is True}
    type_ = one_line(row.text("displayType", "") or row.text("type"))
    source = row.inner("source")
    if "isClass" in flags:
        kind = "class"
    elif "isStructure" in flags:
        kind = "structure"
    elif "isInstance" in flags and kind in {"def", "theorem"}:
        kind = "instance"
    declaration = replace(
        blank(kind, row.dotted("moduleName")),
        line=source.number("startLine", 0),
        signature=signature_of_type(type_),
        docstring=row.text("docstring", "").strip(),
        visibility=row.text("visibility", "public"),
        is_instance="isInstance" in flags,
    )
    return Fact(declaration, type_, written="isProj" not in flags, certain=kind in {"class", "structure", "inductive"})
