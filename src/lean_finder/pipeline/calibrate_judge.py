"""The consistency judge: its threshold, and how often it errs.

Reads: labelled pairs, the frozen base encoder, declarations, the audit of round 0. Writes: `artifacts/judge/judge.json`
with the error rates of the encoder judge (always: its threshold is cross-validated by declaration) and of the judge
in use.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from lean_finder.errors import InputError
from lean_finder.judging.calibration import calibrate, measure, threshold_table
from lean_finder.judging.consistency import VoteJudge
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.judges import encoder_judge, llm_judge
from lean_finder.pipeline.training_pairs import require_passed
from lean_finder.records import JudgedPair, columns
from lean_finder.storage import read_jsonl, write_json
from lean_finder.tracking import StageRun, flatten

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Calibrate and measure on the labelled pairs."""
    require_passed("r0")
    tracked.input(Path(params.data.judge), "calibration")
    corpus = load_corpus(params.corpus.renderer)
    pairs = [JudgedPair(**row) for row in read_jsonl(Path(params.data.judge), columns(JudgedPair))]
    unknown = [(line, pair.declaration) for line, pair in enumerate(pairs, 1) if pair.declaration not in corpus.by_name]
    if unknown:
        line, name = unknown[0]
        raise InputError(f"{params.data.judge}:{line}", f"{name} is not in the corpus", "correct or remove the pair")
    report = _measure(params, corpus, pairs)
    write_json(paths.JUDGE, report)
    used = report[params.judge.kind]
    tracked.metrics({key: value for key, value in flatten(used).items() if isinstance(value, float | int)})
    tracked.output(paths.JUDGE)
    logger.info(
        "%s judge: precision %.2f, recall %.2f, accepts %.2f of one-symbol neighbours",
        params.judge.kind,
        used["precision"]["value"],
        used["recall"]["value"],
        used["false_accept_one_symbol"]["value"],
    )


def _measure(params: Params, corpus: Corpus, pairs: list[JudgedPair]) -> dict[str, Any]:
    queries, names = [pair.query for pair in pairs], [pair.declaration for pair in pairs]
    encoder = encoder_judge(corpus, threshold=0.0)
    calibrated = calibrate(pairs, encoder.scores, folds=params.judge.folds, seed=params.seed, beta=params.judge.beta)
    scores = encoder.scores(queries, names)
    steps = [round(0.05 * step, 2) for step in range(4, 19)]
    report: dict[str, Any] = {
        "kind": params.judge.kind,
        "encoder": calibrated.as_dict(),
        "thresholds": threshold_table(pairs, scores, scores, steps),
    }
    if params.judge.kind != "encoder":
        llm = llm_judge(params, corpus)
        report["llm"] = measure(pairs, llm.judge(queries, names), seed=params.seed).as_dict()
        if params.judge.kind == "vote":
            encoder.threshold = calibrated.threshold or 0.0
            vote = VoteJudge([encoder, llm], needed=2)
            report["vote"] = measure(pairs, vote.judge(queries, names), seed=params.seed).as_dict()
    return report
