"""Everything a report is made of, read once. A missing file becomes a named gap; a damaged one stops the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from lean_finder.errors import InputError
from lean_finder.evaluation.evaluate import load_rankings
from lean_finder.generation.reward import RewardSettings
from lean_finder.records import BenchmarkQuery, Pair, Ranking, columns
from lean_finder.storage import read_json, read_table

T = TypeVar("T")


@dataclass(frozen=True)
class RetrieverFiles:
    """Where one row of the results keeps its files. None = it has no such file by its nature.

    Attributes:
        name: bm25, base, r0 or an arm.
        about: what a baseline or r0 is, in a few words; "" for an arm.
        metrics: JSON of its scores.
        rankings: folder with one JSONL a benchmark.
        prev: whose retriever scored the arm's generator; "" if it is no arm.
        reward: both, difficulty or consistency; "" if it is no arm.
        generator_kind: rl, base, sft or reuse; "" if it is no arm.
        curve: training curve of the retriever.
        generator: folder of the arm's generator, with its `history.json` or a pointer `same_as.json`.
        supervised: curve of the supervised start (r0).
        queries: the pairs that it trained on.
        dropped: the rows left out, with a column `reason`.
        audit: verdict of the gate.
        data_docs: folder of the gate's HTML pages.
    """

    name: str
    about: str
    metrics: Path
    rankings: Path
    prev: str = ""
    reward: str = ""
    generator_kind: str = ""
    curve: Path | None = None
    generator: Path | None = None
    supervised: Path | None = None
    queries: Path | None = None
    dropped: Path | None = None
    audit: Path | None = None
    data_docs: Path | None = None


@dataclass(frozen=True)
class StageRecord:
    """One finished stage execution as the tracker knows it.

    Attributes:
        name: stage, or stage@arm.
        started: UTC, ISO 8601 to the second.
        seconds: duration; None if the run did not log it.
        commit: Git hash that was checked out.
        dirty: tracked files differed from that commit.
        run_id: of the tracker.
    """

    name: str
    started: str
    seconds: float | None
    commit: str
    dirty: bool
    run_id: str


@dataclass(frozen=True)
class Retriever:
    """One row of the results with everything that was found about it; empty or None where a file is missing.

    `uncertified` says why no audit vouches for the scores; "" where one does, or where nothing was trained.
    """

    files: RetrieverFiles
    metrics: dict[str, Any]
    rankings: dict[str, list[Ranking]]
    curve: list[dict[str, float]]
    supervised: list[dict[str, float]]
    history: dict[str, Any]
    same_as: str
    queries: pd.DataFrame | None
    dropped: pd.DataFrame | None
    audit: dict[str, Any] | None
    uncertified: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.files.name

    @property
    def is_arm(self) -> bool:
        """Whether a generator stands behind it."""
        return bool(self.files.prev)


@dataclass(frozen=True)
class Study:
    """One execution of the pipeline as the report sees it.

    Attributes:
        scale: name of the parameter set.
        seed: of every bootstrap and randomisation.
        final: the retriever that a user gets.
        params: all parameters, nested.
        models: role -> name of the base model.
        reward: constants of the reward; `mode` is the arm's own and not used.
        benchmarks: test sets by name, in their order; what else was scored counts as validation.
        style: real short queries, columns of `records.StyleQuery`.
        retrievers: in the order of the table.
        extraction: of the corpus, or None.
        judge: its calibration, or None.
        runs: stage executions.
        gaps: what is missing, in words.
    """

    scale: str
    seed: int
    final: str
    params: Mapping[str, Any]
    models: Mapping[str, str]
    reward: RewardSettings
    benchmarks: Mapping[str, Sequence[BenchmarkQuery]]
    style: pd.DataFrame
    retrievers: list[Retriever]
    extraction: dict[str, Any] | None
    judge: dict[str, Any] | None
    runs: Sequence[StageRecord] = ()
    gaps: list[str] = field(default_factory=list)

    @property
    def arms(self) -> list[Retriever]:
        """The rows that have a generator."""
        return [item for item in self.retrievers if item.is_arm]


def read_study(
    files: Sequence[RetrieverFiles],
    *,
    extraction: Path,
    judge: Path,
    benchmarks: Mapping[str, Sequence[BenchmarkQuery]],
    style: pd.DataFrame,
    params: Mapping[str, Any],
    models: Mapping[str, str],
    reward: RewardSettings,
    runs: Sequence[StageRecord] = (),
) -> Study:
    """Read every file that is there.

    Raises:
        InputError: a damaged file, or no scores at all.
    """
    gaps: list[str] = []
    retrievers = [_read_retriever(item, gaps) for item in files]
    if not any(item.metrics for item in retrievers):
        raise InputError(files[0].metrics.parent if files else "metrics", "no scores to report", "run: dvc repro")
    found = _optional(extraction, read_json, "corpus counts", gaps)
    calibration = _optional(judge, read_json, "judge's error rates", gaps)
    if not runs:
        gaps.append("times: the tracking store has no finished run of this checkout")
    return Study(
        scale=str(params["scale"]),
        seed=int(params["seed"]),
        final=str(params["final"]),
        params=params,
        models=models,
        reward=reward,
        benchmarks=benchmarks,
        style=style,
        retrievers=retrievers,
        extraction=found,
        judge=calibration,
        runs=runs,
        gaps=gaps,
    )


def _uncertified(scores: Mapping[str, Any]) -> str:
    standing = scores.get("certificate", {})
    return str(standing["reason"]) if standing.get("status") == "uncertified" else ""


def _read_retriever(files: RetrieverFiles, gaps: list[str]) -> Retriever:
    name = files.name
    scores = _optional(files.metrics, read_json, f"scores of {name}", gaps) or {}
    rankings: dict[str, list[Ranking]] = {}
    for benchmark in scores.get("benchmarks", {}):
        path = files.rankings / f"{benchmark}.jsonl"
        rows = _optional(path, load_rankings, f"rankings of {name} on {benchmark}", gaps)
        if rows is not None:
            rankings[benchmark] = rows
    history, same_as = _generator(files, gaps)
    return Retriever(
        files=files,
        metrics=scores.get("benchmarks", {}),
        uncertified=_uncertified(scores),
        rankings=rankings,
        curve=_optional(files.curve, read_json, f"training curve of {name}", gaps) or [],
        supervised=_optional(files.supervised, read_json, "curve of the supervised start", gaps) or [],
        history=history,
        same_as=same_as,
        queries=_optional(files.queries, _pairs, f"queries of {name}", gaps),
        dropped=_optional(files.dropped, _dropped, f"queries left out of {name}", gaps),
        audit=_optional(files.audit, read_json, f"audit of {name}", gaps),
    )


def _generator(files: RetrieverFiles, gaps: list[str]) -> tuple[dict[str, Any], str]:
    """History of an arm's generator, and the folder that it points to if it trained nothing."""
    if files.generator is None:
        return {}, ""
    pointer = files.generator / "same_as.json"
    if pointer.is_file():
        return {}, str(read_json(pointer)["same_as"])
    return _optional(
        files.generator / "history.json", read_json, f"history of {files.name}'s generator", gaps
    ) or {}, ""


def _pairs(path: Path) -> pd.DataFrame:
    return read_table(path, columns(Pair))


def _dropped(path: Path) -> pd.DataFrame:
    return read_table(path, ("query", "declaration"))


def _optional(path: Path | None, read: Callable[[Path], T], what: str, gaps: list[str]) -> T | None:
    """The file's content; None and a gap in words if it is not there, None alone if there is none by nature."""
    if path is None:
        return None
    if not path.is_file():
        gaps.append(f"{what}: {path.as_posix()} is missing")
        return None
    return read(path)
