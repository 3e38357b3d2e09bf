"""Guards threshold and error rates of judges. Alone: pytest tests/judging/test_calibration.py"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lean_finder.errors import InputError
from lean_finder.judging.calibration import best_threshold, calibrate, measure, threshold_table
from lean_finder.judging.consistency import Verdict
from lean_finder.records import JudgedPair


def labelled(n: int = 60) -> list[JudgedPair]:
    """Three pairs per declaration: consistent, a one-symbol neighbour, another declaration's query."""
    rows = []
    for index in range(n):
        name = f"Lib.t{index}"
        rows.append(JudgedPair(f"{index} same", name, True, "", "same"))
        rows.append(JudgedPair(f"{index} near", name, False, f"Lib.t{index}'", "one_symbol"))
        rows.append(JudgedPair(f"{index} far", name, False, "Lib.other", "other"))
    return rows


def scores_by_kind(same: float, near: float, far: float, spread: float = 0.05):
    """A scoring judge: the given means plus noise that is fixed by the query."""

    def score(queries: Sequence[str], declarations: Sequence[str]) -> np.ndarray:
        means = {"same": same, "near": near, "far": far}
        return np.array(
            [
                means[query.split()[1]] + spread * np.random.default_rng(int(query.split()[0])).standard_normal()
                for query in queries
            ]
        )

    return score


def test_best_threshold_maximises_f1_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        scores, labels = rng.integers(0, 8, 20) / 8, rng.random(20) < 0.4
        labels[0] = True

        def f1(threshold: float, scores: np.ndarray = scores, labels: np.ndarray = labels) -> float:
            accepted = scores >= threshold
            return 2 * (accepted & labels).sum() / (accepted.sum() + labels.sum())

        found = best_threshold(scores, labels)
        assert f1(found) == pytest.approx(max(f1(cut) for cut in np.arange(-0.01, 1.02, 0.01)))
        assert found not in scores  # between two scores, not on one


def test_a_small_beta_prefers_precision() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    labels = np.array([True, False, True, True, False])
    assert best_threshold(scores, labels, beta=0.2) > 0.8 > best_threshold(scores, labels, beta=1.0)


def test_a_separating_judge_makes_no_error() -> None:
    report = calibrate(labelled(), scores_by_kind(0.9, 0.3, 0.1, 0.02), folds=5, seed=1)
    assert report.precision.value == report.recall.value == report.f1.value == report.auc == 1.0
    assert report.false_accept_one_symbol.value == report.false_accept_other.value == 0.0
    assert report.threshold is not None and 0.4 < report.threshold < 0.85
    assert (report.pairs, report.recall.n, report.false_accept_other.n) == (180, 60, 60)


def test_a_judge_blind_to_one_symbol_is_found_out() -> None:
    report = calibrate(labelled(), scores_by_kind(0.8, 0.8, 0.1, 0.05), folds=5, seed=1)
    assert report.false_accept_one_symbol.value > 0.9 and report.false_accept_other.value == 0.0
    assert report.precision.value == pytest.approx(0.5, abs=0.05)
    assert report.precision.low <= report.precision.value <= report.precision.high
    assert report.as_dict()["false_accept_one_symbol"]["n"] == 60


def test_equal_seeds_give_equal_reports() -> None:
    first, again = (calibrate(labelled(), scores_by_kind(0.6, 0.5, 0.3, 0.2), folds=4, seed=3) for _ in range(2))
    assert first == again
    assert first != calibrate(labelled(), scores_by_kind(0.6, 0.5, 0.3, 0.2), folds=4, seed=4)


def test_rates_are_of_held_out_declarations() -> None:
    """Scores without any signal: with a threshold fitted in-sample, F1 could only be at least that of accepting all."""
    report = calibrate(labelled(20), scores_by_kind(0.5, 0.5, 0.5, 0.3), folds=5, seed=1)
    everything = 2 * 20 / (60 + 20)
    assert report.f1.value <= everything


def test_verdicts_are_measured_and_failures_left_out() -> None:
    pairs = labelled(10)
    verdicts: list[Verdict | None] = [Verdict(pair.contrast != "other", 1.0) for pair in pairs]
    verdicts[0] = None
    report = measure(pairs, verdicts, seed=1)
    assert (report.pairs, report.failed, report.threshold, report.auc) == (29, 1, None, None)
    assert report.recall.value == 1.0 and report.precision.value == pytest.approx(9 / 19)
    assert report.false_accept_one_symbol.value == 1.0 and report.false_accept_other.value == 0.0


def test_other_thresholds_trade_recall_for_precision() -> None:
    pairs = labelled()
    scores = scores_by_kind(0.7, 0.6, 0.2)([pair.query for pair in pairs], [])
    rows = threshold_table(pairs, scores, np.array([0.1, 0.5, 0.9, np.nan]), [0.0, 0.55, 2.0])
    assert [row["recall"] for row in rows] == pytest.approx([1.0, 1.0, 0.0], abs=0.02)
    assert [row["kept"] for row in rows] == pytest.approx([1.0, 1 / 3, 0.0])
    assert rows[0]["precision"] == pytest.approx(1 / 3) and rows[2]["precision"] == 1.0


def test_unusable_labels_are_refused() -> None:
    only = [pair for pair in labelled(8) if pair.consistent]
    with pytest.raises(InputError, match="consistent and inconsistent"):
        calibrate(only, scores_by_kind(1, 0, 0), folds=2, seed=1)
    with pytest.raises(InputError, match="folds"):
        calibrate(labelled(3), scores_by_kind(1, 0, 0), folds=5, seed=1)
