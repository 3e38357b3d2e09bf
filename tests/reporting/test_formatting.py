"""Guards that figures read the same everywhere and that a gap is never a number.

Run: pytest tests/reporting/test_formatting.py
"""

from __future__ import annotations

import pytest

from lean_finder.reporting import formatting


@pytest.mark.parametrize(
    ("metric", "label"),
    [("ndcg_at_10", "nDCG@10"), ("recall_at_1", "Recall@1"), ("mrr", "MRR")],
)
def test_metric_label(metric: str, label: str) -> None:
    assert formatting.metric_label(metric) == label


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.0314, "+0.031", id="gain"),
        pytest.param(-0.0314, "−0.031", id="loss"),
        pytest.param(-0.0001, "0.000", id="a loss that rounds to zero has no sign"),
        pytest.param(0.0004, "0.000", id="a gain that rounds to zero has no sign"),
        pytest.param(0.0, "0.000", id="zero"),
        pytest.param(None, formatting.GAP, id="missing"),
    ],
)
def test_signed(value: float | None, text: str) -> None:
    assert formatting.signed(value) == text


@pytest.mark.parametrize(("p", "text"), [(0.0009, "<0.001"), (0.001, "0.001"), (1.0, "1.000"), (None, formatting.GAP)])
def test_p_value(p: float | None, text: str) -> None:
    assert formatting.p_value(p) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4.24, "4.2 s"), (75, "1 min 15 s"), (3600 + 125, "1 h 2 min"), (None, formatting.GAP)]
)
def test_seconds(value: float | None, text: str) -> None:
    assert formatting.seconds(value) == text


def test_intervals_are_flattened_whole_and_shown_with_their_size() -> None:
    rate = {"value": 0.25, "low": 0.1, "high": 0.4, "n": 70}
    assert formatting.flat({"a": {"b": rate, "c": 1}}) == {"a.b": rate, "a.c": 1}
    assert formatting.plain(rate) == "0.250 [0.100, 0.400] (n 70)"
    assert formatting.interval({}) == formatting.GAP
