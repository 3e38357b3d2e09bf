"""Kind (h): one query that asks for declarations on both sides of a split."""

from __future__ import annotations

from collections import defaultdict

from lean_finder.audit.checks.base import Case, Check, add_evidence


def _split_table(case: Case) -> dict[str, dict[str, str]]:
    """Folded query -> split -> where it stands, over all sets and the benchmark."""
    if "splits" not in case.shared:
        table: dict[str, dict[str, str]] = defaultdict(dict)
        for rows in case.others:
            own = rows.names[rows.names["column"] == "declaration"]
            split_of = {target: case.side.split(target) for target in set(own["name"])}
            keys = rows.query_keys
            for row, target in zip(own["row"].tolist(), own["name"].tolist(), strict=True):
                key, split = keys[row], split_of[target]
                if key and split:
                    table[key].setdefault(split, f"{rows.training_set.name} row {rows.numbers[row]} ({target})")
        case.shared["splits"] = {key: places for key, places in table.items() if len(places) > 1}
    return case.shared["splits"]  # type: ignore[return-value]


def _find(case: Case, with_test: bool) -> dict[int, str]:
    table = _split_table(case)
    found: dict[int, str] = {}
    if not table:
        return found
    for row, key in enumerate(case.rows.query_keys):
        places = table.get(key)
        if places and ("test" in places) == with_test:
            add_evidence(
                found,
                [row],
                "the query asks on both sides: " + ", ".join(f"{k}: {v}" for k, v in sorted(places.items())),
            )
    return found


def find_test_crossings(case: Case) -> dict[int, str]:
    """Rows whose query also has a hidden target somewhere in the audited sets."""
    return _find(case, with_test=True)


def find_validation_crossings(case: Case) -> dict[int, str]:
    """Rows whose query has both a training and a validation target."""
    return _find(case, with_test=False)


CROSSING_TEST = Check(
    "split_query",
    "h",
    "critical",
    "No query may have one target in training and another that is held out.",
    find_test_crossings,
)
CROSSING_VALIDATION = Check(
    "validation_query",
    "h",
    "warning",
    "A query with one target in training and another in validation makes choices too optimistic.",
    find_validation_crossings,
)
