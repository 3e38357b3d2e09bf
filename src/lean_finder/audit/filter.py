"""Leaking rows dropped while a set is made, so that the audit, which looks again on its own, has nothing to find."""

from __future__ import annotations

import pandas as pd

from lean_finder.audit.checks.base import Case
from lean_finder.audit.checks.catalogue import all_checks
from lean_finder.audit.checks.provenance import PROVENANCE
from lean_finder.audit.inputs import AuditInputs, TrainingSet
from lean_finder.audit.rows import Rows
from lean_finder.audit.testside import TestSide
from lean_finder.audit.workers import Workers


def drop_leaks(
    frame: pd.DataFrame, inputs: AuditInputs, role: str = "retriever_pairs", name: str = "set"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a set into rows that may be trained on and rows that may not.

    Every critical check speaks but that of provenance, which is about the finished set.

    Args:
        frame: the rows, as in a `TrainingSet`.
        inputs: the hidden side (its own sets are not looked at).
        role: the set's role.
        name: the set's name, for the evidence.

    Returns:
        The kept rows in their order, and the dropped ones with the further columns `check` and `evidence` (the
        first critical check that speaks against the row); both keep their index.
    """
    with Workers() as workers:
        reasons = _reasons(TrainingSet(name, role, frame, name), inputs, workers)
    bad = sorted(reasons)
    dropped = frame.iloc[bad].assign(check=[reasons[row][0] for row in bad], evidence=[reasons[row][1] for row in bad])
    kept = [row for row in range(len(frame)) if row not in reasons]
    return frame.iloc[kept], dropped


def _reasons(training_set: TrainingSet, inputs: AuditInputs, workers: Workers) -> dict[int, tuple[str, str]]:
    """Place of each leaking row -> the first critical check that speaks against it, and its evidence."""
    side = TestSide(inputs)
    rows = Rows(training_set, side, workers)
    case = Case(rows, side, inputs, [rows])
    chosen = [
        check for check in all_checks(inputs.settings) if check.severity == "critical" and check is not PROVENANCE
    ]
    for check in chosen:
        check.ahead(case)
    reasons: dict[int, tuple[str, str]] = {}
    for check in chosen:
        for row, evidence in check.find(case).items():
            if row >= 0:
                reasons.setdefault(row, (check.name, evidence))
    return reasons
