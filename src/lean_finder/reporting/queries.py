"""What a set of queries looks like: how long, how hard for the previous retriever, what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lean_finder.generation.reward import RewardSettings, rank_bands


def word_counts(queries: pd.Series) -> pd.Series:
    """Whitespace words of each query."""
    return pd.Series([len(str(query).split()) for query in queries], index=queries.index, dtype="int64")


def summary(values: pd.Series) -> dict[str, float]:
    """Median, 90th percentile and n of a numeric column; {} for no values."""
    known = values.dropna()
    if known.empty:
        return {}
    return {"n": len(known), "median": float(known.median()), "p90": float(known.quantile(0.9))}


def band_labels(reward: RewardSettings) -> dict[str, str]:
    """The reward's rank bands with their ranks. Example: "easy" -> "easy (1–5)"."""
    labels = {}
    for name, (low, high) in rank_bands(reward).items():
        span = f"> {low - 1}" if math.isinf(high) else str(low) if low == high else f"{low}–{int(high)}"
        labels[name] = f"{name} ({span})"
    return labels


def band_counts(ranks: Sequence[int], reward: RewardSettings) -> dict[str, int]:
    """How many ranks fall into each of the reward's bands."""
    return {name: sum(low <= rank <= high for rank in ranks) for name, (low, high) in rank_bands(reward).items()}


def log_bins(ranks: Sequence[int]) -> dict[str, int]:
    """Counts in bins that double: 1, 2, 3–4, 5–8, …, up to the last bin that holds a rank."""
    counts: dict[str, int] = {}
    for power in range(max((_power(rank) for rank in ranks), default=-1) + 1):
        low, high = 2 ** (power - 1) + 1 if power else 1, 2**power
        label = str(high) if low == high else f"{low}–{high}"
        counts[label] = sum(low <= rank <= high for rank in ranks)
    return counts


def ranks_of(queries: pd.DataFrame | None) -> list[int]:
    """Ranks by the previous retriever; [] for queries that were not ranked (round 0)."""
    if queries is None or "rank_prev" not in queries:
        return []
    return [int(rank) for rank in queries["rank_prev"].dropna() if rank >= 1]


def describe_queries(queries: pd.DataFrame, dropped: pd.DataFrame | None, reward: RewardSettings) -> dict[str, Any]:
    """Counts, lengths and rank bands of an arm's queries, ready for JSON."""
    ranks = ranks_of(queries)
    found: dict[str, Any] = {
        "kept": len(queries),
        "declarations": int(queries["declaration"].nunique()),
        "words": summary(word_counts(queries["query"])),
        "dropped": None if dropped is None else drop_counts(dropped),
    }
    if "n_tokens" in queries:
        found["tokens"] = summary(queries["n_tokens"])
    if ranks:
        found["rank_prev"] = summary(pd.Series(ranks))
        found["bands"] = band_counts(ranks, reward)
    return found


def drop_counts(dropped: pd.DataFrame) -> dict[str, int]:
    """Rows left out, by reason; by check where the audit's filter left them out."""
    column = "reason" if "reason" in dropped else "check" if "check" in dropped else None
    if column is None:
        return {"unrecorded": len(dropped)} if len(dropped) else {}
    counts: Mapping[Any, int] = dropped[column].value_counts().to_dict()
    return {str(reason): int(count) for reason, count in sorted(counts.items(), key=lambda item: str(item[0]))}


def _power(rank: int) -> int:
    return max(0, (rank - 1).bit_length())
