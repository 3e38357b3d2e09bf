"""Kinds (a) and (b): a hidden declaration, or a member of its family, as anything that a model is shown by name."""

from __future__ import annotations

from collections.abc import Callable

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.inputs import CHOOSING_ROLES


def _by_name(case: Case, explain: Callable[[str], str]) -> dict[int, str]:
    found: dict[int, str] = {}
    table = case.rows.names
    for name, places in case.rows.by_name.items():
        why = explain(name)
        if why:
            for row, column, raw in table.iloc[places][["row", "column", "raw"]].itertuples(index=False):
                written = "" if raw == name else f", written {raw!r}"
                add_evidence(found, [row], f"{column} {name}{written}: {why}")
    return found


def find_test_targets(case: Case) -> dict[int, str]:
    """Rows that name a benchmark's gold."""
    golds = case.side.golds
    return _by_name(
        case,
        lambda name: f"is the gold of {len(golds[name])} test queries, first {golds[name][0]}" if name in golds else "",
    )


def find_family_targets(case: Case) -> dict[int, str]:
    """Rows that name a twin, alias, deprecated name, restatement or generated companion of a gold."""
    return _by_name(case, case.side.why_hidden)


def find_validation_targets(case: Case) -> dict[int, str]:
    """Rows of training sets that name a declaration which the manifest keeps for validation."""
    if case.rows.training_set.role in CHOOSING_ROLES:
        return {}
    side = case.side
    return _by_name(
        case, lambda name: "is kept for validation by the manifest" if side.split(name) == "validation" else ""
    )


def find_unknown_targets(case: Case) -> dict[int, str]:
    """Rows that name a declaration which neither the library nor a benchmark has."""
    side = case.side
    if not side.has_library:
        return {}
    return _by_name(
        case,
        lambda name: (
            "" if side.knows(name) or side.why_hidden(name) else "is not in the library, so nobody can clear it"
        ),
    )


TEST_TARGET = Check(
    "test_target",
    "a",
    "critical",
    "No test theorem may be named in training data, whatever the role of the name.",
    find_test_targets,
)
FAMILY_TARGET = Check(
    "family_target",
    "b",
    "critical",
    "No twin, alias, deprecated name or generated companion of a test theorem may be named in training data.",
    find_family_targets,
)
VALIDATION_TARGET = Check(
    "validation_target",
    "b",
    "warning",
    "Declarations kept for validation should not be trained on: choices made on them would be too optimistic.",
    find_validation_targets,
)


def unknown_target(severity: str) -> Check:
    """The check for unknown names, with the severity of the audit's settings."""
    return Check(
        "unknown_target",
        "j",
        "critical" if severity == "critical" else "warning",
        "Every target must be a declaration of the library: a name that nobody knows cannot be cleared.",
        find_unknown_targets,
    )
