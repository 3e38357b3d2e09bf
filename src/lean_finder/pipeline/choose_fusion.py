"""How much BM25 the final retriever takes into a hybrid: chosen on validation declarations.

Reads: index and retriever of `final`, declarations, splits, short queries. Writes: `artifacts/fusion.json`, every way
to fuse with its nDCG@10, best first.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import partial

import numpy as np

from lean_finder.corpus.render import render_query
from lean_finder.evaluation.fusion import score_fusions
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.lexical import build_lexical
from lean_finder.pipeline.validation import validation_questions
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.storage import write_json
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Score every fusion, write all, the best first."""
    tracked.input(paths.index(params.final), "index")
    corpus = load_corpus(params.corpus.renderer)
    questions = validation_questions(params, corpus)
    render = partial(render_query, renderer=params.corpus.renderer)
    lexical = build_lexical(corpus, partial(questions.text, corpus))
    encoder = Encoder.load(paths.retriever(params.final))
    index = _with_formal(DenseIndex.load(paths.index(params.final)), encoder, corpus, sorted(questions.masked))
    queries = questions.queries
    asked, golds = [query.query for query in queries], [query.gold for query in queries]
    scores = score_fusions(DenseRetriever(encoder, index, render), lexical, asked, golds)
    kind = "docstring" if questions.masked else "short"
    write_json(paths.FUSION, {"queries": len(queries), "kind": kind, "fusions": [asdict(item) for item in scores]})
    best = scores[0]
    tracked.metrics({"weight": best.weight, "ndcg_at_10": best.ndcg_at_10})
    tracked.output(paths.FUSION)
    logger.info("%s, weight %s: nDCG@10 %.3f on %d queries", best.fusion, best.weight, best.ndcg_at_10, len(queries))


def _with_formal(index: DenseIndex, encoder: Encoder, corpus: Corpus, names: list[str]) -> DenseIndex:
    """The index with the named declarations' vectors taken without docstring."""
    if not names:
        return index
    vectors = np.array(index.vectors)
    vectors[index.ids_of(names)] = encoder.encode_documents([corpus.text(name, "formal") for name in names])
    return DenseIndex.build(index.names, vectors, meta=index.meta)
