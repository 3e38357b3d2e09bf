"""Hard negatives for one arm's training pairs: what the retriever before it ranks high and is not the answer.

Reads: the pairs that training sees, the arm's audit, declarations, splits; for an arm the previous retriever and its
index, for r0 the base retriever. Writes: `artifacts/negatives/<arm>.parquet`, empty if `retriever.hard_negatives` is
null. In `dvc.yaml` r0 has a stage of its own, `mine_first_negatives`, because it reads another model.
"""

from __future__ import annotations

from lean_finder.params import HardNegativeParams, Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.training_pairs import query_files, require_passed, training_pairs
from lean_finder.records import Negative, to_frame
from lean_finder.storage import write_table
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Mine for every pair, or write an empty table where none are asked for."""
    require_passed(arm)
    asked = params.retriever.hard_negatives
    found = _mine(params, asked, arm, tracked) if asked else []
    write_table(paths.negatives(arm), to_frame(Negative, found))
    tracked.output(paths.negatives(arm))


def _mine(params: Params, asked: HardNegativeParams, arm: str, tracked: StageRun) -> list[Negative]:
    from lean_finder.pipeline.negatives import mine  # noqa: PLC0415 - imports torch, and by default nothing is mined

    for file in query_files(arm):
        tracked.input(file, "mining")
    corpus = load_corpus(params.corpus.renderer)
    pairs = training_pairs(arm, corpus)
    found = mine(params, asked, arm, corpus, pairs)
    served = len({row.query_id for row in found})
    tracked.metrics({"mined": len(found), "share_of_pairs": served / len(pairs) if len(pairs) else 0.0})
    return found
