"""One audit from inputs to report."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from lean_finder.audit.checks.base import Case, Check
from lean_finder.audit.checks.catalogue import all_checks
from lean_finder.audit.checks.manifest import MANIFEST
from lean_finder.audit.checks.meaning import Encode, MeaningCost, meaning_check
from lean_finder.audit.inputs import MANIFEST_SET, AuditInputs, TrainingSet
from lean_finder.audit.judge import Judge, evidence_frame
from lean_finder.audit.rows import Rows
from lean_finder.audit.testside import TestSide
from lean_finder.audit.workers import Workers
from lean_finder.storage import atomic_path, write_json

_log = logging.getLogger(__name__)

FINDING_COLUMNS = ("check", "severity", "set", "path", "row", "query", "declaration", "evidence")
#: What Data Docs put into their folder.
DOCS_ENTRIES = frozenset({"expectations", "index.html", "static", "validations"})
#: Findings of one check in one set that the JSON spells out; the count is always complete.
LISTED = 50


@dataclass
class AuditReport:
    """What an audit found.

    Attributes:
        findings: columns `FINDING_COLUMNS`; rows counted from 1, 0 means the set as a whole.
        counts: check -> set -> number of findings, zeros included: what was checked.
        checks: check -> kind, severity, description.
        sets: set -> role, path, rows.
        not_checked: what this audit could not look at, each with the reason.
        meaning: set -> threshold, false-alarm rate and cost of the check of meaning, where it ran.
    """

    findings: pd.DataFrame
    counts: dict[str, dict[str, int]]
    checks: dict[str, dict[str, str]]
    sets: dict[str, dict[str, Any]]
    not_checked: list[str]
    meaning: dict[str, MeaningCost] = field(default_factory=dict)
    _judged: list[tuple[str, pd.DataFrame, Sequence[Check]]] = field(default_factory=list, repr=False)

    @property
    def passed(self) -> bool:
        """Whether no finding is critical."""
        return not (self.findings["severity"] == "critical").any()

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe, the same for the same inputs: no times, no machine paths, `LISTED` rows a check and set."""
        listed = self.findings.groupby(["check", "set"], sort=False).head(LISTED)
        return {
            "passed": self.passed,
            "critical": int((self.findings["severity"] == "critical").sum()),
            "warnings": int((self.findings["severity"] == "warning").sum()),
            "checks": {name: {**about, "findings": self.counts[name]} for name, about in self.checks.items()},
            "sets": self.sets,
            "not_checked": self.not_checked,
            "meaning": {name: asdict(cost) for name, cost in self.meaning.items()},
            "findings": listed.to_dict(orient="records"),
            "findings_listed_per_check_and_set": LISTED,
        }


def run_audit(
    inputs: AuditInputs,
    encode: Encode | None = None,
    without: frozenset[str] = frozenset(),
    only: frozenset[str] = frozenset(),
) -> AuditReport:
    """Audit every set.

    Args:
        inputs: what to audit and against what.
        encode: texts -> (texts, dimensions) unit vectors, for the check of meaning; None leaves it out, and the
            report says so.
        without: names of checks to leave out; the report says so.
        only: names of the checks to run; none = all. The report says that the others did not run.

    Raises:
        InputError: a set holds something that cannot be audited.
    """
    with Workers() as workers:
        return _audit(inputs, encode, without, only, workers)


