"""Kind (j): a row that does not say, or cannot truly say, which arm, source and model it comes from."""

from __future__ import annotations

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.inputs import Provenance
from lean_finder.audit.rows import is_missing

#: Roles whose rows the pipeline itself makes, each with its origin.
_MADE_HERE = frozenset({"long_queries", "generated_queries", "retriever_pairs"})
_COLUMNS = ("source", "arm", "model")


def _judge(source: str, arm: str, model: str, only_arm: str, facts: Provenance) -> str:
    if source not in facts.sources:
        return f"unknown source {source!r}"
    if arm not in facts.arms:
        return f"unknown arm {arm!r}"
    if only_arm and arm != only_arm:
        return f"arm {arm!r} in a set of arm {only_arm!r}"
    allowed = facts.models.get(arm)
    if allowed is None:
        return "" if model.startswith("rule:") else f"model {model!r} is not one that arm {arm!r} may use"
    return (
        ""
        if model in allowed
        else f"model {model!r} contradicts the lock file (arm {arm!r}: {', '.join(sorted(allowed))})"
    )


def find_provenance(case: Case) -> dict[int, str]:
    """Rows whose origin is missing, unknown or contradicts what is recorded about the models."""
    facts, training_set = case.inputs.expected, case.rows.training_set
    if facts is None or training_set.role not in _MADE_HERE:
        return {}
    frame = case.rows.frame
    found: dict[int, str] = {}
    absent = [column for column in _COLUMNS if column not in frame]
    if absent:
        add_evidence(found, range(len(frame)), f"the set does not say its {', '.join(absent)}")
        return found
    only_arm = facts.rounds.get(training_set.name, "")
    verdicts: dict[tuple[str, str, str], str] = {}
    for row, cells in enumerate(zip(*(frame[column].tolist() for column in _COLUMNS), strict=True)):
        source, arm, model = ("" if is_missing(cell) else str(cell) for cell in cells)
        origin = (source, arm, model)
        if origin not in verdicts:
            verdicts[origin] = _judge(source, arm, model, only_arm, facts)
        if verdicts[origin]:
            add_evidence(found, [row], verdicts[origin])
    return found


PROVENANCE = Check(
    "provenance",
    "j",
    "critical",
    "Every row must say which source, arm and model it comes from, and must not contradict the recorded models.",
    find_provenance,
)
