"""Guards the counting of ranks and lengths.

Run: pytest tests/reporting/test_queries.py
"""

from __future__ import annotations

import pandas as pd

from lean_finder.generation.reward import RewardSettings
from lean_finder.reporting import queries

PAPER = RewardSettings()


def test_bands_have_the_reward_s_corners() -> None:
    ranks = [1, 5, 6, 30, 31, 100, 101, 5000]
    assert queries.band_counts(ranks, PAPER) == {"easy": 2, "rising": 2, "full": 2, "lost": 2}
    assert list(queries.band_labels(PAPER).values()) == ["easy (1–5)", "rising (6–30)", "full (31–100)", "lost (> 100)"]
    assert queries.band_labels(RewardSettings(easy_rank=1, full_rank=8, lost_rank=60))["easy"] == "easy (1)"


def test_doubling_bins_hold_every_rank_once() -> None:
    ranks = [1, 2, 3, 4, 5, 8, 9]
    assert queries.log_bins(ranks) == {"1": 1, "2": 1, "3–4": 2, "5–8": 2, "9–16": 1}
    assert queries.log_bins([]) == {}
    assert sum(queries.log_bins(range(1, 1000)).values()) == 999


def test_unranked_queries_are_no_ranks() -> None:
    assert queries.ranks_of(pd.DataFrame({"query": ["a"]})) == []
    assert queries.ranks_of(pd.DataFrame({"rank_prev": [0, 3, None]})) == [3]


def test_dropped_rows_are_counted_by_reason_or_check() -> None:
    assert queries.drop_counts(pd.DataFrame({"reason": ["b", "a", "b"]})) == {"a": 1, "b": 2}
    assert queries.drop_counts(pd.DataFrame({"check": ["query_text"]})) == {"query_text": 1}
    assert queries.drop_counts(pd.DataFrame({"reason": []})) == {}
