"""One retriever on every benchmark.

Reads: `artifacts/index/<arm>`, benchmarks, the short queries of validation declarations. Writes:
`artifacts/rankings/<arm>/<benchmark>.jsonl` and `reports/metrics/<arm>.json`.
"""

from __future__ import annotations

from lean_finder.corpus.render import render_query
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.scoring import evaluate_retriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.retrieval.retriever import DenseRetriever
from lean_finder.tracking import StageRun, register_pointer


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Rank, save the rankings, score them."""
    tracked.input(paths.index(arm), "index")
    corpus = load_corpus(params.corpus.renderer)
    retriever = DenseRetriever(
        Encoder.load(paths.retriever(arm)),
        DenseIndex.load(paths.index(arm)),
        lambda query: render_query(query, corpus.renderer),
    )
    evaluate_retriever(arm, retriever, corpus, params, tracked)
    register_pointer("lean-finder-retriever", paths.retriever(arm), {"arm": arm, "scale": params.scale}, alias=arm)
