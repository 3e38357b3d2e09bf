"""A search over settings: one Optuna study in an SQLite file, which any number of processes may work on at once.

A killed search goes on where it stood. The present settings are always the first trial, so that the winner is
compared with them on the very same queries.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.pruners import MedianPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from lean_finder.errors import InputError
from lean_finder.evaluation.statistics import bootstrap_means

logger = logging.getLogger(__name__)

Setting = bool | int | float | str
#: What `Report` raises when the trial is not worth going on.
Pruned = optuna.TrialPruned
#: Reports a preliminary value at a step; raises `Pruned`.
Report = Callable[[float, int], None]
#: Settings, the trial's number, `Report` -> one value per validation item (their mean is maximised).
Objective = Callable[[Mapping[str, Setting], int, Report], Sequence[float]]

_SQLITE = b"SQLite format 3"
_VALUES, _PRESENT, _ERROR = "values", "present", "error"


@dataclass(frozen=True)
class Dimension:
    """What one setting may be: a range (`low` to `high`, ends included), or one of `choices`.

    Attributes:
        low: least value.
        high: greatest value.
        log: draw the logarithm evenly.
        choices: the values to choose from; () = a range.
    """

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Setting, ...] = ()

    def holds(self, value: Setting) -> bool:
        """The value is one of those."""
        if self.choices:
            return value in self.choices
        return not isinstance(value, bool | str) and self.low <= value <= self.high


@dataclass(frozen=True)
class Study:
    """A search.

    Attributes:
        name: within the file; a search on other data or another space needs another name.
        file: the SQLite file; made if absent.
        space: dotted parameter -> what it may be.
        present: the settings that stand now, one for each parameter of `space`; whole numbers stay whole numbers.
        trials: finished trials at which the search ends, pruned and failed ones included.
        seed: of the sampler; worker n uses seed + n.
        warm_trials: trials before the first is pruned.
    """

    name: str
    file: Path
    space: Mapping[str, Dimension]
    present: Mapping[str, Setting]
    trials: int
    seed: int
    warm_trials: int = 3


@dataclass(frozen=True)
class Trial:
    """A trial that has ended.

    Attributes:
        number: in order of their start.
        state: complete, pruned or failed.
        value: mean of `values`; of a pruned trial the last preliminary value, None if there was none.
        values: one per validation item; () unless complete.
        settings: parameter -> value.
        present: these are the settings that stood when the search began.
        error: why it failed.
    """

    number: int
    state: str
    value: float | None
    values: tuple[float, ...]
    settings: Mapping[str, Setting]
    present: bool
    error: str


def search(study: Study, objective: Objective, worker: int = 0) -> None:
    """Work on a study until it has its trials; several processes may do so at the same time (each may then add one).

    Settings that the objective refuses with InputError are a failed trial, not the end.

    Raises:
        InputError: the space is empty, or the file is not a study.
    """
    opened = _open(study, worker)

    def run(trial: optuna.Trial) -> float:
        settings = {key: _suggest(trial, key, study) for key in study.space}

        def report(value: float, step: int) -> None:
            trial.report(value, step)
            if trial.should_prune():
                raise Pruned(f"{value:.4f} at step {step} is below the median")

        try:
            values = [float(value) for value in objective(settings, trial.number, report)]
        except InputError as error:
            trial.set_user_attr(_ERROR, str(error))
            raise
        trial.set_user_attr(_VALUES, values)
        return sum(values) / len(values)

    while len(_ended(opened)) < study.trials:
        opened.optimize(run, n_trials=1, catch=(InputError,))


def trials_of(study: Study) -> list[Trial]:
    """Every trial that has ended, in order."""
    return [_trial(item) for item in _ended(_open(study, 0))]


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The complete trial of the greatest value, of equals the earliest.

    Raises:
        InputError: none is complete.
    """
    complete = [trial for trial in trials if trial.state == "complete"]
    if not complete:
        reasons = "; ".join(sorted({trial.error for trial in trials if trial.error})) or "all were pruned"
        raise InputError("the search", f"no trial was completed: {reasons}", "look at the space in conf/config.yaml")
    return max(complete, key=lambda trial: (trial.value or 0.0, -trial.number))


