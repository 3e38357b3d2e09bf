"""JSON lines of the published Lean Finder corpus: formal and informal name, kind, type, description, path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

from lean_finder.corpus.importers.contract import (
    Fact,
    Gathering,
    Imported,
    blank,
    informal_text,
    module_of_path,
    one_line,
)
from lean_finder.corpus.importers.kinds import KINDS, settle_kinds
from lean_finder.corpus.importers.reading import Row, iter_jsonl
from lean_finder.corpus.importers.signatures import signature_of_type
from lean_finder.errors import InputError

KEYS = ("formal_name", "kind", "type", "informal_name", "informal_description", "path")


def import_lean_finder(path: Path) -> Imported:
    """Read a corpus file of Lean Finder. `path` may end in `:line`.

    Raises:
        InputError: names the file and row that is damaged or of another format.
    """
    gathering = Gathering()
    for row in iter_jsonl(path, KEYS):
        word = row.text("kind")
        if word not in KINDS:
            raise InputError(row.where, f"unknown kind {word!r}", f"known: {', '.join(sorted(KINDS))}")
        if not KINDS[word]:
            gathering.leave_out(row.where, f"no declaration: {word}", row.text("formal_name"))
            continue
        gathering.add(row.text("formal_name"), row.where, _fact(row, KINDS[word]))
    return gathering.imported(settle_kinds(gathering.user_facing()), "lean-finder", certain_instances=False)


def _fact(row: Row, kind: str) -> Fact:
    type_ = one_line(row.text("type", ""))
    file, _, line = row.text("path", "").partition(":")
    declaration = replace(
        blank(kind, module_of_path(Path(PurePosixPath(file))) if file else ""),
        line=int(line) if line.isdecimal() else 0,
        signature=signature_of_type(type_),
        informal=informal_text(row.text("informal_name", ""), row.text("informal_description", "")),
        is_instance=kind == "instance",
    )
    return Fact(declaration, type_)
