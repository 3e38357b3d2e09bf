"""The whole corpus as vectors of one retriever.

Reads: `artifacts/retriever/<arm>`, declarations. Writes: `artifacts/index/<arm>`.
"""

from __future__ import annotations

import time
from pathlib import Path

from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex, IndexMeta
from lean_finder.retrieval.shards import encode_in_shards, forget_shards
from lean_finder.storage import file_digest
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Encode every declaration and store the vectors with the hashes that they belong to."""
    tracked.input(paths.retriever(arm), "retriever")
    corpus = load_corpus(params.corpus.renderer)
    started = time.perf_counter()
    shards = paths.checkpoints("index", arm)
    index = build_index(Encoder.load(paths.retriever(arm), dtype=params.index.dtype), corpus, shards)
    seconds = time.perf_counter() - started
    index.save(paths.index(arm))
    forget_shards(shards)
    tracked.metrics({"documents": len(index.names), "documents_per_second": len(index.names) / seconds})
    tracked.output(paths.index(arm))


def build_index(encoder: Encoder, corpus: Corpus, shards: Path) -> DenseIndex:
    """Every declaration of the corpus under one encoder, row i being declaration i; pieces of it wait in `shards`."""
    vectors = encode_in_shards(encoder, [corpus.text(name) for name in corpus.names], shards)
    meta = IndexMeta(encoder.digest, file_digest(paths.DECLARATIONS), encoder.contract, encoder.dtype)
    return DenseIndex.build(corpus.names, vectors, meta=meta)
