"""Guards the search over settings: it resumes, prunes, shares a study and compares with the present settings.

Alone: pytest tests/test_tuning.py
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lean_finder.errors import InputError
from lean_finder.tuning import Dimension, Report, Setting, Study, best_trial, search, trials_of

SPACE = {
    "model.rate": Dimension(0.001, 1.0, log=True),
    "model.layers": Dimension(1, 8),
    "model.kind": Dimension(choices=("plain", "wide")),
}
PRESENT = {"model.rate": 0.01, "model.layers": 2, "model.kind": "plain"}


def study(folder: Path, trials: int = 6) -> Study:
    return Study("toy", folder / "studies.sqlite", SPACE, PRESENT, trials, seed=5)


def score(settings: Mapping[str, Setting]) -> list[float]:
    """Best at 8 layers, kind wide."""
    bonus = 1.0 if settings["model.kind"] == "wide" else 0.0
    return [float(settings["model.layers"]) + bonus, float(settings["model.layers"]) - bonus + 0.5 * bonus]


class Counted:
    """An objective that notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Setting]] = []

    def __call__(self, settings: Mapping[str, Setting], number: int, tell: Report) -> Sequence[float]:
        self.asked.append(settings)
        return score(settings)


def test_the_present_settings_come_first_and_the_best_is_found(tmp_path: Path) -> None:
    counted = Counted()
    search(study(tmp_path, 12), counted)
    trials = trials_of(study(tmp_path))
    assert len(counted.asked) == len(trials) == 12
    assert counted.asked[0] == PRESENT and trials[0].present and not any(trial.present for trial in trials[1:])
    assert all(isinstance(asked["model.layers"], int) and 1 <= asked["model.layers"] <= 8 for asked in counted.asked)
    best = best_trial(trials)
    assert best.value == max(sum(score(asked)) / 2 for asked in counted.asked) > sum(score(PRESENT)) / 2
    assert list(best.values) == score(best.settings)


def test_a_second_call_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    search(study(tmp_path, 4), first)
    search(study(tmp_path, 7), second)
    assert (len(first.asked), len(second.asked)) == (4, 3)
    assert PRESENT not in second.asked
    search(study(tmp_path, 7), second)
    assert len(second.asked) == 3


def test_a_trial_below_the_median_is_pruned_and_not_finished(tmp_path: Path) -> None:
    finished: list[int] = []

    def objective(settings: Mapping[str, Setting], number: int, tell: Report) -> Sequence[float]:
        for step in (1, 2, 3):
            tell(10.0 - number, step)  # every trial is worse than all before
        finished.append(number)
        return [10.0 - number]

    search(replace(study(tmp_path, 6), warm_trials=3), objective)
    trials = trials_of(study(tmp_path))
    assert [trial.state for trial in trials] == ["complete"] * 3 + ["pruned"] * 3
    assert finished == [0, 1, 2] and trials[4].value == 6.0 and trials[4].values == ()
    assert best_trial(trials).number == 0


def test_refused_settings_are_a_failed_trial_and_the_search_goes_on(tmp_path: Path) -> None:
    def objective(settings: Mapping[str, Setting], number: int, tell: Report) -> Sequence[float]:
        if number % 2:
            raise InputError("step 3", "loss nan", "lower the rate")
        return [1.0]

    search(study(tmp_path, 5), objective)
    trials = trials_of(study(tmp_path))
    assert [trial.state for trial in trials] == ["complete", "failed"] * 2 + ["complete"]
    assert "loss nan" in trials[1].error


def test_a_search_without_a_complete_trial_says_why(tmp_path: Path) -> None:
    def objective(settings: Mapping[str, Setting], number: int, tell: Report) -> Sequence[float]:
        raise InputError("step 3", "loss nan", "lower the rate")

    search(study(tmp_path, 2), objective)
    with pytest.raises(InputError, match=r"no trial was completed.*loss nan"):
        best_trial(trials_of(study(tmp_path)))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"space": {}}, "the space is empty"),
        ({"present": {**PRESENT, "model.rate": 3.0}}, "model.rate: its space lacks the present value 3.0"),
        ({"present": {**PRESENT, "model.kind": "odd"}}, "model.kind: its space lacks the present value 'odd'"),
    ],
)
def test_a_space_without_the_present_is_refused(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        search(replace(study(tmp_path), **change), Counted())


def test_a_file_that_is_no_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "studies.sqlite").write_text("this is not a database, but it is long enough to look at " * 20)
    with pytest.raises(InputError, match="not a file of studies"):
        search(study(tmp_path), Counted())


def _slow_worker(folder: Path, trials: int, number: int) -> None:
    def objective(settings: Mapping[str, Setting], trial: int, tell: Report) -> Sequence[float]:
        (folder / f"worker-{number}-trial-{trial}").touch()
        time.sleep(0.3)
        return score(settings)

    search(study(folder, trials), objective, number)


def test_two_processes_share_a_study_and_a_killed_one_is_made_up_for(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_slow_worker, args=(tmp_path, 8, number)) for number in (0, 1)]
    search(study(tmp_path, 1), Counted())  # the table exists before both ask for it
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 60
    while not any(tmp_path.glob("worker-1-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(workers[1].pid or 0, signal.SIGKILL)  # in the middle of a trial
    for worker in workers:
        worker.join(60)
    trials = trials_of(study(tmp_path))
    assert workers[0].exitcode == 0 and workers[1].exitcode == -signal.SIGKILL
    assert any(tmp_path.glob("worker-0-*")) and any(tmp_path.glob("worker-1-*"))
    assert len(trials) == 8 and {trial.state for trial in trials} == {"complete"}
    assert sum(trial.present for trial in trials) == 1
