"""One retriever on every benchmark.

Reads: `artifacts/index/<arm>`, benchmarks, the short queries of validation declarations, the retriever's certificate.
Writes: `artifacts/rankings/<arm>/<benchmark>.jsonl` and `reports/metrics/<arm>.json`.

A retriever without a certificate that matches its bytes gets no number, unless `evaluation.allow_uncertified` says so;
then the scores and the report call it uncertified.
"""

from __future__ import annotations

import logging

from lean_finder.audit.certificate import verify_certificate
from lean_finder.corpus.render import render_query
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.scoring import CERTIFIED, UNCERTIFIED, Standing, evaluate_retriever
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.storage import file_digest
from lean_finder.tracking import StageRun, register_pointer

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Rank, save the rankings, score them."""
    standing = certified(arm, params.evaluation.allow_uncertified)
    tracked.input(paths.index(arm), "index")
    corpus = load_corpus(params.corpus.renderer)
    retriever = DenseRetriever(
        Encoder.load(paths.retriever(arm)),
        DenseIndex.load(paths.index(arm)),
        lambda query: render_query(query, corpus.renderer),
    )
    evaluate_retriever(arm, retriever, corpus, params, tracked, standing)
    register_pointer("lean-finder-retriever", paths.retriever(arm), {"arm": arm, "scale": params.scale}, alias=arm)


def certified(arm: str, allow_uncertified: bool) -> Standing:
    """What the arm's certificate says of its retriever as it lies here.

    Raises:
        InputError: no certificate, or one for other bytes, and `allow_uncertified` is false.
    """
    verdict = verify_certificate(
        paths.certificate(arm), file_digest(paths.retriever(arm)), manifest_digest=file_digest(paths.SPLITS)
    )
    if verdict.valid:
        return Standing(CERTIFIED, verdict.reason)
    if not allow_uncertified:
        raise InputError(
            paths.retriever(arm),
            f"no benchmark number without a certificate: {verdict.reason}",
            f"dvc repro certify@{arm}, or set evaluation.allow_uncertified: then the number says so",
        )
    logger.warning("%s is evaluated uncertified: %s", arm, verdict.reason)
    return Standing(UNCERTIFIED, verdict.reason)
