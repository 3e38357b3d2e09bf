"""Rank reward end to end: queries encoded, and their targets' exact ranks over a large corpus.

Run: python benchmarks/bench_reward.py --model artifacts/base/retriever [--documents 250000 --queries 512 --threads 2]

Peer: what a script would do, query by query: encode one text, `faiss.IndexFlatIP.search` for the 100 best, look the
target up among them. Both use the same encoder and the same vectors in one process, in turns, best of `--repeats`; the
peer is given fewer queries and its rate is per query. The ranks that both can see (up to 100) must agree.
"""

# ruff: noqa: PLC0415 - models are imported after `runtime.start`, which executes the process anew
from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lean_finder import runtime

_SEEN = 100


def main() -> None:
    """Print one JSON object per corpus size: a quarter, half and all of `--documents`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--library", type=Path, default=Path("data/library"))
    parser.add_argument("--documents", type=int, default=250_000)
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--peer-queries", type=int, default=48)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    runtime.start(options.threads)
    import faiss
    import torch

    from lean_finder.corpus.extract import extract_library
    from lean_finder.generation.ranker import IndexRanker
    from lean_finder.retrieval.dense import DenseRetriever
    from lean_finder.retrieval.encoder import Encoder
    from lean_finder.retrieval.index import DenseIndex, IndexMeta

    torch.set_num_threads(options.threads)
    faiss.omp_set_num_threads(options.threads)
    encoder = Encoder.load(options.model)
    # A generated query is about as long as the first words of a docstring.
    texts = [item.docstring for item in extract_library(options.library).declarations if item.docstring]
    queries = [" ".join(text.split()[:10]) for text in texts][: options.queries]
    random = np.random.default_rng(0)
    documents = random.standard_normal((options.documents, encoder.dim), dtype=np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    # Targets near their queries, so that a good part of the ranks lies where the reward looks.
    aimed = encoder.encode_queries(queries)
    places = random.choice(options.documents // 4, size=len(queries), replace=False)
    near = 0.25 * aimed + documents[places]
    documents[places] = near / np.linalg.norm(near, axis=1, keepdims=True)
    for size in (options.documents // 4, options.documents // 2, options.documents):
        part = np.ascontiguousarray(documents[:size])
        names = [str(number) for number in range(size)]
        meta = IndexMeta(model=encoder.digest, corpus="bench", contract=encoder.contract)
        ranker = IndexRanker(DenseRetriever(encoder, DenseIndex.build(names, part, meta=meta)))
        flat = faiss.IndexFlatIP(encoder.dim)
        flat.add(part)
        targets = [names[place] for place in places]
        before = _peak_mib()
        ours = peer = float("inf")
        for _ in range(options.repeats):
            seconds, ranks = _timed(lambda ranker=ranker, targets=targets: ranker.ranks(queries, targets))
            ours = min(ours, seconds)
            some = slice(0, options.peer_queries)
            seconds, found = _timed(lambda flat=flat, some=some: _peer(encoder, flat, queries[some], places[some]))
            peer = min(peer, seconds)
        disagree = sum(rank != other for rank, other in zip(ranks, found, strict=False) if other is not None)
        figures = {
            "documents": size,
            "queries": len(queries),
            "queries_per_second": round(len(queries) / ours, 1),
            "peer_queries_per_second": round(len(found) / peer, 1),
            "times_faster": round(peer / len(found) * len(queries) / ours, 2),
            "ranks_up_to_100": sum(rank <= _SEEN for rank in ranks),
            "disagreements": disagree,
            "extra_memory_mib": round(_peak_mib() - before, 1),
        }
        print(json.dumps(figures))


def _peer(encoder: Any, flat: Any, queries: list[str], targets: np.ndarray) -> list[int | None]:
    ranks: list[int | None] = []
    for query, target in zip(queries, targets, strict=True):
        _, ids = flat.search(encoder.encode_queries([query]), _SEEN)
        hits = np.flatnonzero(ids[0] == target)
        ranks.append(int(hits[0]) + 1 if len(hits) else None)
    return ranks


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
