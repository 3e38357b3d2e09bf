"""Guards the one dict that every table is made from: what it compares, what it calls a gain, and what it leaves out.

Run: pytest tests/reporting/test_results.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lean_finder.errors import InputError
from lean_finder.generation.reward import RewardSettings
from lean_finder.reporting.judges import judge_table
from lean_finder.reporting.results import build_results, headline_metrics, verdict
from lean_finder.reporting.verdicts import main_line, scored_tests
from tests.reporting.result_tree import ARMS, Tree


def test_every_retriever_has_every_benchmark_and_validation_is_no_test(results: dict[str, Any]) -> None:
    assert [row["name"] for row in results["retrievers"]] == ["bm25", "base", "r0", *ARMS]
    assert scored_tests(results) == ["embedded", "embedded-long"]
    assert results["benchmarks"]["validation"]["purpose"] == "validation"
    assert results["benchmarks"]["embedded-long"]["queries_are"] == "long"
    scores = results["retrievers"][0]["benchmarks"]["embedded"]
    assert (scores["row_set"], scores["queries"], scores["declarations"]) == ("all", 120, 40)
    assert scores["styles"]["lean"]["queries"] == 40


def test_every_arm_is_compared_with_round_0_and_its_predecessor(results: dict[str, Any]) -> None:
    wanted = {(over, arm) for arm, (prev, *_) in ARMS.items() for over in ("r0", prev)}
    for benchmark in results["benchmarks"]:
        for metric in ("ndcg_at_1", "ndcg_at_10", "recall_at_10"):
            rows = [row for row in results["gains"] if (row["benchmark"], row["metric"]) == (benchmark, metric)]
            assert {(row["over"], row["arm"]) for row in rows} == wanted
            assert len(rows) == len(wanted) == rows[0]["compared"]
            assert all(row["p_holm"] >= row["p"] for row in rows)


def test_effects_are_the_differences_of_the_scores(results: dict[str, Any]) -> None:
    scores = {
        row["name"]: row["benchmarks"]["embedded"]["strict"]["ndcg_at_10"]["value"] for row in results["retrievers"]
    }
    gains = {
        (row["arm"], row["over"]): row
        for row in results["gains"]
        if (row["benchmark"], row["metric"]) == ("embedded", "ndcg_at_10")
    }
    for (arm, over), row in gains.items():
        assert row["effect"]["value"] == pytest.approx(scores[arm] - scores[over], abs=2e-6)
    assert gains["r2", "r1"]["verdict"] == "better"
    assert gains["r1_difficulty", "r0"]["verdict"] == "worse"
    assert gains["odd", "r0"]["verdict"] == "open"
    assert gains["r1", "r0"]["over_is"] == "round 0, its predecessor"


@pytest.mark.parametrize(
    ("effect", "p", "word"),
    [
        pytest.param(0.2, 0.05, "open", id="at the limit nothing is claimed"),
        pytest.param(0.2, 0.049, "better", id="better"),
        pytest.param(-0.2, 0.001, "worse", id="worse"),
    ],
)
def test_verdict(effect: float, p: float, word: str) -> None:
    assert verdict(effect, p) == word


def test_paper_figures_stand_beside_arms_of_the_paper_on_sets_of_the_same_kind(results: dict[str, Any]) -> None:
    rows = {(row["name"], row["benchmark"], row["metric"]): row for row in results["paper"]}
    assert rows["r2", "embedded", "ndcg_at_1"]["paper"] == 0.558
    assert rows["r2", "embedded-long", "recall_at_10"]["paper"] == 0.919
    assert {name for name, _, _ in rows} == {"r0", "r1", "r2", "r1_difficulty", "r2_base"}
    assert "validation" not in {benchmark for _, benchmark, _ in rows}
    assert all("8B" in row["paper_setting"] and "cpu" in row["our_setting"] for row in rows.values())


def test_generators_say_what_was_trained_and_what_only_points(results: dict[str, Any]) -> None:
    rows = {row["arm"]: row for row in results["generators"]}
    assert rows["r1"]["status"] == "trained"
    assert rows["r1"]["reward_slope"] == 0.01
    assert rows["r1"]["bands"]["easy"] == 30
    assert rows["r2_base"]["status"] == "nothing trained: the same as artifacts/base/generator"
    assert "reward_slope" not in rows["r2_base"]


def test_reward_bands_are_noted_when_scaled_and_only_then(tree: Tree) -> None:
    scaled = build_results(tree.study(("r0",)))["reward"]
    assert scaled["scaled"]
    assert "1/8/60" in scaled["note"] and "5/30/100" in scaled["note"] and "1,500" in scaled["note"]
    assert build_results(tree.study(("r0",), reward=RewardSettings()))["reward"]["note"] == ""


def test_judge_keeps_its_rates_and_leaves_working_lists_out(results: dict[str, Any]) -> None:
    assert results["judge"]["encoder"]["false_accept_one_symbol"]["low"] == 0.12
    header, rows = judge_table(results["judge"])
    assert rows[0][0] == "encoder (in use)"
    assert dict(zip(header, rows[0], strict=True))["false accept one symbol"] == "0.210 [0.120, 0.330] (n 70)"


def test_any_judge_file_makes_a_table() -> None:
    header, rows = judge_table({"threshold": 0.5, "llm": {"rates": {"precision": 1.0}}, "list": [1]})
    assert (header, rows) == (["judge", "rates.precision", "threshold"], [["llm", "1", "—"], ["all", "—", "0.5"]])
    assert judge_table({}) == (["judge"], [])


def test_long_lists_of_the_judge_stay_out(results: dict[str, Any]) -> None:
    assert "scores" not in results["judge"]


def test_equal_files_give_equal_results_whatever_was_run_when(tree: Tree, results: dict[str, Any]) -> None:
    again = build_results(tree.study(runs=[]))
    assert json.dumps(again, sort_keys=True) == json.dumps(results, sort_keys=True)


def test_main_line_ends_at_the_final_retriever(tree: Tree, results: dict[str, Any]) -> None:
    assert main_line(results) == ["r1", "r2"]
    assert main_line(build_results(replace(tree.study(("r0",)), final="r0"))) == []


def test_headline_metrics_are_flat_finite_numbers(results: dict[str, Any]) -> None:
    flat = headline_metrics(results)
    assert flat["r2.embedded.ndcg_at_10"] > flat["r0.embedded.ndcg_at_10"]
    assert flat["gain.r2.r1.embedded.ndcg_at_10"] > 0
    assert flat["generator.r1.reward_slope"] == 0.01
    assert all(isinstance(value, float) for value in flat.values())


def test_missing_files_become_named_gaps_and_no_figures(own_tree: Callable[[], Tree]) -> None:
    tree = own_tree()
    files = tree.files("r1")
    assert files.generator and files.queries and files.audit and files.curve
    (files.generator / "history.json").unlink()
    (tree.files("r1_difficulty").rankings / "embedded.jsonl").unlink()
    for path in (files.queries, files.audit, files.curve, tree.files("r2_base").metrics, tree.root / "judge.json"):
        path.unlink()
    results = build_results(tree.study())
    gaps = " ".join(results["gaps"])
    for path in ("history.json", "r1.parquet", "audit/r1.json", "curve.json", "r2_base.json", "judge.json"):
        assert path in gaps
    assert results["judge"] is None
    assert "r1" not in results["queries"]
    assert [row["status"] for row in results["generators"] if row["arm"] == "r1"] == ["history missing"]
    assert [row["benchmarks"] for row in results["retrievers"] if row["name"] == "r2_base"] == [{}]
    compared = {(row["arm"], row["benchmark"]) for row in results["gains"]}
    assert ("r1_difficulty", "embedded") not in compared and ("r1_difficulty", "embedded-long") in compared
    assert not any(arm == "r2_base" for arm, _ in compared)


def test_damaged_file_and_no_scores_at_all_are_refused(own_tree: Callable[[], Tree]) -> None:
    tree = own_tree()
    tree.files("r1").metrics.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"r1\.json:1: not JSON"):
        tree.study()
    with pytest.raises(InputError, match="no scores to report"):
        tree.study(("absent",))
