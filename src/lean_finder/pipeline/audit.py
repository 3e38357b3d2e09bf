"""The gate of one arm: nothing trains before everything that it will see has been checked.

Reads: every set that the arm trains on, the manifest, the library, the benchmarks, the base retriever (for the check of
meaning; at most `audit.meaning_texts` texts a set). Writes: `reports/audit/<arm>.json` (deterministic, tracked by Git)
and `artifacts/audit/<arm>` (Data Docs). A critical finding stops the DAG.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lean_finder.audit.run import AuditReport, run_audit, write_reports
from lean_finder.corpus.render import render_query
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.hidden import inputs_of_arms
from lean_finder.retrieval.encoder import Encoder
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Check every set of the arm; write the verdict first, then stop if it is bad."""
    inputs = inputs_of_arms(params, [arm])
    for item in inputs.sets:
        tracked.input(Path(item.path), item.role)
    meaning = _Meaning(params.corpus.renderer)
    report = run_audit(inputs, meaning)
    write_reports(report, paths.audit(arm), paths.data_docs(arm))
    severities = report.findings["severity"].value_counts()
    tracked.metrics({name: int(severities.get(name, 0)) for name in ("critical", "warning")})
    tracked.metrics({"meaning.texts": meaning.texts, "meaning.seconds": meaning.seconds})
    tracked.artifact(paths.audit(arm))
    logger.info("check of meaning: %d texts encoded in %.1f s", meaning.texts, meaning.seconds)
    if not report.passed:
        raise InputError(*_first_finding(report, arm))


class _Meaning:
    """The untuned encoder as the audit calls it, with what it cost; it has never seen a pair of ours."""

    def __init__(self, renderer: str) -> None:
        self._encoder = Encoder.load(paths.BASE_RETRIEVER)
        self._renderer = renderer
        self.texts, self.seconds = 0, 0.0

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        started = time.perf_counter()
        vectors = self._encoder.encode_queries([render_query(text, self._renderer) for text in texts])
        self.texts += len(texts)
        self.seconds += time.perf_counter() - started
        return vectors


def _first_finding(report: AuditReport, arm: str) -> tuple[str, str, str]:
    critical = report.findings[report.findings["severity"] == "critical"]
    first = critical.iloc[0]
    more = f" (and {len(critical) - 1} more)" if len(critical) > 1 else ""
    problem = f"{first['check']}: {first['declaration'] or first['query']}: {first['evidence']}{more}"
    return f"{first['path']}, row {first['row']}", problem, f"remove the row; all findings: {paths.audit(arm)}"