def _audit(
    inputs: AuditInputs, encode: Encode | None, without: frozenset[str], only: frozenset[str], workers: Workers
) -> AuditReport:
    side = TestSide(inputs)
    every = [Rows(item, side, workers) for item in inputs.sets]
    meaning = [] if encode is None else [meaning_check(encode)]
    names = frozenset(check.name for check in (*all_checks(inputs.settings), *meaning, MANIFEST))
    left_out = without | (names - only if only else frozenset())
    checks = [check for check in (*all_checks(inputs.settings), *meaning) if check.name not in left_out]
    plan: list[tuple[Rows, Sequence[Check]]] = [(rows, checks) for rows in every]
    if not inputs.manifest.empty and MANIFEST.name not in left_out:
        manifest = TrainingSet(MANIFEST_SET, "search_set", inputs.manifest, "artifacts/corpus/splits.parquet")
        plan.append((Rows(manifest, side, workers), [MANIFEST]))
    shared: dict[str, object] = {}
    report = AuditReport(
        pd.DataFrame(columns=list(FINDING_COLUMNS)), {}, {}, {}, _not_checked(inputs, encode, without, only)
    )
    judge, tables = Judge(), []
    for rows, chosen in plan:
        name = rows.training_set.name
        case = Case(rows, side, inputs, every, shared)
        _log.info("auditing %s (%d rows)", name, len(rows))
        for check in chosen:
            check.ahead(case)
        evidence = {check.name: check.find(case) for check in chosen}
        frame = evidence_frame(rows.numbers, _shown(rows, "query"), _shown(rows, "declaration"), evidence)
        tables.append(_table(rows, chosen, frame, judge.verdict(name, frame, chosen), report))
        report._judged.append((name, frame, chosen))
    report.meaning = shared.get("meaning", {})  # type: ignore[assignment]
    report.not_checked.extend(
        f"query_meaning: {cost.distinct_texts - cost.encoded_texts} of {cost.distinct_texts} texts of {name}"
        for name, cost in report.meaning.items()
        if cost.encoded_texts < cost.distinct_texts
    )
    report.findings = pd.concat(tables, ignore_index=True)
    return report


def write_reports(report: AuditReport, json_path: Path | None, docs_dir: Path | None = None) -> None:
    """Write the JSON and the Data Docs (HTML); each is whole or absent.

    Args:
        report: of `run_audit`.
        json_path: where the deterministic JSON goes; None = nowhere.
        docs_dir: folder of the HTML pages, which is replaced; None = nowhere.
    """
    if docs_dir is not None:
        with tempfile.TemporaryDirectory() as folder:
            judge = Judge(Path(folder))
            for name, frame, checks in report._judged:
                judge.verdict(name, frame, checks)
            with atomic_path(docs_dir) as scratch:
                shutil.copytree(folder, scratch)
    if json_path is not None:
        write_json(json_path, report.to_dict())


def _table(
    rows: Rows,
    checks: Sequence[Check],
    frame: pd.DataFrame,
    verdict: dict[str, list[tuple[int, str]]],
    report: AuditReport,
) -> pd.DataFrame:
    training_set = rows.training_set
    report.sets[training_set.name] = {"role": training_set.role, "path": training_set.path, "rows": len(rows)}
    shown = frame.set_index("row")
    queries, declarations = shown["query"], shown["declaration"]
    found: list[tuple[Any, ...]] = []
    for check in checks:
        about = {"kind": check.kind, "severity": check.severity, "description": check.description}
        report.checks.setdefault(check.name, about)
        hits = verdict.get(check.name, [])
        report.counts.setdefault(check.name, {})[training_set.name] = len(hits)
        found.extend(
            (
                check.name,
                check.severity,
                training_set.name,
                training_set.path,
                row,
                queries[row],
                declarations[row],
                text,
            )
            for row, text in hits
        )
    return pd.DataFrame(found, columns=list(FINDING_COLUMNS))


def _shown(rows: Rows, column: str) -> list[str]:
    if column not in rows.frame:
        return [""] * len(rows)
    return [cell if isinstance(cell, str) else "" for cell in rows.frame[column].tolist()]


def _not_checked(
    inputs: AuditInputs, encode: Encode | None, without: frozenset[str], only: frozenset[str]
) -> list[str]:
    if only:
        return [f"everything but {', '.join(sorted(only))}"]
    notes = [f"{name}: left out on request" for name in sorted(without)]
    if encode is None:
        notes.append("query_meaning: no encoder was given")
    if inputs.expected is None:
        notes.append("provenance: no recorded models to hold the rows against")
    if inputs.real_lengths is None:
        notes.append("query_length: no real queries to compare with")
    if inputs.real_queries is None:
        notes.append("style_distance: no real queries to compare with")
    if inputs.declarations.empty:
        notes.append("same_statement, near_statement, gold_description: no library was given")
    if inputs.manifest.empty:
        notes.append("manifest, validation_target: no manifest was given")
    return notes