def summarise(study: Study, trials: Sequence[Trial], seed: int) -> dict[str, Any]:
    """The best trial beside the present settings, with the paired difference on the same validation items.

    The best of many trials looks better than it is: the interval says what chance alone does to one difference.
    """
    best = best_trial(trials)
    present = next((trial for trial in trials if trial.present), None)
    summary: dict[str, Any] = {
        "study": study.name,
        "trials": [asdict(trial) for trial in trials],
        "best": {"number": best.number, "value": best.value, "settings": dict(best.settings)},
        "present": {"value": present.value if present else None, "settings": dict(study.present)},
        "difference": None,
    }
    if present is not None and present.values:
        gain = np.array(best.values) - np.array(present.values)
        [interval] = bootstrap_means(gain[:, None], [str(place) for place in range(len(gain))], seed=seed)
        summary["difference"] = interval.to_json() | {"items": len(gain)}
    return summary


def report(summary: Mapping[str, Any]) -> str:
    """The winner as a person applies it."""
    best, present = summary["best"], summary["present"]
    changed = {key: value for key, value in best["settings"].items() if value != present["settings"][key]}
    if not changed:
        return f"{len(summary['trials'])} trials: the present settings are the best ({best['value']:.4f})"
    lines = [f"{len(summary['trials'])} trials; best: number {best['number']}, {best['value']:.4f}"]
    difference = summary["difference"]
    if difference:
        lines[0] += (
            f"; over the present {present['value']:.4f}: {difference['value']:+.4f} "
            f"[{difference['low']:+.4f}, {difference['high']:+.4f}] on {difference['items']} validation items"
        )
    lines += [f"  {key}: {present['settings'][key]} -> {_short(value)}" for key, value in changed.items()]
    lines.append("apply: dvc exp run " + " ".join(f"-S {key}={_short(value)}" for key, value in changed.items()))
    return "\n".join(lines)


def _open(study: Study, worker: int) -> optuna.Study:
    if not study.space:
        raise InputError("tuning", "the space is empty", "name at least one parameter with what it may be")
    for key, wanted in study.space.items():
        if not wanted.holds(study.present[key]):
            raise InputError(f"tuning: {key}", f"its space lacks the present value {study.present[key]!r}", "widen it")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study.file.parent.mkdir(parents=True, exist_ok=True)
    if study.file.is_file() and not study.file.read_bytes()[:16].startswith(_SQLITE):
        raise InputError(study.file, "not a file of studies", "move it away")
    opened = optuna.create_study(
        study_name=study.name,
        # a second process waits for the file instead of failing
        storage=RDBStorage(f"sqlite:///{study.file}", engine_kwargs={"connect_args": {"timeout": 60}}),
        direction="maximize",
        load_if_exists=True,
        sampler=TPESampler(seed=study.seed + worker, n_startup_trials=5),
        pruner=MedianPruner(n_startup_trials=study.warm_trials),
    )
    opened.enqueue_trial(dict(study.present), user_attrs={_PRESENT: True}, skip_if_exists=True)
    return opened


def _suggest(trial: optuna.Trial, key: str, study: Study) -> Setting:
    wanted, present = study.space[key], study.present[key]
    if wanted.choices:
        return trial.suggest_categorical(key, list(wanted.choices))  # type: ignore[return-value]
    if isinstance(present, int):
        return trial.suggest_int(key, int(wanted.low), int(wanted.high), log=wanted.log)
    return trial.suggest_float(key, wanted.low, wanted.high, log=wanted.log)


def _ended(opened: optuna.Study) -> list[FrozenTrial]:
    """Complete, pruned and refused trials; one that died with its process is none of these and is made up for."""
    return [
        trial
        for trial in opened.get_trials(deepcopy=False)
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
        or (trial.state == TrialState.FAIL and _ERROR in trial.user_attrs)
    ]


def _trial(item: FrozenTrial) -> Trial:
    names = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
    preliminary: Any = list(item.intermediate_values.values())
    return Trial(
        number=item.number,
        state=names[item.state],
        value=item.value if item.state == TrialState.COMPLETE else (preliminary or [None])[-1],
        values=tuple(item.user_attrs.get(_VALUES, ())),
        settings=dict(item.params),
        present=bool(item.user_attrs.get(_PRESENT)),
        error=str(item.user_attrs.get(_ERROR, "")),
    )


def _short(value: Setting) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
