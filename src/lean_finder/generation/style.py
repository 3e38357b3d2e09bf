"""Do generated queries look like real ones? Lengths, mix of kinds, and one distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lean_finder.errors import InputError
from lean_finder.surface import KINDS, kind_distance, kind_shares, largest_gap

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True)
class StyleProfile:
    """How a set of queries looks.

    Attributes:
        n: queries.
        length_quantiles: tokens of the generator at `QUANTILES`.
        kind_shares: share of every kind in `KINDS`, by `query_kind`.
        distinct_share: distinct queries / queries.
    """

    n: int
    length_quantiles: tuple[float, ...]
    kind_shares: tuple[float, ...]
    distinct_share: float

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, with quantiles and kinds named."""
        return asdict(self) | {
            "length_quantiles": {
                f"p{round(q * 100)}": v for q, v in zip(QUANTILES, self.length_quantiles, strict=True)
            },
            "kind_shares": dict(zip(KINDS, self.kind_shares, strict=True)),
        }


@dataclass(frozen=True)
class StyleDistance:
    """How far generated queries are from real ones; 0 = the same, each part at most 1.

    Attributes:
        length: Kolmogorov-Smirnov distance of the lengths: the largest gap between the cumulative shares.
        kind: total variation distance of the kinds: half the sum of the absolute differences of the shares.
        total: the larger of the two, to be held against a threshold.
    """

    length: float
    kind: float
    total: float


def token_lengths(queries: Sequence[str], tokenizer: Any) -> np.ndarray:
    """Lengths in the generator's tokens, without special tokens: int64 (n,)."""
    return np.array(
        [len(ids) for ids in tokenizer(list(queries), add_special_tokens=False)["input_ids"]], dtype=np.int64
    )


def style_profile(queries: Sequence[str], tokenizer: Any) -> StyleProfile:
    """Profile a set of queries.

    Raises:
        InputError: there are none.
    """
    if not queries:
        raise InputError("queries", "there are none to profile", "check the filters and the judge's threshold")
    lengths = token_lengths(queries, tokenizer)
    return StyleProfile(
        n=len(queries),
        length_quantiles=tuple(float(value) for value in np.quantile(lengths, QUANTILES)),
        kind_shares=kind_shares(queries),
        distinct_share=len({query.casefold() for query in queries}) / len(queries),
    )


def style_distance(generated: Sequence[str], real: Sequence[str], tokenizer: Any) -> StyleDistance:
    """Distance between two sets of queries; symmetric.

    Raises:
        InputError: one of them is empty.
    """
    if not generated or not real:
        raise InputError("queries", "there are none to compare", "check the filters and the judge's threshold")
    length = largest_gap(token_lengths(generated, tokenizer), token_lengths(real, tokenizer))
    kind = kind_distance(generated, real)
    return StyleDistance(length, kind, max(length, kind))


def distance_interval(
    generated: Sequence[str], real: Sequence[str], tokenizer: Any, *, seed: int, resamples: int = 200
) -> dict[str, tuple[float, float, float]]:
    """Each distance with its 95 % bootstrap interval, and what chance alone gives for samples of these sizes.

    Returns:
        "length", "kind", "total": (value, low, high); "chance": (median, low, high) of the total distance between two
        samples drawn from the real queries, of the sizes of the two sets: below its upper end nothing is proved.
    """
    rng = np.random.default_rng(seed)

    def draw(items: Sequence[str], n: int) -> list[str]:
        return [items[index] for index in rng.integers(0, len(items), size=n)]

    value = style_distance(generated, real, tokenizer)
    runs = [style_distance(draw(generated, len(generated)), draw(real, len(real)), tokenizer) for _ in range(resamples)]
    chance = [
        style_distance(draw(real, len(generated)), draw(real, len(real)), tokenizer).total for _ in range(resamples)
    ]
    parts: dict[str, Callable[[StyleDistance], float]] = {
        "length": lambda item: item.length,
        "kind": lambda item: item.kind,
        "total": lambda item: item.total,
    }
    table = {name: (get(value), *_bounds([get(run) for run in runs])) for name, get in parts.items()}
    return table | {"chance": (float(np.median(chance)), *_bounds(chance))}


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
