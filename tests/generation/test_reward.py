"""Guards the reward's formula, its order of work and its log. Alone: pytest tests/generation/test_reward.py"""

from __future__ import annotations

import math
import pickle
from collections import defaultdict

import pytest

from lean_finder.generation.reward import (
    RankReward,
    RewardSettings,
    clean_query,
    count_tokens,
    length_penalty,
    query_reward,
    rank_difficulty,
)
from tests.generation.toy_library import OverlapRanker, PrefixJudge


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        pytest.param(1, 0.0, id="1-found-at-once"),
        pytest.param(5, 0.0, id="5-last-easy"),
        pytest.param(6, math.log(6 / 5) / math.log(6), id="6-first-rising"),
        pytest.param(29, math.log(29 / 5) / math.log(6), id="29-almost-full"),
        pytest.param(30, 1.0, id="30-log-reaches-one"),
        pytest.param(31, 1.0, id="31-first-full"),
        pytest.param(100, 1.0, id="100-last-full"),
        pytest.param(101, 0.0, id="101-lost"),
        pytest.param(None, 0.0, id="absent"),
    ],
)
def test_rank_difficulty_corners(rank: int | None, expected: float) -> None:
    assert rank_difficulty(rank) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(0, 0.0, id="0"),
        pytest.param(40, 0.0, id="40-last-free"),
        pytest.param(41, 0.1, id="41-first-charged"),
        pytest.param(45, 0.5, id="45-half"),
        pytest.param(49, 0.9, id="49"),
        pytest.param(50, 1.0, id="50-full"),
        pytest.param(51, 1.0, id="51-not-more-than-full"),
    ],
)
def test_length_penalty_corners(length: int, expected: float) -> None:
    assert length_penalty(length) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("mode", "consistent", "rank", "length", "expected"),
    [
        pytest.param("both", False, 50, 10, 0.0, id="inconsistent-with-full-difficulty"),
        pytest.param("both", True, 50, 10, 1.0, id="consistent-and-hard"),
        pytest.param("both", True, 50, 50, 0.85, id="consistent-hard-too-long"),
        pytest.param("both", True, 5, 50, 0.0, id="clipped-at-zero"),
        pytest.param("both", True, 15, 45, math.log(3) / math.log(6) - 0.075, id="all-parts"),
        pytest.param("difficulty", False, 50, 10, 1.0, id="difficulty-ignores-the-judge"),
        pytest.param("difficulty", True, 101, 10, 0.0, id="difficulty-keeps-the-cap"),
        pytest.param("consistency", True, 1, 10, 1.0, id="consistency-ignores-the-rank"),
        pytest.param("consistency", False, 50, 10, 0.0, id="consistency-needs-the-judge"),
    ],
)
def test_query_reward(mode: str, consistent: bool, rank: int, length: int, expected: float) -> None:
    assert query_reward(consistent, rank, length, RewardSettings(mode=mode)) == pytest.approx(expected, abs=1e-12)


def test_completions_are_cleaned_and_counted() -> None:
    assert clean_query("  sum of\ncontinuous   maps\n") == "sum of continuous maps"
    assert count_tokens([7, 8, 2, 2], end_token_ids=(2,)) == 2
    assert count_tokens([7, 8, 9], end_token_ids=(2,)) == 3


#: Bands scaled to twenty declarations.
SMALL = {"easy_rank": 2, "full_rank": 8, "lost_rank": 19, "length_start": 6, "length_full": 8}


def score(queries: list[str], targets: list[str], judge_cost: float = 0.0001, **settings: object):
    """Run a reward on queries; returns rewards, logged parts, ranker and judge."""
    ranker, judge = OverlapRanker(), PrefixJudge(judge_cost)
    reward = RankReward(ranker, judge, RewardSettings(**SMALL, **settings), end_token_ids=(0,))  # type: ignore[arg-type]
    parts: dict[str, list[float]] = defaultdict(list)
    values = reward(
        prompts=["p"] * len(queries),
        completions=queries,
        completion_ids=[[5] * len(query.split()) + [0] for query in queries],
        declaration=targets,
        log_metric=lambda name, value: parts[name].append(value),
        trainer_state=None,
    )
    return values, {name: value[0] for name, value in parts.items()}, ranker, judge


