"""Guards the supervised start and GRPO: they learn, repeat and resume.

Alone: pytest tests/generation/test_training.py
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from lean_finder.errors import InputError
from lean_finder.generation.collapse import CollapseSettings, CollapseWatch
from lean_finder.generation.decoding import DecodingSettings
from lean_finder.generation.grpo import FadingSftTrainer, GrpoSettings, prompt_order, train_generator
from lean_finder.generation.models import LoraSettings, load_generator
from lean_finder.generation.probe import ProbeSettings
from lean_finder.generation.prompts import prompt_frame, style_pair_frame, style_weights
from lean_finder.generation.reward import RankReward, RewardSettings
from lean_finder.generation.sft import SftSettings, learning_rate_share, supervised_start
from lean_finder.judging.consistency import Verdict
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import file_digest, read_json
from tests.generation.toy_library import OverlapRanker, PrefixJudge, library, style_queries

SFT = SftSettings(seed=1, steps=40, batch_size=8, learning_rate=1e-2, lora=LoraSettings(rank=8))
GRPO = GrpoSettings(
    seed=1,
    steps=4,
    prompts_per_step=2,
    group_size=4,
    gradient_accumulation=2,
    learning_rate=2e-3,
    beta=0.01,
    decoding=DecodingSettings(max_new_tokens=10),
    sft_start=0.4,
    sft_end=0.0,
    sft_batch_size=4,
    probe=ProbeSettings(every=2, declarations=5, samples=2, decoding=DecodingSettings(max_new_tokens=10)),
    checkpoint_every=2,
)


class Task:
    """Prompts, style pairs and reward over the toy library; `run` trains from the supervised start."""

    def __init__(self, base: Path, start: Path, declarations: pd.DataFrame) -> None:
        self.base, self.start = base, start
        tokenizer = load_generator(base, base).tokenizer
        self.prompts = prompt_frame(declarations, style_weights(style_queries()), tokenizer, 96, seed=2)
        self.pairs = style_pair_frame(style_queries(), declarations, tokenizer, 96)
        settings = RewardSettings(easy_rank=2, full_rank=8, lost_rank=19)
        end = load_generator(base, base).end_token_ids
        self.reward = RankReward(OverlapRanker(), PrefixJudge(), settings, end)

    def run(self, settings: GrpoSettings, out: Path, **options: object) -> dict[str, object]:
        rows: list[int] = []
        log = options.pop("log", lambda row, step: rows.append(step))
        return train_generator(
            self.start,
            self.base,
            self.prompts,
            self.pairs,
            self.reward,
            settings,
            out,
            log,
            **options,  # type: ignore[arg-type]
        )


@pytest.fixture(scope="module")
def start(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The supervised start on the tiny base."""
    out = tmp_path_factory.mktemp("start") / "r0"
    tokenizer = load_generator(tiny_base, tiny_base).tokenizer
    pairs = style_pair_frame(style_queries(), to_frame(Declaration, library()), tokenizer, 96)
    summary = supervised_start(tiny_base, pairs, SFT, out, lambda row, step: None)
    assert summary["last_loss"] < 0.6 * summary["first_loss"]
    return out


@pytest.fixture
def task(tiny_base: Path, start: Path, declarations: pd.DataFrame) -> Task:
    return Task(tiny_base, start, declarations)


def test_supervised_start_repeats_bit_for_bit(tiny_base: Path, start: Path, task: Task, tmp_path: Path) -> None:
    steps: list[int] = []
    supervised_start(tiny_base, task.pairs, SFT, tmp_path / "again", lambda row, step: steps.append(step))
    assert file_digest(tmp_path / "again") == file_digest(start)
    assert steps == list(range(1, 41))


def test_supervised_start_may_train_all_weights(tiny_base: Path, task: Task, tmp_path: Path) -> None:
    settings = replace(SFT, steps=3, lora=None)
    supervised_start(tiny_base, task.pairs, settings, tmp_path / "full", lambda row, step: None)
    assert not (tmp_path / "full" / "adapter_config.json").exists()
    load_generator(tmp_path / "full", tmp_path / "full")


class KilledError(Exception):
    """Stands for a SIGKILL: nothing after it runs."""


def killed_after(step: int):
    def log(row: object, now: int) -> None:
        if now == step:
            raise KilledError

    return log


