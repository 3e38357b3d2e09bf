"""What changed between two revisions of a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lean_finder.records import Declaration


@dataclass(frozen=True)
class CorpusDiff:
    """Sorted lists of names.

    Attributes:
        added: in the new corpus only (and no new name of a rename).
        removed: in the old corpus only.
        renamed: (old, new) where the new corpus deprecates the old name in favour of the new one.
        moved: (name, old module, new module).
        changed: same name and module, another statement.
    """

    added: list[str]
    removed: list[str]
    renamed: list[tuple[str, str]]
    moved: list[tuple[str, str, str]]
    changed: list[str]


def diff_corpora(old: Sequence[Declaration], new: Sequence[Declaration]) -> CorpusDiff:
    """Compare two corpora by name; a rename is one that the new corpus itself declares by a deprecation."""
    before = {item.name: item for item in old}
    after = {item.name: item for item in new}
    renamed = sorted(
        (name, item.replacement)
        for name, item in after.items()
        if item.deprecated
        and item.replacement
        and name in before
        and not before[name].deprecated
        and item.replacement in after
        and item.replacement not in before
    )
    targets = {target for _, target in renamed}
    both = sorted(before.keys() & after.keys())
    return CorpusDiff(
        added=sorted(after.keys() - before.keys() - targets),
        removed=sorted(before.keys() - after.keys()),
        renamed=renamed,
        moved=[(n, before[n].module, after[n].module) for n in both if before[n].module != after[n].module],
        changed=[
            name
            for name in both
            if before[name].module == after[name].module
            and (before[name].signature, before[name].variables) != (after[name].signature, after[name].variables)
            and not (after[name].deprecated and not before[name].deprecated)
        ],
    )
