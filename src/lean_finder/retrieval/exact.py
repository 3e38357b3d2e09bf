"""Exact search and exact ranks by blockwise matrix products, without sorting the corpus.

A document's score is the inner product of two float32 vectors. Ranks are exact in the strict sense: single-precision
products decide wherever their rounding error cannot matter, and the few scores too near the target's are computed
again in double precision. Equal vectors therefore always tie.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lean_finder.errors import InputError
from lean_finder.retrieval.threads import map_in_threads

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

#: Rows and columns of a block of scores: large enough for the product, small enough to be counted in cache.
_QUERY_BLOCK, _DOCUMENT_BLOCK = 512, 1024
_GPU_QUERY_BLOCK, _GPU_DOCUMENT_BLOCK = 1024, 65536
#: Blocks of documents that a thread takes at once.
_SPAN = 16
#: Pairs scored again at once: their vectors in double precision stay in cache.
_PAIRS = 512


def check_vectors(vectors: Vectors, what: str, dim: int | None = None) -> Vectors:
    """The vectors as a contiguous float32 matrix (n, dim).

    Raises:
        InputError: not two-dimensional, another dimension than `dim`, or a value that is not finite.
    """
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or (dim is not None and array.shape[1] != dim):
        raise InputError(what, f"shape {array.shape}", f"expected (n, {dim or 'dim'})")
    # A sum is finite unless a value is not (or overflows): one pass instead of a mask as large as the matrix.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = array.sum(axis=1)
    if not np.isfinite(sums).all():
        raise InputError(what, f"row {int(np.flatnonzero(~np.isfinite(sums))[0])} has NaN or infinity", "encode again")
    return array


def exact_search(queries: Vectors, documents: Vectors, k: int, device: str = "cpu") -> tuple[Ids, Vectors]:
    """The k best documents of each query: ids (n, k) and scores (n, k), best first, lower id first among equals.

    k is cut to the number of documents.
    """
    k = min(k, len(documents))
    place = torch.device(device)
    rows, columns = _blocks(place)
    # Few queries: longer blocks of documents, down to one product for a single query.
    columns *= max(1, rows // max(1, len(queries)))
    ids = np.empty((len(queries), k), dtype=np.int64)
    scores = np.empty((len(queries), k), dtype=np.float32)
    matrix = torch.from_numpy(documents)
    for start in range(0, len(queries), rows):
        block = torch.from_numpy(queries[start : start + rows]).to(place)  # (b, dim)
        best = torch.full((len(block), k), -torch.inf, device=place)
        found = torch.full((len(block), k), len(documents), dtype=torch.int64, device=place)
        for left in range(0, len(documents), columns):
            products = block @ matrix[left : left + columns].to(place).T  # (b, c)
            values, near = products.topk(min(k, products.shape[1]))
            best, found = _merge(best, found, values, near + left, k)
        ids[start : start + rows] = found.cpu().numpy()
        scores[start : start + rows] = best.cpu().numpy()
    return ids, scores


def exact_ranks(
    queries: Vectors, documents: Vectors, targets: Ids, device: str = "cpu", longest: float | None = None
) -> Ids:
    """Rank (n,) of document `targets[i]` for query i: 1 + the number of other documents that score at least as high.

    Memory beyond the arguments is two blocks of scores for each of torch's threads. Cost: one matrix product and two
    comparisons over it, and one pass over the documents unless `longest`, their `longest_norm`, is given.
    """
    place = torch.device(device)
    rows, _ = _blocks(place)
    # |fl(x·y) − x·y| ≤ γ |x||y| with γ = n u / (1 − n u), u = 2⁻²⁴ (Higham, Accuracy and Stability, section 3.1).
    unit = documents.shape[1] * 2.0**-24
    margin = unit / (1 - unit) * (longest_norm(documents) if longest is None else longest)
    blocks = (slice(start, start + rows) for start in range(0, len(queries), rows))
    ranks = [_block_ranks(queries[block], documents, targets[block], margin, place) for block in blocks]
    return np.concatenate([np.empty(0, dtype=np.int64), *ranks])


def _block_ranks(queries: Vectors, documents: Vectors, targets: Ids, margin: float, place: torch.device) -> Ids:
    """`exact_ranks` of a block of queries; `margin` times a query's length is the largest error of its scores."""
    exact = np.einsum("ij,ij->i", queries.astype(np.float64), documents[targets].astype(np.float64))
    width = margin * np.linalg.norm(queries.astype(np.float64), axis=1) + np.abs(exact) * 2.0**-23
    high = torch.from_numpy((exact + width).astype(np.float32)).to(place).unsqueeze(1)  # (b, 1)
    low = torch.from_numpy((exact - width).astype(np.float32)).to(place).unsqueeze(1)
    block = torch.from_numpy(queries).to(place)
    _, columns = _blocks(place)

    def count(span: slice) -> Ids:
        above, close = _count(block, torch.from_numpy(documents[span]), low, high, columns)
        close[1] += span.start
        return above + _near_ties(queries, documents, targets, exact, close)

    size = _SPAN * columns
    spans = [slice(at, at + size) for at in range(0, len(documents), size)]
    return 1 + np.sum(list(map_in_threads(count, spans, place)), axis=0)


