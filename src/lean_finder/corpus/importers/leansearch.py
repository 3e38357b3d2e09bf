"""JSON lines of LeanSearch v2's corpus and of FrenzyMath's informal Mathlib (which LeanSearch v1 serves).

Both give names and modules as lists of parts. LeanSearch v2 has `index` and no docstring, and its `type` is printed
without notation; FrenzyMath has `docstring`, and its `type` reads as Lean prints it.
"""

from __future__ import annotations

from pathlib import Path

from lean_finder.corpus.importers.contract import Fact, Gathering, Imported, informal_text, one_line
from lean_finder.corpus.importers.kinds import KINDS, settle_kinds
from lean_finder.corpus.importers.reading import Row, iter_jsonl
from lean_finder.corpus.importers.signatures import binders_beyond, signature_of_type
from lean_finder.errors import InputError
from lean_finder.records import Declaration

LSV2_KEYS = ("name", "module_name", "kind", "type", "signature", "informal_name", "informal_description")
FRENZYMATH_KEYS = (*LSV2_KEYS, "docstring")


def import_lsv2(path: Path) -> Imported:
    """Read LeanSearch v2's corpus.

    Raises:
        InputError: names the file and row that is damaged or of another format.
    """
    return _import(path, "lsv2", LSV2_KEYS)


def import_frenzymath(path: Path) -> Imported:
    """Read FrenzyMath's informal Mathlib.

    Raises:
        InputError: names the file and row that is damaged or of another format.
    """
    return _import(path, "frenzymath", FRENZYMATH_KEYS)


def _import(path: Path, format_: str, required: tuple[str, ...]) -> Imported:
    gathering = Gathering()
    for row in iter_jsonl(path, required):
        word = row.text("kind")
        if word not in KINDS:
            raise InputError(row.where, f"unknown kind {word!r}", f"known: {', '.join(sorted(KINDS))}")
        if not KINDS[word]:
            gathering.leave_out(row.where, f"no declaration: {word}", row.dotted("name"))
            continue
        gathering.add(row.items("name"), row.where, _fact(row, KINDS[word]))
    return gathering.imported(settle_kinds(gathering.user_facing()), format_, certain_instances=False)


def _fact(row: Row, kind: str) -> Fact:
    """The signature as written, with the binders that only the elaborated type shows as its variables."""
    type_ = one_line(row.text("type", ""))
    written = one_line(row.text("signature", ""))
    declaration = Declaration(
        name=row.dotted("name"),
        kind=kind,
        module=row.dotted("module_name"),
        line=0,
        signature=written or signature_of_type(type_),
        variables=binders_beyond(type_, written) if written else "",
        docstring=row.text("docstring", "").strip(),
        informal=informal_text(row.text("informal_name", ""), row.text("informal_description", "")),
        is_instance=kind == "instance",
    )
    return Fact(declaration, type_, written=bool(written))
