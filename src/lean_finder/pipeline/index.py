"""The whole corpus as vectors of one retriever.

Reads: `artifacts/retriever/<arm>`, declarations. Writes: `artifacts/index/<arm>`.
"""

from __future__ import annotations

import time

from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.storage import atomic_path, file_digest
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Encode every declaration and store the vectors with the hashes that they belong to."""
    tracked.input(paths.retriever(arm), "retriever")
    corpus = load_corpus(params.corpus.renderer)
    encoder = Encoder.load(paths.retriever(arm))
    started = time.perf_counter()
    vectors = encoder.encode_documents([corpus.text(name) for name in corpus.names], progress=True)
    seconds = time.perf_counter() - started
    with atomic_path(paths.index(arm)) as out:
        DenseIndex.build(corpus.names, vectors, meta=_meta(encoder)).save(out)
    tracked.metrics({"documents": len(vectors), "documents_per_second": len(vectors) / seconds})
    tracked.output(paths.index(arm))


def _meta(encoder: Encoder) -> dict[str, str]:
    return {
        "contract": encoder.contract.digest(),
        "corpus": file_digest(paths.DECLARATIONS),
        "model": encoder.digest,
    }
