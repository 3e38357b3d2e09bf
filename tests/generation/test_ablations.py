"""Guards the ablation tables. Alone: pytest tests/generation/test_ablations.py"""

from __future__ import annotations

import pytest

from lean_finder.errors import InputError
from lean_finder.generation.ablations import METRICS, ablation_markdown, ablation_table

SCORES = {
    arm: {metric: {"value": value, "low": value - 0.05, "high": value + 0.05} for metric in METRICS}
    for arm, value in (("r0", 0.4), ("r1", 0.45), ("r1_difficulty", 0.3), ("r2_base", 0.41))
}
TESTS = {
    (arm, base): {metric: {"difference": d, "low": d - 0.02, "high": d + 0.02, "p": 0.03} for metric in METRICS}
    for arm, base, d in (("r1", "r0", 0.05), ("r1_difficulty", "r0", -0.1), ("r2_base", "r1", -0.04))
}


def test_rows_follow_the_paper_and_only_for_arms_that_were_run() -> None:
    rows = ablation_table(SCORES, TESTS, "cpu")
    assert [(row["table"], row["arm"]) for row in rows] == [
        ("7", "r0"),
        ("7", "r1_difficulty"),
        ("7", "r1"),
        ("9", "r1"),
        ("9", "r2_base"),
    ]
    difficulty = rows[1]
    assert difficulty["against"] == "r0" and difficulty["test"]["ndcg_at_1"]["difference"] == -0.1
    assert difficulty["paper"] == {"ndcg_at_1": 0.453, "recall_at_10": None, "scale": "paper"}
    assert "test" not in rows[0] and "test" not in rows[3]
    assert {row["scale"] for row in rows} == {"cpu"}


def test_markdown_keeps_scales_apart() -> None:
    text = ablation_markdown(ablation_table(SCORES, TESTS, "cpu"))
    lines = text.splitlines()
    assert (
        "| cpu | r1 | both | 0.450 [0.400, 0.500] | 0.450 [0.400, 0.500] | r0: +0.050 [+0.030, +0.070] | 0.030 |"
        in lines
    )
    assert "| paper | r1 | both | 0.520 | 0.842 | | |" in lines
    assert all(line.count("|") == 8 for line in lines if line.startswith("|"))


def test_a_missing_comparison_is_refused() -> None:
    with pytest.raises(InputError, match="comparison of r1_difficulty with r0"):
        ablation_table(SCORES, {}, "cpu")