def _count(queries: Tensor, documents: Tensor, low: Tensor, high: Tensor, columns: int) -> tuple[Ids, Ids]:
    """How many documents score above `high` (b, 1), and the (query, document) pairs (2, n) from `low` to `high`."""
    above = np.zeros(len(queries), dtype=np.int64)
    close: list[Ids] = []
    buffer = torch.empty(len(queries) * min(columns, len(documents)), device=queries.device)
    for left in range(0, len(documents), columns):
        chunk = documents[left : left + columns].to(queries.device)
        products = buffer[: len(queries) * len(chunk)].view(len(queries), len(chunk))
        torch.mm(queries, chunk.T, out=products)
        counts, row, column = _compare(products, low, high)
        above += counts
        close.append(np.stack([row, column + left]))
    return above, np.concatenate(close, axis=1)


def _compare(products: Tensor, low: Tensor, high: Tensor) -> tuple[Ids, Ids, Ids]:
    """Number of scores above `high` in each row, and rows and columns of those from `low` to `high`."""
    if products.device.type == "cpu":  # numpy compares into bytes, and counts and finds them, faster than torch
        scores = products.numpy()
        sure = scores > high.numpy()
        near = scores >= low.numpy()
        near ^= sure
        row, column = np.divmod(np.flatnonzero(near), scores.shape[1])
        return np.bitwise_count(np.packbits(sure, axis=1)).sum(1, dtype=np.int64), row, column
    beyond = products > high
    found = torch.nonzero((products >= low) ^ beyond).cpu().numpy()
    return beyond.sum(1).cpu().numpy(), found[:, 0], found[:, 1]


def longest_norm(documents: Vectors) -> float:
    """Length of the longest vector; 0 if there is none."""
    squares = [np.einsum("ij,ij->i", part, part).max() for part in _parts(documents, 65536)]
    # A little more than measured, for the rounding of the sum itself.
    return float(np.sqrt(max(squares, default=0.0))) * (1 + 1e-4)


def _parts(documents: Vectors, size: int) -> Iterator[Vectors]:
    return (documents[at : at + size] for at in range(0, len(documents), size))


def _near_ties(queries: Vectors, documents: Vectors, targets: Ids, exact: npt.NDArray[np.float64], close: Ids) -> Ids:
    """How many of the (query, document) pairs in `close` (2, n) score at least the target in double precision."""
    counts = np.zeros(len(queries), dtype=np.int64)
    for at in range(0, close.shape[1], _PAIRS):
        row, column = close[:, at : at + _PAIRS]
        scores = np.einsum("ij,ij->i", queries[row].astype(np.float64), documents[column].astype(np.float64))
        counts += np.bincount(row[(scores >= exact[row]) & (column != targets[row])], minlength=len(queries))
    return counts


def _merge(best: Tensor, found: Tensor, values: Tensor, ids: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Top k of two candidate lists (b, ·), by score, then by id."""
    scores = torch.cat([best, values], dim=1)
    numbers = torch.cat([found, ids], dim=1)
    by_id = numbers.argsort(dim=1, stable=True)
    scores, numbers = scores.gather(1, by_id), numbers.gather(1, by_id)
    order = scores.argsort(dim=1, descending=True, stable=True)[:, :k]
    return scores.gather(1, order), numbers.gather(1, order)


def _blocks(place: torch.device) -> tuple[int, int]:
    return (_GPU_QUERY_BLOCK, _GPU_DOCUMENT_BLOCK) if place.type == "cuda" else (_QUERY_BLOCK, _DOCUMENT_BLOCK)
