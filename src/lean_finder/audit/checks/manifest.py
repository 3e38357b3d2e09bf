"""The manifest itself: golds and their families must be held out, families whole, names unique."""

from __future__ import annotations

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.rows import is_missing
from lean_finder.records import SPLITS


def find_manifest_errors(case: Case) -> dict[int, str]:
    """Manifest rows that contradict the benchmark, the joins or one another."""
    frame, side = case.rows.frame, case.side
    names, families = frame["declaration"].tolist(), frame["family"].tolist()
    splits: dict[str, set[str]] = {}
    for family, split in zip(families, frame["split"].tolist(), strict=True):
        splits.setdefault(str(family), set()).add(str(split))
    seen: dict[str, int] = {}
    found: dict[int, str] = {}
    for row, (name, family, split) in enumerate(zip(names, families, frame["split"].tolist(), strict=True)):
        whole = isinstance(name, str) and isinstance(family, str)
        if (not whole and (is_missing(name) or is_missing(family))) or split not in SPLITS:
            add_evidence(
                found, [row], f"declaration {name!r}, family {family!r}, split {split!r}: a cell is missing or unknown"
            )
            continue
        if name in seen:
            add_evidence(found, [row], f"{name} already stands in row {case.rows.numbers[seen[name]]}")
        seen.setdefault(name, row)
        if len(splits[str(family)]) > 1:
            add_evidence(found, [row], f"family {family} is split over {', '.join(sorted(splits[str(family)]))}")
        if split != "test" and side.is_gold(name):
            add_evidence(found, [row], f"{name} is a benchmark's gold but stands in {split}")
        elif split != "test" and side.why_hidden(name):
            add_evidence(found, [row], f"{name} stands in {split} but is {side.why_hidden(name)}")
    return found


MANIFEST = Check(
    "manifest",
    "b",
    "critical",
    "The manifest must hold out every gold with its whole family, keep families whole and name each declaration once.",
    find_manifest_errors,
)
