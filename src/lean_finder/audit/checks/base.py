"""What a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from lean_finder.audit.inputs import AuditInputs
from lean_finder.audit.rows import Rows
from lean_finder.audit.testside import TestSide

Severity = Literal["critical", "warning"]

#: Row of a finding that concerns the whole set.
WHOLE_SET = -1


@dataclass
class Case:
    """One set under audit, with what it is held against.

    Attributes:
        rows: the set.
        side: the hidden side.
        inputs: everything else.
        others: all sets of the audit, this one included, for checks across sets.
        shared: results that the sets of one audit share, by name.
        notes: results that the checks of this set share, by name.
    """

    rows: Rows
    side: TestSide
    inputs: AuditInputs
    others: list[Rows]
    shared: dict[str, object] = field(default_factory=dict)
    notes: dict[str, object] = field(default_factory=dict)


#: A finder gives, for every offending row, the evidence in words.
Finder = Callable[[Case], dict[int, str]]


@dataclass(frozen=True)
class Check:
    """A named check.

    Attributes:
        name: as it stands in findings and reports.
        kind: letter of the kind of leak, as in the documentation.
        severity: critical stops the pipeline, warning is shown.
        description: what the check says to an auditor, in one sentence.
        find: the finder.
        ahead: starts what the finder will wait for; called before any check of the set looks.
    """

    name: str
    kind: str
    severity: Severity
    description: str
    find: Finder
    ahead: Callable[[Case], object] = lambda case: None


def add_evidence(found: dict[int, str], rows: Iterable[int], evidence: str) -> None:
    """Give every row the evidence, after what it already has; a row keeps at most three pieces."""
    for row in rows:
        row = int(row)
        if row not in found:
            found[row] = evidence
        elif found[row].count("; ") < 2 and evidence not in found[row]:
            found[row] = f"{found[row]}; {evidence}"