def test_grpo_records_every_part_and_resumes_to_the_same_bits(task: Task, tmp_path: Path) -> None:
    seen: list[dict[str, float]] = []
    summary = task.run(GRPO, tmp_path / "whole", log=lambda row, step: seen.append(dict(row)))
    history = read_json(tmp_path / "whole" / "history.json")
    curve = pd.read_csv(tmp_path / "whole" / "curve.csv")
    assert history["steps"] == seen and len(curve) == summary["steps"] == 4
    wanted = {"reward", "part_consistency", "part_difficulty", "part_length", "kl", "entropy", "sft_weight", "sft_loss"}
    assert wanted | {"ranks_easy", "ranks_rising", "ranks_full", "ranks_lost"} <= set(curve.columns)
    assert (curve[["ranks_easy", "ranks_rising", "ranks_full", "ranks_lost", "count_empty"]].sum(axis=1) == 8).all()
    assert curve["sft_weight"].tolist() == pytest.approx([0.4, 0.4 * 2 / 3, 0.4 / 3, 0.0])
    before, _, after = history["probes"]
    assert [probe["step"] for probe in history["probes"]] == [0, 2, 4]
    named = [[sample["declaration"] for sample in probe["samples"]] for probe in (before, after)]
    assert named[0] == named[1] and len(named[0]) == 10 and len(set(named[0])) == 5
    assert before["samples"] != after["samples"]  # only the weights differ, and they moved
    assert curve["kl"].iloc[0] == pytest.approx(0, abs=1e-6) and curve["kl"].iloc[-1] > 0

    checkpoints = tmp_path / "checkpoints"
    with pytest.raises(KilledError):
        task.run(GRPO, tmp_path / "cut", log=killed_after(3), checkpoints=checkpoints)
    assert [path.name for path in checkpoints.glob("step-*")] == ["step-000002"]
    assert not (tmp_path / "cut").exists()
    steps: list[int] = []
    task.run(GRPO, tmp_path / "cut", log=lambda row, step: steps.append(step), checkpoints=checkpoints)
    assert steps == [3, 4] and not checkpoints.exists()
    assert file_digest(tmp_path / "cut") == file_digest(tmp_path / "whole") != file_digest(task.start)


def test_a_probe_changes_nothing_that_is_trained(task: Task, tmp_path: Path) -> None:
    task.run(GRPO, tmp_path / "probed")
    task.run(replace(GRPO, probe=None), tmp_path / "plain")
    weights = [file_digest(tmp_path / name / "adapter_model.safetensors") for name in ("probed", "plain")]
    assert weights[0] == weights[1]
    assert read_json(tmp_path / "plain" / "history.json")["probes"] == []


def test_resuming_from_the_bare_base_keeps_its_reference(task: Task, tmp_path: Path) -> None:
    task.start = task.base
    task.run(GRPO, tmp_path / "whole")
    with pytest.raises(KilledError):
        task.run(GRPO, tmp_path / "cut", log=killed_after(3), checkpoints=tmp_path / "checkpoints")
    task.run(GRPO, tmp_path / "cut", checkpoints=tmp_path / "checkpoints")
    assert file_digest(tmp_path / "cut") == file_digest(tmp_path / "whole")


def test_checkpoint_of_other_inputs_is_discarded(task: Task, tmp_path: Path) -> None:
    one = replace(GRPO, steps=3, checkpoint_every=1)
    for digest in ("retriever 0", "retriever 1"):  # the second run must not continue the first
        steps: list[int] = []

        def log(row: object, step: int, into: list[int] = steps) -> None:
            into.append(step)
            if step == 2:
                raise KilledError

        with pytest.raises(KilledError):
            task.run(one, tmp_path / "a", log=log, checkpoints=tmp_path / "checkpoints", inputs_digest=digest)
        assert steps == [1, 2]


