"""Exact ranks of given targets over a whole corpus, against the machine's own single-precision matrix product.

Run: python benchmarks/bench_rank.py [--documents 250000 --dim 384 --queries 512 --threads 2]

Peer: `torch.mm` of the same matrices into a ready buffer, block by block, nothing else. The two are timed in turns
in one process, best of `--repeats`; the share is rank rate over product rate. Peak memory is read from the kernel. On a
machine that does other work too, trust the share of processor seconds, with `--threads 1`.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np
import torch

from lean_finder.retrieval.exact import exact_ranks, longest_norm


def main() -> None:
    """Print one JSON object per corpus size: a quarter, half and all of `--documents`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=250_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    random = np.random.default_rng(0)
    documents = random.standard_normal((options.documents, options.dim), dtype=np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    queries = documents[: options.queries] + 0.5 * random.standard_normal(
        (options.queries, options.dim), dtype=np.float32
    ) / np.sqrt(options.dim)
    queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
    targets = random.integers(0, options.documents // 4, options.queries)
    for size in (options.documents // 4, options.documents // 2, options.documents):
        part = documents[:size]
        longest = longest_norm(part)  # once per index
        before = _peak_mib()

        def rank(part: np.ndarray = part, longest: float = longest) -> object:
            return exact_ranks(queries, part, targets, longest=longest)

        product = ranks = (float("inf"), float("inf"))
        for _ in range(options.repeats):
            product = _faster(product, lambda part=part: _product(queries, part))
            ranks = _faster(ranks, rank)
        gflop = 2e-9 * options.queries * size * options.dim
        figures = {
            "documents": size,
            "queries": options.queries,
            "product_gflops": round(gflop / product[0], 1),
            "rank_gflops": round(gflop / ranks[0], 1),
            "share_of_product": round(product[0] / ranks[0], 3),
            "processor_share": round(product[1] / ranks[1], 3),
            "ms_per_query": round(1000 * ranks[0] / options.queries, 3),
            "extra_memory_mib": round(_peak_mib() - before, 1),
        }
        print(json.dumps(figures))


def _product(queries: np.ndarray, documents: np.ndarray, rows: int = 512, columns: int = 4096) -> None:
    left, right = torch.from_numpy(queries), torch.from_numpy(documents)
    buffer = torch.empty(rows * columns)
    for start in range(0, len(left), rows):
        block = left[start : start + rows]
        for at in range(0, len(right), columns):
            chunk = right[at : at + columns]
            torch.mm(block, chunk.T, out=buffer[: len(block) * len(chunk)].view(len(block), len(chunk)))


def _faster(best: tuple[float, float], call: Callable[[], object]) -> tuple[float, float]:
    """Least wall and processor seconds of `best` and one more call."""
    started, used = time.perf_counter(), time.process_time()
    call()
    return min(best[0], time.perf_counter() - started), min(best[1], time.process_time() - used)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
