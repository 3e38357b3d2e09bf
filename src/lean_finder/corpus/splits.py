"""The manifest: every declaration's family and split, decided in one place."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from lean_finder.corpus.families import Families
from lean_finder.errors import InputError
from lean_finder.records import Declaration, SplitRow


def make_manifest(
    declarations: Sequence[Declaration],
    families: Families,
    golds: Mapping[str, Collection[str]],
    *,
    validation_share: float,
    seed: int,
) -> list[SplitRow]:
    """Give every family a split.

    A family with a gold of any benchmark is `test`. Of the others, `validation_share` becomes `validation`:
    by family, in every stratum (top folder and commonest kind of the family) the same share, drawn by `seed`.
    The draw orders families by a hash of seed and name, so adding one declaration moves few others.

    Args:
        declarations: the corpus.
        families: of that corpus.
        golds: benchmark → its gold names; names that are not in the corpus are ignored here (`check_names` lists them).
        validation_share: between 0 and 1 (exclusive).
        seed: of the draw.

    Returns:
        One row for each declaration, sorted by name.

    Raises:
        InputError: the share is not in [0, 1).
    """
    if not 0 <= validation_share < 1:
        raise InputError("validation_share", f"is {validation_share}, not in [0, 1)", "give a share such as 0.05")
    test: dict[str, tuple[str, str]] = {}
    gold_of = {name: benchmark for benchmark in sorted(golds, reverse=True) for name in golds[benchmark]}
    for name in sorted(gold_of):
        family = families.family_of.get(name)
        if family is not None:
            test.setdefault(family, (name, gold_of[name]))
    validation = _validation(declarations, families, test, validation_share, seed)
    rows = []
    for name in sorted(families.family_of):
        family = families.family_of[name]
        if name in gold_of:
            rows.append(SplitRow(name, family, "test", f"gold of {gold_of[name]}"))
        elif family in test:
            gold, benchmark = test[family]
            rows.append(SplitRow(name, family, "test", f"family of {gold}, gold of {benchmark}"))
        elif family in validation:
            rows.append(SplitRow(name, family, "validation", "seed"))
        else:
            rows.append(SplitRow(name, family, "train", "rest"))
    return rows


def top_folder(module: str) -> str:
    """Second component of a module name (`Order` of `Atlas.Order.Basic`); the first if there is only one."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _validation(
    declarations: Sequence[Declaration],
    families: Families,
    test: Collection[str],
    share: float,
    seed: int,
) -> set[str]:
    members: dict[str, list[Declaration]] = defaultdict(list)
    for item in declarations:
        family = families.family_of[item.name]
        if family not in test:
            members[family].append(item)
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for family, items in members.items():
        head = next((item for item in items if item.name == family), items[0])
        kinds = Counter(item.kind for item in items)
        strata[top_folder(head.module), min(kinds, key=lambda kind: (-kinds[kind], kind))].append(family)
    chosen: set[str] = set()
    owed = 0.0
    for stratum in sorted(strata):
        ordered = sorted(strata[stratum], key=lambda family: _draw(seed, family))
        # The fraction that a small stratum cannot give is carried on to the next one.
        owed += share * len(ordered)
        take = min(int(owed + 0.5), len(ordered))
        owed -= take
        chosen.update(ordered[:take])
    return chosen


def _draw(seed: int, family: str) -> bytes:
    return hashlib.sha256(f"{seed}:{family}".encode()).digest()