def test_shared_prompts_give_trl_s_own_loss(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_step = replace(GRPO, seed=3, steps=1, group_size=8, sft_start=0.0, checkpoint_every=0)
    task.reward.settings = replace(task.reward.settings, mode="difficulty")
    results = {}
    for share in (True, False):
        gradients: list[float] = []
        original = FadingSftTrainer._compute_loss

        def spy(self: FadingSftTrainer, model: object, inputs: object, _original=original, _into=gradients):
            loss = _original(self, model, inputs)
            _into.append(loss.item())
            return loss

        monkeypatch.setattr(FadingSftTrainer, "_compute_loss", spy)
        task.run(replace(one_step, share_prompts=share), tmp_path / str(share))
        monkeypatch.setattr(FadingSftTrainer, "_compute_loss", original)
        history = read_json(tmp_path / str(share) / "history.json")["steps"][0]
        results[share] = (gradients, history["grad_norm"], history["entropy"])
    assert results[True][0] == pytest.approx(results[False][0], abs=1e-4)
    assert results[True][1:] == pytest.approx(results[False][1:], rel=1e-3)
    assert results[True][1] > 0


def test_the_policy_moves_towards_what_is_rewarded(task: Task, tmp_path: Path) -> None:
    class WantsMonotone(PrefixJudge):
        def judge(self, queries: list[str], declarations: list[str]):  # type: ignore[override]
            return [Verdict("monotone" in query.lower(), 1.0) for query in queries]

    task.reward.judge = WantsMonotone()
    task.reward.settings = replace(task.reward.settings, mode="consistency")
    settings = replace(GRPO, steps=20, prompts_per_step=4, group_size=8, gradient_accumulation=1, beta=0.0)
    settings = replace(settings, learning_rate=1e-2, sft_start=0.0, checkpoint_every=0)
    summary = task.run(settings, tmp_path / "learned")
    assert summary["reward_last"] > summary["reward_first"] + 0.2  # type: ignore[operator]
    assert summary["reward_slope"] > 0  # type: ignore[operator]


def test_collapse_stops_the_run_with_its_reason(task: Task, tmp_path: Path) -> None:
    settings = replace(GRPO, collapse=CollapseSettings(entropy_floor=100.0, patience=2))
    summary = task.run(settings, tmp_path / "collapsed")
    assert summary["steps"] == 2 and "entropy" in str(summary["stopped"])


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"entropy": 0.01, "count_queries": 8}, "entropy"),
        ({"entropy": 2.0, "frac_reward_zero_std": 1.0, "count_queries": 8}, "equal rewards"),
        ({"entropy": 2.0, "count_queries": 8, "count_empty": 7}, "empty"),
        ({"entropy": 2.0, "count_queries": 8, "count_repeated": 7}, "repeated"),
    ],
)
def test_each_kind_of_collapse_needs_patience(row: dict[str, float], word: str) -> None:
    watch = CollapseWatch(CollapseSettings(entropy_floor=0.1, max_zero_variance_share=0.9, patience=3))
    healthy = {"entropy": 2.0, "count_queries": 8, "frac_reward_zero_std": 0.5}
    assert [watch.update(item) for item in (row, row, healthy, row, row)] == [None] * 5
    assert word in (watch.update(row) or "")


def test_sizes_that_do_not_divide_are_refused(task: Task, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not divide"):
        task.run(replace(GRPO, gradient_accumulation=3), tmp_path / "never")
    task.prompts = task.prompts.iloc[:0]
    with pytest.raises(InputError, match="no declarations"):
        task.run(GRPO, tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_prompt_order_covers_every_epoch() -> None:
    order = prompt_order(5, replace(GRPO, steps=5, prompts_per_step=2))
    assert sorted(order[:5]) == sorted(order[5:]) == [0, 1, 2, 3, 4]
    assert not np.array_equal(order[:5], order[5:])


def test_learning_rate_rises_falls_and_never_stands_still() -> None:
    shares = [learning_rate_share(step, 20, 0.2) for step in range(20)]
    assert shares[:4] == pytest.approx([0.25, 0.5, 0.75, 1.0]) and max(shares) == 1.0
    assert all(a >= b for a, b in itertools.pairwise(shares[4:])) and 0 < shares[-1] < 0.1


def test_a_failed_judge_moves_nothing(task: Task, tmp_path: Path) -> None:
    class FailingJudge(PrefixJudge):
        def judge(self, queries: list[str], declarations: list[str]):  # type: ignore[override]
            return [None] * len(queries)

    task.reward.judge = FailingJudge()
    settings = replace(GRPO, sft_start=0.0, beta=0.0, steps=2)
    summary = task.run(settings, tmp_path / "unmoved")
    assert summary["count_judge_failed_total"] == 16 - summary["count_empty_total"]  # type: ignore[operator]
    before, after = (
        load_generator(folder, task.base).model.state_dict() for folder in (task.start, tmp_path / "unmoved")
    )
    assert all(torch.equal(value, after[name]) for name, value in before.items())
