"""MinHash with banded look-up, for many sets at once.

The classic scheme (Broder 1997; Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, chapter 3): the
share of equal minima under random hash functions estimates the Jaccard similarity of two sets; sets that agree on
a whole band of minima become candidates. Only candidates are found here; callers compare them exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: With 25 bands of 5 rows a pair of similarity 0.75 is missed once in 800 times, one of 0.8 once in 20,000, while
#: only one in 40 pairs of similarity 0.25 has to be compared.
BANDS, ROWS = 25, 5
#: Standard errors by which the estimated similarity may fall short before a pair is dropped unseen.
_SLACK = 4.0
#: Elements hashed at a time: few enough to stay in a core's cache while every hash function goes over them.
_BLOCK = 1 << 15
#: Minima compared at a time: bounds memory at a few MB.
_COMPARED = 1 << 20
#: Leading bits of a hash that the table of `is_in` looks at (4 MB of it), and the bits after them.
_TABLE_BITS = 22
_DROPPED_BITS = np.uint64(64 - _TABLE_BITS)


def signatures(values: NDArray[np.uint64], offsets: NDArray[np.int64], seed: int = 0) -> NDArray[np.uint32]:
    """Minima of `BANDS * ROWS` hash functions for each set.

    Args:
        values: the elements of all sets, one set after another, as well-mixed 64-bit hashes.
        offsets: (sets + 1,) where each set starts in `values`; every set has at least one element.
        seed: of the hash functions.

    Returns:
        (sets, BANDS * ROWS) signatures.
    """
    rng = np.random.default_rng(seed)
    odd = rng.integers(1, 1 << 63, BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    shift = rng.integers(0, 1 << 63, BANDS * ROWS, dtype=np.uint64)
    out = np.empty((len(offsets) - 1, BANDS * ROWS), dtype=np.uint32)
    start = 0
    while start < len(offsets) - 1:
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _BLOCK, side="right")) - 1)
        block = values[offsets[start] : offsets[stop]]
        begins = offsets[start:stop] - offsets[start]
        hashed = np.empty_like(block)
        for column in range(BANDS * ROWS):
            # Multiply-shift hashing: the high half of a * x + b is close to 2-universal. The least number has the least
            # high half, so that only the minima are shifted.
            np.multiply(block, odd[column], out=hashed)
            hashed += shift[column]
            out[start:stop, column] = np.minimum.reduceat(hashed, begins) >> np.uint64(32)
        start = stop
    return out


def candidates(
    known: NDArray[np.uint32], probes: NDArray[np.uint32], similarity: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (probe, known) that agree on at least one band and may well have the similarity, each once, sorted.

    Args:
        known: (n, BANDS * ROWS) signatures to be found.
        probes: (m, BANDS * ROWS) signatures to look up.
        similarity: pairs whose estimate is far below it are left out.

    Returns:
        Two equally long arrays: positions in `probes` and in `known`.
    """
    found: list[NDArray[np.int64]] = []
    least = similarity - _SLACK * np.sqrt(similarity * (1 - similarity) / (BANDS * ROWS))
    for band in range(BANDS):
        columns = slice(band * ROWS, (band + 1) * ROWS)
        left, right = _fingerprint(known[:, columns]), _fingerprint(probes[:, columns])
        order = np.argsort(left, kind="stable")
        ordered = left[order]
        hit = np.flatnonzero(is_in(right, ordered))
        if len(hit):
            first = np.searchsorted(ordered, right[hit], side="left")
            count = np.searchsorted(ordered, right[hit], side="right") - first
            probe = np.repeat(hit, count)
            within = np.arange(len(probe)) - np.repeat(np.cumsum(count) - count, count)
            other = order[np.repeat(first, count) + within]
            close = _estimate(known, probes, other, probe) >= least
            found.append(probe[close] * np.int64(len(known)) + other[close])
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    pairs = np.unique(np.concatenate(found))
    return pairs // len(known), pairs % len(known)


def _estimate(
    known: NDArray[np.uint32], probes: NDArray[np.uint32], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Share of equal minima of each pair (known[left], probes[right]), a block of pairs at a time."""
    out = np.empty(len(left))
    step = _COMPARED // (BANDS * ROWS)
    for start in range(0, len(left), step):
        piece = slice(start, start + step)
        out[piece] = (known[left[piece]] == probes[right[piece]]).mean(axis=1)
    return out


def is_in(hashes: NDArray[np.uint64], ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each of many hashes is one of few, which are sorted.

    A table by the leading bits turns most away at once: a binary search costs ten times as much.
    """
    table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
    table[ordered >> _DROPPED_BITS] = True
    found = table[hashes >> _DROPPED_BITS]
    asked = np.flatnonzero(found)
    place = np.searchsorted(ordered, hashes[asked], side="right") - 1
    found[asked] = ordered[place] == hashes[asked]
    return found


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread small integers over 64 bits (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _fingerprint(band: NDArray[np.uint32]) -> NDArray[np.uint64]:
    key = np.zeros(len(band), dtype=np.uint64)
    for column in range(band.shape[1]):
        key = mix(key ^ band[:, column].astype(np.uint64))
    return key
