"""The gate of one arm: nothing trains before everything that it will see has been checked.

Reads: every set that the arm trains on, the manifest, the library, the benchmarks. Writes: `reports/audit/<arm>.json`
(deterministic, tracked by Git) and `artifacts/audit/<arm>` (Data Docs). A critical finding stops the DAG. The check of
meaning only warns and costs more than all others together: it has a stage of its own, `audit_meaning`.
"""

from __future__ import annotations

from pathlib import Path

from lean_finder.audit.checks.meaning import NAME as MEANING
from lean_finder.audit.run import AuditReport, run_audit, write_reports
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.hidden import inputs_of_arms
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Check every set of the arm; write the verdict first, then stop if it is bad."""
    inputs = inputs_of_arms(params, [arm])
    for item in inputs.sets:
        tracked.input(Path(item.path), item.role)
    report = run_audit(inputs)
    elsewhere = f"{MEANING}: only warns, and is looked at for all arms together in {paths.MEANING}"
    report.not_checked = [elsewhere if note.startswith(MEANING) else note for note in report.not_checked]
    write_reports(report, paths.audit(arm), paths.data_docs(arm))
    severities = report.findings["severity"].value_counts()
    tracked.metrics({name: int(severities.get(name, 0)) for name in ("critical", "warning")})
    tracked.artifact(paths.audit(arm))
    if not report.passed:
        raise InputError(*_first_finding(report, arm))


def _first_finding(report: AuditReport, arm: str) -> tuple[str, str, str]:
    critical = report.findings[report.findings["severity"] == "critical"]
    first = critical.iloc[0]
    more = f" (and {len(critical) - 1} more)" if len(critical) > 1 else ""
    problem = f"{first['check']}: {first['declaration'] or first['query']}: {first['evidence']}{more}"
    return f"{first['path']}, row {first['row']}", problem, f"remove the row; all findings: {paths.audit(arm)}"
