"""Which training queries of any arm mean what a test query means, in other words: for people to look at.

Reads: every set of every arm, the benchmarks, the base retriever, which has seen none of them. Writes:
`reports/audit/meaning.json` (tracked by Git) and `artifacts/audit/meaning` (Data Docs).

It warns and never stops, so nothing waits for it. Its cost is one encoding of each distinct query, at most
`audit.meaning_texts` a set, once for all arms; texts and seconds are logged.
"""

from __future__ import annotations

import logging
import time

import numpy as np
from numpy.typing import NDArray

from lean_finder.audit.checks.meaning import NAME as MEANING
from lean_finder.audit.run import run_audit, write_reports
from lean_finder.corpus.render import render_query
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.hidden import inputs_of_arms
from lean_finder.retrieval.encoder import Encoder
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Run the check of meaning alone, over all arms."""
    encode = _Encode(params.corpus.renderer)
    report = run_audit(inputs_of_arms(params, params.retrievers), encode, only=frozenset({MEANING}))
    write_reports(report, paths.MEANING, paths.data_docs("meaning"))
    tracked.metrics({"texts": encode.texts, "encoding_seconds": encode.seconds, "warning": len(report.findings)})
    tracked.artifact(paths.MEANING)
    logger.info("%d texts encoded in %.1f s, %d pairs to look at", encode.texts, encode.seconds, len(report.findings))


class _Encode:
    """The untuned encoder as the audit calls it, with what it cost."""

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