def test_product_of_the_parts_of_a_real_ranking() -> None:
    queries = ["continuous", "monotone sum", "measurable"]
    targets = ["Continuous.add", "Continuous.add", "Measurable.comp"]
    values, parts, _, _ = score(queries, targets)
    ranks = OverlapRanker().ranks(queries, targets)
    expected = [rank_difficulty(ranks[0], 2, 8, 19), 0.0, rank_difficulty(ranks[2], 2, 8, 19)]
    assert values == pytest.approx(expected)
    assert parts["part/consistency"] == pytest.approx(2 / 3)
    assert parts["part/reward"] == pytest.approx(sum(expected) / 3)
    bands = [parts[f"ranks/{band}"] for band in ("easy", "rising", "full", "lost")]
    assert sum(bands) == 3 and bands[1] == sum(2 < rank <= 8 for rank in ranks)


def test_failed_judge_skips_the_row_and_is_counted() -> None:
    values, parts, _, _ = score(["continuous?", "continuous"], ["Continuous.add"] * 2)
    assert values[0] is None and values[1] is not None
    assert parts["count/judge_failed"] == 1
    assert parts["part/consistency"] == 1.0  # over those that were judged


def test_difficulty_mode_survives_a_failed_judge() -> None:
    values, parts, _, _ = score(["continuous?"], ["Continuous.add"], mode="difficulty")
    assert values[0] is not None and parts["count/judge_failed"] == 1


def test_empty_query_is_inconsistent_without_asking_anyone() -> None:
    for mode in ("both", "consistency", "difficulty"):
        values, parts, ranker, judge = score(["", "  "], ["Continuous.add"] * 2, mode=mode)
        assert values == [0.0, 0.0]
        assert (ranker.asked, judge.asked) == (0, 0)
        assert parts["count/empty"] == 2 and parts["part/consistency"] == 0.0


@pytest.mark.parametrize("judge_cost", [0.0001, 10.0], ids=["judge-first", "rank-first"])
def test_skipping_saves_work_and_changes_no_reward(judge_cost: float) -> None:
    queries = ["continuous", "monotone", "nothing at all", "The sum of two functions each of which is continuous"]
    targets = ["Continuous.add", "Continuous.mul", "Continuous.neg", "Continuous.add"]
    full, _, _, _ = score(queries, targets, judge_cost)
    saved, parts, ranker, judge = score(queries, targets, judge_cost, measure_all=False)
    assert saved == full
    if judge_cost < 1:
        assert judge.asked == 4 and ranker.asked == 2 == 4 - parts["count/rank_skipped"]
    else:
        assert ranker.asked == 4 and judge.asked == 4 - parts["count/judge_skipped"] < 4


def test_one_sided_modes_ask_one_side_only_unless_told_to_measure() -> None:
    _, _, ranker, judge = score(["continuous"], ["Continuous.add"], mode="difficulty", measure_all=False)
    assert (ranker.asked, judge.asked) == (1, 0)
    _, _, ranker, judge = score(["continuous"], ["Continuous.add"], mode="consistency", measure_all=False)
    assert (ranker.asked, judge.asked) == (0, 1)


def test_pickles_with_its_name() -> None:
    reward = RankReward(OverlapRanker(), PrefixJudge(), RewardSettings(**SMALL), (0,))
    copy = pickle.loads(pickle.dumps(reward))
    assert copy.__name__ == "rank_reward"
    arguments = {"completions": ["continuous"], "completion_ids": [[5, 0]], "declaration": ["Continuous.add"]}
    assert copy(**arguments) == reward(**arguments)


def test_repeated_queries_are_counted() -> None:
    _, parts, _, _ = score(["continuous", "continuous", "continuous add"], ["Continuous.add"] * 3)
    assert parts["count/repeated"] == 1
