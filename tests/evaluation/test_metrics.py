"""Guards the metrics: corners by value, and agreement with ir-measures. Run: pytest tests/evaluation/test_metrics.py"""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, Qrel, R, ScoredDoc, nDCG

from lean_finder.evaluation.metrics import METRICS, NDCG_CUTS, RECALL_CUTS, metric_matrix


def _one(rank: int | None) -> dict[str, float]:
    return dict(zip(METRICS, metric_matrix([rank])[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("rank", "metric", "value"),
    [
        pytest.param(1, "ndcg_at_1", 1.0, id="first place"),
        pytest.param(2, "ndcg_at_1", 0.0, id="second place is outside 1"),
        pytest.param(3, "ndcg_at_5", 0.5, id="1/log2(4)"),
        pytest.param(10, "ndcg_at_10", 1 / np.log2(11), id="last inside 10"),
        pytest.param(11, "ndcg_at_10", 0.0, id="first outside 10"),
        pytest.param(100, "recall_at_100", 1.0, id="last inside 100"),
        pytest.param(101, "recall_at_100", 0.0, id="first outside 100"),
        pytest.param(4000, "mrr", 1 / 4000, id="mrr has no cut"),
        pytest.param(None, "mrr", 0.0, id="missing gold"),
        pytest.param(None, "recall_at_100", 0.0, id="missing gold, recall"),
    ],
)
def test_corners(rank: int | None, metric: str, value: float) -> None:
    assert _one(rank)[metric] == pytest.approx(value, abs=1e-15)


def test_agrees_with_ir_measures() -> None:
    random = np.random.default_rng(5)
    ranks = [int(rank) if rank <= 150 else None for rank in random.integers(1, 180, 400)]
    qrels = [Qrel(f"q{place}", "gold", 1) for place in range(len(ranks))]
    run = [
        ScoredDoc(f"q{place}", "gold" if at == rank else f"other{at}", 1000.0 - at)
        for place, rank in enumerate(ranks)
        for at in range(1, 151)
    ]
    measures = {f"ndcg_at_{k}": nDCG @ k for k in NDCG_CUTS}
    measures |= {f"recall_at_{k}": R @ k for k in RECALL_CUTS}
    measures["mrr"] = RR
    expected = {
        (str(item.measure), item.query_id): item.value
        for item in ir_measures.iter_calc(list(measures.values()), qrels, run)
    }
    matrix = metric_matrix(ranks)
    for column, name in enumerate(METRICS):
        theirs = [expected[str(measures[name]), f"q{place}"] for place in range(len(ranks))]
        assert np.abs(matrix[:, column] - theirs).max() < 1e-9, name


def test_zero_based_ranks_are_a_defect() -> None:
    with pytest.raises(ValueError, match="1-based"):
        metric_matrix([0])
    assert metric_matrix([]).shape == (0, len(METRICS))
