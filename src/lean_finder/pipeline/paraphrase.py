"""The long queries of round 0 (section 2.1).

Reads: declarations, splits, benchmarks (to leave out what says a test query's words). Writes:
`artifacts/queries/r0.parquet` and `r0-dropped.parquet`, the rows left out with the check that spoke against each.
"""

from __future__ import annotations

import logging

import numpy as np

from lean_finder.audit.filter import drop_leaks
from lean_finder.generation.paraphrase import paraphrases
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.hidden import hidden_side
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import write_table
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Let every training declaration speak for itself, in the views that params name."""
    tracked.input(paths.SPLITS, "manifest")
    corpus = load_corpus(params.corpus.renderer)
    pairs = paraphrases(to_frame(Declaration, corpus.targets("train")), params.paraphrase.views)
    kept, dropped = drop_leaks(pairs, hidden_side(params), role="long_queries", name="r0")
    write_table(paths.queries("r0"), kept)
    write_table(paths.dropped("r0"), dropped)
    words = [len(str(query).split()) for query in kept["query"]]
    tracked.metrics(
        {
            "pairs": len(kept),
            "dropped": len(dropped),
            "words.median": float(np.median(words)),
            "words.p90": float(np.quantile(words, 0.9)),
        }
    )
    tracked.output(paths.queries("r0"))
    targets = kept["declaration"].nunique()
    logger.info("%d long queries for %d declarations, %d left out", len(kept), targets, len(dropped))
