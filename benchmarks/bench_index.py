"""One query at a time over a large corpus: exact and approximate kinds, with what each costs.

Run: python benchmarks/bench_index.py [--documents 250000 --dim 384 --vectors vectors.npy --threads 2]

Peer: `faiss.IndexFlatIP`, in the same run on the same vectors. Without `--vectors` (document vectors of an index,
with its own first rows, slightly moved, as queries) the vectors are drawn from a spectrum that falls like that of
sentence encoders. Recall is against exact search.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import torch

from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.index import DenseIndex, IndexMeta, recall_against_exact

META = IndexMeta("benchmark", "benchmark", TokenizationContract())


def main() -> None:
    """Print one JSON object per system."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=250_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kinds", default="flat,fastscan,hnsw,ivfpq")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    faiss.omp_set_num_threads(options.threads)
    vectors = np.load(options.vectors) if options.vectors else _draw(options.documents, options.dim)
    queries = _unit(vectors[: options.queries] + 0.3 * _draw(options.queries, vectors.shape[1], seed=1))
    peer = faiss.IndexFlatIP(vectors.shape[1])
    peer.add(vectors)
    _report("faiss.IndexFlatIP", lambda query: peer.search(query, 10), queries, build=0.0, recall=1.0)
    names = [str(place) for place in range(len(vectors))]
    for kind in options.kinds.split(","):
        started = time.perf_counter()
        index = DenseIndex.build(names, vectors, kind=kind, meta=META)
        build = time.perf_counter() - started
        recall = recall_against_exact(index, queries, 10)
        _report(kind, lambda query, index=index: index.search(query, 10), queries, build, recall)


def _report(
    name: str, search: Callable[[np.ndarray], object], queries: np.ndarray, build: float, recall: float
) -> None:
    times = []
    for query in queries:
        started = time.perf_counter()
        search(query[None])
        times.append(1000 * (time.perf_counter() - started))
    figures = {
        "system": name,
        "median_ms": round(float(np.median(times)), 2),
        "p90_ms": round(float(np.percentile(times, 90)), 2),
        "recall_at_10": round(recall, 4),
        "build_seconds": round(build, 1),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(figures), flush=True)


def _draw(count: int, dim: int, seed: int = 0) -> np.ndarray:
    """Unit vectors whose variance falls over the dimensions as 1 / (1 + i/32), randomly rotated."""
    random = np.random.default_rng(seed)
    spectrum = 1 / np.sqrt(1 + np.arange(dim) / 32)
    rotation, _ = np.linalg.qr(np.random.default_rng(99).standard_normal((dim, dim)))
    flat = random.standard_normal((count, dim), dtype=np.float32) * spectrum.astype(np.float32)
    return _unit(flat @ rotation.astype(np.float32))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


if __name__ == "__main__":
    main()
