"""How sure a figure is: cluster bootstrap, paired randomisation, Holm.

The queries about one declaration are not independent, so the declaration is the unit: it is drawn with all its
queries, and its differences change sign together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

#: Resamples computed at once: bounds memory at 256 × clusters.
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over queries with its 95 % percentile interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """As a JSON object."""
        return {"value": self.value, "low": self.low, "high": self.high}


def bootstrap_means(
    values: Matrix, clusters: Sequence[str], *, seed: int, resamples: int = 2000, confidence: float = 0.95
) -> list[Interval]:
    """Mean over the queries of each column of `values` (n, m), with its cluster bootstrap interval.

    A resample draws as many clusters as there are, with replacement, and takes the mean over all their queries
    (so clusters weigh by their size, as in the mean itself).

    Raises:
        ValueError: no query, or another number of clusters than of rows.
    """
    sums, sizes = cluster_sums(values, clusters)
    random = np.random.default_rng(seed)
    count = len(sizes)
    draws = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, _CHUNK):
        stop = min(start + _CHUNK, resamples)
        weights = random.multinomial(count, np.full(count, 1 / count), size=stop - start).astype(np.float64)
        draws[start:stop] = (weights @ sums) / (weights @ sizes)[:, None]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(draws, [tail, 100 - tail], axis=0)
    means = values.mean(axis=0)
    return [Interval(float(mean), float(a), float(b)) for mean, a, b in zip(means, low, high, strict=True)]


def paired_randomisation(differences: Matrix, clusters: Sequence[str], *, seed: int, flips: int = 10_000) -> Matrix:
    """Two-sided p of each column of paired differences (n, m) under random sign flips of whole clusters.

    p = (1 + number of flips whose |mean| reaches the observed) / (1 + flips).
    """
    sums, _ = cluster_sums(differences, clusters)
    random = np.random.default_rng(seed)
    observed = np.abs(sums.sum(axis=0))
    # Rounding must not turn a flip that equals the observed value into a smaller one.
    reach = observed - 1e-12 * np.maximum(1.0, np.abs(sums).sum(axis=0))
    hits = np.zeros(differences.shape[1])
    for start in range(0, flips, _CHUNK):
        size = min(_CHUNK, flips - start)
        signs = random.integers(0, 2, size=(size, len(sums))).astype(np.float64) * 2 - 1
        hits += (np.abs(signs @ sums) >= reach).sum(axis=0)
    return (1 + hits) / (1 + flips)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of a family of p-values, in the given order."""
    array = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    factors = len(array) - np.arange(len(array))
    adjusted = np.minimum(1.0, np.maximum.accumulate(array[order] * factors))
    result = np.empty(len(array))
    result[order] = adjusted
    return [float(value) for value in result]


def cluster_sums(values: Matrix, clusters: Sequence[str]) -> tuple[Matrix, npt.NDArray[np.float64]]:
    """Sum of each column within each cluster (c, m), and the clusters' sizes (c,)."""
    if len(values) != len(clusters) or not len(values):
        raise ValueError(f"{len(values)} rows, {len(clusters)} clusters: expected one each and at least one")
    _, inverse = np.unique(np.asarray(clusters, dtype=object), return_inverse=True)
    sizes = np.bincount(inverse).astype(np.float64)
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, inverse, values)
    return sums, sizes
