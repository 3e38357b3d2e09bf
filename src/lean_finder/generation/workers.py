"""Shards of a corpus's queries by several workers: processes of this machine, or Ray over many machines.

A worker writes finished shards where `sample.generate_queries` looks for them, so whoever computed a shard, the final
call gives the same rows. On several machines the shard folder has to be one that all of them see.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from lean_finder.errors import InputError
from lean_finder.generation.models import load_generator
from lean_finder.generation.reward import Ranker
from lean_finder.generation.sample import SamplingSettings, complete_shard, open_shards, shard_path
from lean_finder.judging.consistency import Judge
from lean_finder.storage import read_table, write_table

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShardJob:
    """Everything a worker needs, by paths and picklable makers: models are loaded in the worker.

    Attributes:
        generator: the arm's generator folder.
        base: complete model below an adapter.
        prompts: Parquet of `prompts.prompt_frame`.
        settings: how to sample.
        model: digest of the generator, as for `sample.generate_queries`.
        seed: as there.
        shard_dir: where finished shards go.
        make_judge: makes the judge.
        make_ranker: makes the previous retriever's ranker.
    """

    generator: Path
    base: Path
    prompts: Path
    settings: SamplingSettings
    model: str
    seed: int
    shard_dir: Path
    make_judge: Callable[[], Judge]
    make_ranker: Callable[[], Ranker]


class ShardWorker:
    """Loads the models once and completes any number of shards."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._generator = load_generator(job.generator, job.base)
        self._prompts = read_table(job.prompts, ["declaration", "style", "prompt"])
        self._judge = job.make_judge()
        self._ranker = job.make_ranker()

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the shard `row["shard"]`; the row comes back with the number of its samples."""
        job, number = self._job, int(row["shard"])
        start = number * job.settings.shard_size
        rows = self._prompts.iloc[start : start + job.settings.shard_size]
        frame = complete_shard(self._generator, rows, job.settings, job.seed, self._judge, self._ranker)
        write_table(shard_path(job.shard_dir, number), frame)
        return {"shard": number, "samples": len(frame)}


def fill_shards(job: ShardJob, workers: int, backend: Literal["process", "ray"] = "process") -> int:
    """Complete every missing shard with several workers; returns how many were missing.

    Afterwards call `sample.generate_queries` with the same arguments: it finds all shards done.

    Raises:
        InputError: the backend is "ray" and Ray is not installed.
    """
    prompts = read_table(job.prompts, ["declaration", "style", "prompt"])
    open_shards(job.shard_dir, prompts, job.settings, job.model, job.seed)
    n_shards = -(-len(prompts) // job.settings.shard_size)
    missing = [number for number in range(n_shards) if not shard_path(job.shard_dir, number).is_file()]
    if missing:
        {"process": _by_processes, "ray": _by_ray}[backend](job, missing, workers)
    return len(missing)


_worker: ShardWorker | None = None


def _start_worker(job: ShardJob) -> None:
    """Runs once in every process of the pool."""
    global _worker
    _worker = ShardWorker(job)


def _complete(number: int) -> int:
    if _worker is None:
        raise RuntimeError("the pool's initializer did not run")
    return int(_worker({"shard": number})["samples"])


def _by_processes(job: ShardJob, missing: Sequence[int], workers: int) -> None:
    context = multiprocessing.get_context("spawn")  # forking a process that has run torch may deadlock
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(job,)) as pool:
        done = pool.map(_complete, missing)
        samples = sum(tqdm(done, total=len(missing), desc="shards", unit="shard"))
    logger.info("%d shards, %d samples by %d processes", len(missing), samples, workers)


def _by_ray(job: ShardJob, missing: Sequence[int], workers: int) -> None:
    try:
        # an extra of its own: only runs over many machines need it
        import ray.data  # noqa: PLC0415
    except ImportError as error:
        raise InputError("Ray", "is not installed", "pip install 'lean-finder[ray]'") from error
    shards = ray.data.from_items([{"shard": number} for number in missing])
    rows = shards.map(ShardWorker, fn_constructor_args=(job,), concurrency=workers).take_all()
    logger.info("%d shards, %d samples by Ray", len(rows), sum(row["samples"] for row in rows))
