"""Guards sampling for a corpus: shards, resuming, filters, counts. Alone: pytest tests/generation/test_sample.py"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from lean_finder.errors import InputError
from lean_finder.generation.decoding import DecodingSettings
from lean_finder.generation.models import Generator, load_generator
from lean_finder.generation.prompts import prompt_frame, style_weights
from lean_finder.generation.sample import (
    DROP_REASONS,
    EXTRA_COLUMNS,
    SamplingSettings,
    filter_samples,
    generate_queries,
    name_inside,
    sample_shard,
    shard_path,
)
from lean_finder.records import Pair, columns
from tests.generation.toy_library import OverlapRanker, PrefixJudge, style_queries

SETTINGS = SamplingSettings(DecodingSettings(max_new_tokens=24), samples=3, keep=2, batch_size=4, shard_size=8)


@pytest.fixture
def generator(tiny_base: Path) -> Generator:
    return load_generator(tiny_base, tiny_base)


@pytest.fixture
def prompts(generator: Generator, declarations: pd.DataFrame) -> pd.DataFrame:
    return prompt_frame(declarations, style_weights(style_queries()), generator.tokenizer, 96, seed=2)


def run(
    generator: Generator, prompts: pd.DataFrame, shard_dir: Path, ranker: OverlapRanker | None = None, **options: object
):
    settings = replace(SETTINGS, **options)  # type: ignore[arg-type]
    return generate_queries(
        generator,
        prompts,
        settings,
        arm="r1",
        model="abc",
        seed=7,
        judge=PrefixJudge(),
        ranker=ranker or OverlapRanker(),
        shard_dir=shard_dir,
    )


def test_rows_carry_the_contract_and_counts_add_up(generator: Generator, prompts: pd.DataFrame, tmp_path: Path) -> None:
    kept, counts, dropped = run(generator, prompts, tmp_path)
    assert list(kept.columns) == [*columns(Pair), *EXTRA_COLUMNS]
    assert counts["sampled"] == 60 == counts["kept"] + sum(counts[reason] for reason in DROP_REASONS)
    assert counts["kept"] == len(kept) > 0 and len(dropped) == 60 - len(kept)
    assert set(kept["arm"]) == {"r1"} and set(kept["source"]) == {"generated"} and kept["query_id"].is_unique
    ranks = OverlapRanker().ranks(kept["query"].tolist(), kept["declaration"].tolist())
    assert kept["rank_prev"].tolist() == ranks
    assert kept.groupby("declaration").size().max() <= 2
    assert (kept["style"] == kept["declaration"].map(prompts.set_index("declaration")["style"])).all()


def test_queries_depend_on_seed_and_declaration_alone(
    generator: Generator, prompts: pd.DataFrame, tmp_path: Path
) -> None:
    whole = sample_shard(generator, prompts, SETTINGS, seed=7)
    for other in (replace(SETTINGS, batch_size=7), replace(SETTINGS, batch_size=1)):
        assert sample_shard(generator, prompts, other, seed=7).equals(whole)
    shuffled = prompts.sample(frac=1, random_state=1)
    again = sample_shard(generator, shuffled, SETTINGS, seed=7)
    order = ["declaration", "sample"]
    assert again.sort_values(order, ignore_index=True).equals(whole.sort_values(order, ignore_index=True))
    assert not sample_shard(generator, prompts, SETTINGS, seed=8)["query"].equals(whole["query"])


def test_shards_of_any_size_give_the_same_queries(generator: Generator, prompts: pd.DataFrame, tmp_path: Path) -> None:
    first, _, _ = run(generator, prompts, tmp_path / "a", shard_size=8)
    second, _, _ = run(generator, prompts, tmp_path / "b", shard_size=20)
    assert first.equals(second)


def test_finished_shards_are_not_made_again(generator: Generator, prompts: pd.DataFrame, tmp_path: Path) -> None:
    whole, _, _ = run(generator, prompts, tmp_path)
    shard_path(tmp_path, 1).unlink()
    ranker = OverlapRanker()
    again, _, _ = run(generator, prompts, tmp_path, ranker)
    assert again.equals(whole) and 0 < ranker.asked <= 8 * 3
    other = OverlapRanker()
    run(generator, prompts.iloc[::-1], tmp_path, other)  # other inputs: nothing may be reused
    assert other.asked > 24


def samples(**columns_: list[object]) -> pd.DataFrame:
    """Rows as `complete_shard` makes them, all of one declaration."""
    n = len(next(iter(columns_.values())))
    base = {
        "declaration": ["Real.continuous_exp"] * n,
        "style": ["slogan"] * n,
        "sample": list(range(n)),
        "query": [f"query {i}" for i in range(n)],
        "n_tokens": [3] * n,
        "finished": [True] * n,
        "consistent": [True] * n,
        "judge_score": [0.9] * n,
        "judge_failed": [False] * n,
        "rank_prev": [7] * n,
    }
    return pd.DataFrame(base | columns_)


def test_each_reason_drops_and_is_counted() -> None:
    frame = samples(
        query=["", "too long", "is Real.continuous_exp here", "Exp", "exp", "fails", "off target", "good", "better"],
        finished=[False, False, True, True, True, True, True, True, True],
        judge_failed=[False] * 5 + [True] + [False] * 3,
        consistent=[False, False, True, True, True, False, False, True, True],
    )
    kept, counts, dropped = filter_samples(frame, SETTINGS, arm="r1", model="m")
    assert kept["query"].tolist() == ["Exp", "good"]
    expected = dict.fromkeys(DROP_REASONS, 1)
    assert counts == {"sampled": 9, "kept": 2, **expected}
    assert dropped["reason"].tolist() == list(DROP_REASONS)


def test_an_arm_without_judge_keeps_the_inconsistent() -> None:
    frame = samples(consistent=[False, False])
    kept, _, _ = filter_samples(frame, replace(SETTINGS, require_consistent=False), arm="r1", model="m")
    assert len(kept) == 2


@pytest.mark.parametrize(
    ("name", "query", "inside"),
    [
        ("Nat.add_comm", "use nat.add_comm here", True),
        ("Nat.add_comm", "add_comm for naturals", True),
        ("Nat.add_comm", "my_add_comm_lemma", False),
        ("Nat.add_comm", "addition commutes", False),
        ("Nat.add", "add two numbers", False),
        ("Nat.add", "what is Nat.add", True),
        ("Nat.add", "what is Nat.add_zero", False),
        ("Set.subsetUnion", "subsetUnion", True),
    ],
)
def test_name_inside(name: str, query: str, inside: bool) -> None:
    assert name_inside(name, query) is inside


def test_no_prompts_are_refused(generator: Generator, prompts: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no declarations"):
        run(generator, prompts.iloc[:0], tmp_path)
