"""The untuned base encoder and lexical search on every benchmark: what training has to beat.

Reads: base retriever, declarations, benchmarks. Writes: `artifacts/rankings/{base,bm25}` and
`reports/metrics/{base,bm25}.json`.
"""

from __future__ import annotations

from functools import partial

from lean_finder.corpus.render import render_query
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.index import build_index
from lean_finder.pipeline.lexical import build_lexical
from lean_finder.pipeline.scoring import evaluate_retriever
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.shards import forget_shards
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Evaluate both without training anything."""
    tracked.input(paths.BASE_RETRIEVER, "retriever")
    corpus = load_corpus(params.corpus.renderer)
    evaluate_retriever("bm25", build_lexical(corpus), corpus, params, tracked)
    encoder = Encoder.load(paths.BASE_RETRIEVER, dtype=params.index.dtype)
    shards = paths.checkpoints("index", "base")
    render = partial(render_query, renderer=params.corpus.renderer)
    dense = DenseRetriever(encoder, build_index(encoder, corpus, shards), render)
    evaluate_retriever("base", dense, corpus, params, tracked)
    forget_shards(shards)
