"""How much BM25 the final retriever takes into a hybrid: chosen on validation declarations.

Reads: index and retriever of `final`, declarations, splits, short queries. Writes: `artifacts/fusion.json`, every way
to fuse with its nDCG@10, best first.

The queries are the short ones of validation declarations. Where there are none (a library without such queries), the
first sentences of their docstrings ask for documents from which the docstring has been taken, in both retrievers.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import partial

import numpy as np

from lean_finder.corpus.render import render_query
from lean_finder.errors import InputError
from lean_finder.evaluation.fusion import score_fusions
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.scoring import validation_queries
from lean_finder.records import BenchmarkQuery
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.retrieval.lexical import LexicalRetriever
from lean_finder.storage import write_json
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)

#: Docstrings asked at most, drawn by seed: the interval of 500 is narrower than any difference worth a weight.
_MOST = 500


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Score every fusion, write all, the best first."""
    tracked.input(paths.index(params.final), "index")
    corpus = load_corpus(params.corpus.renderer)
    queries = validation_queries(params, corpus)
    masked: set[str] = set()
    if not queries:
        queries = _docstring_queries(corpus, params.seed)
        masked = {query.gold for query in queries}
    render = partial(render_query, renderer=params.corpus.renderer)
    texts = [corpus.text(name, "formal" if name in masked else "full") for name in corpus.names]
    lexical = LexicalRetriever.build(corpus.names, texts, corpus="", render_query=render)
    encoder = Encoder.load(paths.retriever(params.final))
    index = _with_formal(DenseIndex.load(paths.index(params.final)), encoder, corpus, sorted(masked))
    asked, golds = [query.query for query in queries], [query.gold for query in queries]
    scores = score_fusions(DenseRetriever(encoder, index, render), lexical, asked, golds)
    kind = "docstring" if masked else "short"
    write_json(paths.FUSION, {"queries": len(queries), "kind": kind, "fusions": [asdict(item) for item in scores]})
    best = scores[0]
    tracked.metrics({"weight": best.weight, "ndcg_at_10": best.ndcg_at_10})
    tracked.output(paths.FUSION)
    logger.info("%s, weight %s: nDCG@10 %.3f on %d queries", best.fusion, best.weight, best.ndcg_at_10, len(queries))


def _docstring_queries(corpus: Corpus, seed: int) -> list[BenchmarkQuery]:
    """The docstrings' first lines of at most `_MOST` validation declarations.

    Raises:
        InputError: no validation declaration has a docstring.
    """
    targets = corpus.targets("validation")
    if not targets:
        raise InputError(paths.SPLITS, "no validation declaration has a query or a docstring", "raise validation_share")
    drawn = np.random.default_rng(seed).permutation(len(targets))[:_MOST]
    return [
        BenchmarkQuery(f"docstring/{at}", targets[at].docstring.split(". ")[0], targets[at].name, "docstring")
        for at in sorted(drawn.tolist())
    ]


def _with_formal(index: DenseIndex, encoder: Encoder, corpus: Corpus, names: list[str]) -> DenseIndex:
    """The index with the named declarations' vectors taken without docstring."""
    if not names:
        return index
    vectors = np.array(index.vectors)
    vectors[index.ids_of(names)] = encoder.encode_documents([corpus.text(name, "formal") for name in names])
    return DenseIndex.build(index.names, vectors, meta=index.meta)
