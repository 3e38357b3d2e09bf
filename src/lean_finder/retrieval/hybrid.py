"""Hybrid search: several retrievers' scores fused into one ranking. Always a retriever with a name of its own.

Both fusions run over the whole corpus, so their ranks are exact like those of the parts:

* reciprocal rank: `Σ wᵢ / (c + rankᵢ)`, c = 60 (Cormack, Clarke and Büttcher, 2009);
* weighted: `Σ wᵢ · (sᵢ − min sᵢ) / (max sᵢ − min sᵢ)`, each part's scores scaled per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from lean_finder.errors import InputError
from lean_finder.retrieval.scoring import Scorer, Scores, ScoringRetriever, competition_ranks

Fusion = Literal["reciprocal_rank", "weighted"]


class HybridRetriever(ScoringRetriever):
    """Fusion of retrievers over the same corpus in the same order.

    Args:
        parts: the retrievers.
        weights: one per part, not negative, not all 0.
        fusion: "reciprocal_rank" or "weighted".
        constant: c of the reciprocal rank fusion.

    Raises:
        InputError: parts over different corpora, or impossible weights.
    """

    def __init__(
        self,
        parts: Sequence[Scorer],
        weights: Sequence[float],
        *,
        fusion: Fusion = "reciprocal_rank",
        constant: float = 60.0,
    ) -> None:
        if fusion not in get_args(Fusion):
            raise InputError("hybrid.fusion", f"unknown {fusion!r}", f"one of {', '.join(get_args(Fusion))}")
        if len(parts) != len(weights) or not parts or min(weights) < 0 or not sum(weights) > 0:
            raise InputError("hybrid.weights", f"{list(weights)} for {len(parts)} parts", "one each, not negative")
        if any(part.names != parts[0].names for part in parts):
            raise InputError("hybrid", "the parts have different corpora", "build all indexes from one corpus")
        self.names = parts[0].names
        self._parts = list(parts)
        self._weights = [float(weight) for weight in weights]
        self._fusion: Fusion = fusion
        self._constant = constant

    def scores(self, queries: Sequence[str]) -> Scores:
        """Fused scores (queries, names); each part is asked for all queries at once."""
        total = np.zeros((len(queries), len(self.names)), dtype=np.float32)
        for part, weight in zip(self._parts, self._weights, strict=True):
            if weight:
                for row, scores in zip(total, part.scores(queries), strict=True):
                    row += np.float32(weight) * scaled(scores, self._fusion, self._constant)
        return total


def scaled(scores: Scores, fusion: Fusion, constant: float = 60.0) -> Scores:
    """One part's scores (n,) as the fusion adds them up, before its weight."""
    if fusion == "reciprocal_rank":
        return (1 / (constant + competition_ranks(scores))).astype(np.float32)
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
