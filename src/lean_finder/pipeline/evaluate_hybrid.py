"""The final retriever fused with BM25, on every benchmark: a retriever of its own in every table.

Reads: `artifacts/fusion.json`, index, retriever and certificate of `final`, declarations, benchmarks. Writes:
`artifacts/rankings/hybrid` and `reports/metrics/hybrid.json`.
"""

from __future__ import annotations

from functools import partial

from lean_finder.corpus.render import render_query
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.evaluate import certified
from lean_finder.pipeline.lexical import build_lexical
from lean_finder.pipeline.scoring import evaluate_retriever
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.hybrid import HybridRetriever
from lean_finder.retrieval.index import DenseIndex
from lean_finder.storage import read_json
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Rank and score under the fusion that validation chose."""
    standing = certified(params.final, params.evaluation.allow_uncertified)
    tracked.input(paths.index(params.final), "index")
    corpus = load_corpus(params.corpus.renderer)
    best = read_json(paths.FUSION)["fusions"][0]
    render = partial(render_query, renderer=params.corpus.renderer)
    encoder = Encoder.load(paths.retriever(params.final))
    dense = DenseRetriever(encoder, DenseIndex.load(paths.index(params.final)), render)
    hybrid = HybridRetriever([dense, build_lexical(corpus)], [1.0, best["weight"]], fusion=best["fusion"])
    evaluate_retriever("hybrid", hybrid, corpus, params, tracked, standing)
