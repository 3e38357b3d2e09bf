"""Guards the choice of a fusion on validation. Run: pytest tests/evaluation/test_fusion.py"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lean_finder.errors import InputError
from lean_finder.evaluation.fusion import WEIGHTS, score_fusions
from lean_finder.evaluation.metrics import METRICS, metric_matrix
from lean_finder.retrieval.hybrid import HybridRetriever
from lean_finder.retrieval.scoring import Scores, ScoringRetriever

NAMES = [f"d{place}" for place in range(40)]


class Noisy(ScoringRetriever):
    """Knows the gold (the query's number) of a share of the queries."""

    def __init__(self, known: range, names: list[str] = NAMES) -> None:
        self.names = names
        self.known = known

    def scores(self, queries: Sequence[str]) -> Scores:
        return np.stack([self._values(int(query)) for query in queries])

    def _values(self, number: int) -> Scores:
        values = np.random.default_rng(number + 1000 * self.known.start).random(len(self.names)).astype(np.float32)
        values[number % len(self.names)] += 1.0 if number in self.known else 0.0
        return values


def test_every_figure_is_that_of_the_fused_retriever() -> None:
    queries = [str(number) for number in range(40)]
    left, right = Noisy(range(0, 30)), Noisy(range(20, 40))
    scores = score_fusions(left, right, queries, NAMES)
    assert len(scores) == 2 * len(WEIGHTS)
    assert [item.ndcg_at_10 for item in scores] == sorted((item.ndcg_at_10 for item in scores), reverse=True)
    for item in scores:
        hybrid = HybridRetriever([left, right], [1.0, item.weight], fusion=item.fusion)
        ranks = hybrid.gold_ranks(queries, NAMES)
        assert item.ndcg_at_10 == pytest.approx(metric_matrix(ranks)[:, METRICS.index("ndcg_at_10")].mean())
    # Each knows queries that the other does not: together they are better than the first alone.
    assert scores[0].weight > 0


def test_a_useless_retriever_gets_little_weight() -> None:
    queries = [str(number) for number in range(40)]
    assert score_fusions(Noisy(range(40)), Noisy(range(0)), queries, NAMES)[0].weight == 0.0
    assert score_fusions(Noisy(range(0)), Noisy(range(40)), queries, NAMES)[0].weight > 1.0


def test_bad_requests_are_refused() -> None:
    left, right = Noisy(range(5)), Noisy(range(5))
    with pytest.raises(InputError, match="at least one"):
        score_fusions(left, right, [], [])
    with pytest.raises(InputError, match="not in the corpus"):
        score_fusions(left, right, ["1"], ["absent"])
    with pytest.raises(InputError, match="different corpora"):
        score_fusions(left, Noisy(range(5), NAMES[::-1]), ["1"], ["d1"])
    with pytest.raises(InputError, match="weights"):
        score_fusions(left, right, ["1"], ["d1"], weights=(-0.5,))
