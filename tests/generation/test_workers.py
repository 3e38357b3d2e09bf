"""Guards that several workers give what one gives. Alone: pytest tests/generation/test_workers.py"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd
import pytest
from pytest_socket import enable_socket

from lean_finder.errors import InputError
from lean_finder.generation.decoding import DecodingSettings
from lean_finder.generation.models import load_generator
from lean_finder.generation.prompts import prompt_frame, style_weights
from lean_finder.generation.sample import SamplingSettings, generate_queries
from lean_finder.generation.workers import ShardJob, fill_shards
from lean_finder.storage import read_table, write_table
from tests.generation.toy_library import OverlapRanker, PrefixJudge, style_queries

HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.fixture
def job(tiny_base: Path, declarations: pd.DataFrame, tmp_path: Path) -> ShardJob:
    tokenizer = load_generator(tiny_base, tiny_base).tokenizer
    prompts = prompt_frame(declarations, style_weights(style_queries()), tokenizer, 96, seed=2)
    write_table(tmp_path / "prompts.parquet", prompts)
    return ShardJob(
        generator=tiny_base,
        base=tiny_base,
        prompts=tmp_path / "prompts.parquet",
        settings=SamplingSettings(DecodingSettings(max_new_tokens=12), batch_size=4, shard_size=10),
        model="abc",
        seed=7,
        shard_dir=tmp_path / "shards",
        make_judge=PrefixJudge,
        make_ranker=OverlapRanker,
    )


def generated(job: ShardJob, shard_dir: Path, ranker: OverlapRanker) -> pd.DataFrame:
    """The final call over a shard folder."""
    kept, _, dropped = generate_queries(
        load_generator(job.generator, job.base),
        read_table(job.prompts),
        job.settings,
        arm="r1",
        model=job.model,
        seed=job.seed,
        judge=PrefixJudge(),
        ranker=ranker,
        shard_dir=shard_dir,
    )
    return pd.concat([kept, dropped], ignore_index=True)


@pytest.mark.parametrize(
    "backend",
    ["process", pytest.param("ray", marks=pytest.mark.skipif(not HAS_RAY, reason="the extra is not installed"))],
)
def test_two_workers_give_what_one_gives(job: ShardJob, tmp_path: Path, backend: str) -> None:
    enable_socket()  # the pool and Ray talk to their workers
    alone = generated(job, tmp_path / "alone", OverlapRanker())
    assert fill_shards(job, 2, backend) == 2  # type: ignore[arg-type]
    unused = OverlapRanker()
    assert generated(job, job.shard_dir, unused).equals(alone)
    assert unused.asked == 0  # every shard was found done
    assert fill_shards(job, 2, backend) == 0  # type: ignore[arg-type]


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_extra_is_named(job: ShardJob) -> None:
    with pytest.raises(InputError, match=r"lean-finder\[ray\]"):
        fill_shards(job, 2, "ray")
