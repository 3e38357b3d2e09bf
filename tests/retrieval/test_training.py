"""Guards training: it learns, it is deterministic, resumable, and the same in several processes.

Run: pytest tests/retrieval/test_training.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from lean_finder.errors import InputError
from lean_finder.evaluation.statistics import bootstrap_means
from lean_finder.retrieval.batching import plan_batches
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.exact import exact_ranks
from lean_finder.retrieval.settings import LoraSettings, TrainingSettings, ValidationSet
from lean_finder.retrieval.training import train_retriever
from lean_finder.storage import file_digest
from tests.retrieval.conftest import ToyWorld

SETTINGS = TrainingSettings(
    seed=1, steps=12, batch_size=32, learning_rate=2e-3, temperature=0.05, margin=0.1, dropout=0.1, checkpoint_every=4
)


def _train(toy: ToyWorld, out: Path, settings: TrainingSettings = SETTINGS, **options: object) -> list[dict]:
    """Figures per step; `out` gets the model."""
    rows: list[dict] = []
    pairs = options.pop("pairs", toy.pairs(200))
    train_retriever(
        toy.encoder,
        pairs,
        toy.document_text,
        {},
        settings,
        out,
        lambda figures, step: rows.append({"step": step, **figures}),
        **options,
    )
    return rows


def _losses(rows: list[dict]) -> list[float]:
    return [row["loss"] for row in rows if "loss" in row]


def test_it_learns(toy: ToyWorld, tmp_path: Path) -> None:
    """nDCG@10 on held-out declarations rises by at least 0.3, the interval's lower end above 0.2."""
    pairs = toy.pairs(384)
    held_out = pairs["declaration"].tolist()[300:]
    validation = toy.validation(held_out)
    settings = replace(SETTINGS, steps=40, validate_every=20, patience=9)
    _train(toy, tmp_path / "out", settings, pairs=pairs[:300], validation=validation)

    def gains(folder: Path) -> np.ndarray:
        encoder = Encoder.load(folder)
        ranks = exact_ranks(
            encoder.encode_queries(validation.queries),
            encoder.encode_documents(validation.documents),
            np.array(validation.golds),
        )
        return np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0.0)

    difference = gains(tmp_path / "out") - gains(toy.encoder)
    interval = bootstrap_means(difference[:, None], held_out, seed=0)[0]
    assert interval.value >= 0.3 and interval.low > 0.2


def test_equal_runs_are_equal_and_seeds_matter(toy: ToyWorld, tmp_path: Path) -> None:
    first, second = _train(toy, tmp_path / "a"), _train(toy, tmp_path / "b")
    assert _losses(first) == _losses(second)
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b")
    assert _losses(_train(toy, tmp_path / "c", replace(SETTINGS, seed=2))) != _losses(first)
    for key in ("loss", "masked_share", "learning_rate", "pairs_per_second", "grad_norm"):
        assert key in first[-1]


class KilledError(Exception):
    """Stands for a process that ends here."""


@pytest.mark.parametrize("lora", [None, LoraSettings(rank=4, alpha=8, targets=("query", "value"))])
def test_a_killed_run_goes_on_to_the_same_weights(lora: LoraSettings | None, toy: ToyWorld, tmp_path: Path) -> None:
    settings = replace(SETTINGS, lora=lora, validate_every=5, patience=3)
    validation = toy.validation(list(toy.documents)[:40])
    whole = _train(toy, tmp_path / "whole", settings, validation=validation)

    def stop(figures: Mapping[str, float], step: int) -> None:
        if step == 10:
            raise KilledError

    arguments = (toy.encoder, toy.pairs(200), toy.document_text, {}, settings)
    with pytest.raises(KilledError):
        train_retriever(*arguments, tmp_path / "out", stop, validation, tmp_path / "checkpoints")
    assert not (tmp_path / "out").exists()
    again: list[dict] = []
    summary = train_retriever(
        *arguments,
        tmp_path / "out",
        lambda figures, step: again.append({"step": step, **figures}),
        validation,
        tmp_path / "checkpoints",
    )
    assert summary.resumed_from == 8
    assert [row["step"] for row in again] == [row["step"] for row in whole]
    assert _losses(again) == _losses(whole)
    assert file_digest(tmp_path / "out") == file_digest(tmp_path / "whole")
    assert not (tmp_path / "checkpoints").exists()


def test_checkpoint_of_another_run_or_damaged_is_ignored(toy: ToyWorld, tmp_path: Path) -> None:
    def stop(figures: Mapping[str, float], step: int) -> None:
        if step == 9:
            raise KilledError

    arguments = (toy.encoder, toy.pairs(200), toy.document_text, {})
    with pytest.raises(KilledError):
        train_retriever(*arguments, SETTINGS, tmp_path / "out", stop, None, tmp_path / "c")
    other = replace(SETTINGS, margin=0.2)
    summary = train_retriever(*arguments, other, tmp_path / "out", lambda *_: None, None, tmp_path / "c")
    assert summary.resumed_from == 0
    with pytest.raises(KilledError):
        train_retriever(*arguments, SETTINGS, tmp_path / "out", stop, None, tmp_path / "c")
    weights = next((tmp_path / "c").glob("step-*")) / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    summary = train_retriever(*arguments, SETTINGS, tmp_path / "out", lambda *_: None, None, tmp_path / "c")
    assert summary.resumed_from == 0


def test_gradient_cache_changes_memory_not_training(toy: ToyWorld, tmp_path: Path) -> None:
    settings = replace(SETTINGS, dropout=0.0)
    plain = _losses(_train(toy, tmp_path / "a", settings))
    cached = _losses(_train(toy, tmp_path / "b", replace(settings, micro_batch_tokens=120)))
    assert cached == pytest.approx(plain, abs=1e-3)
    assert cached[0] == pytest.approx(plain[0], abs=1e-5)


_WORKER = """
import json, sys
from pathlib import Path
import pandas as pd
from accelerate import PartialState
from lean_finder.retrieval.settings import TrainingSettings
from lean_finder.retrieval.training import train_retriever

task = json.loads(Path(sys.argv[1]).read_text())
losses = []
train_retriever(
    Path(task["encoder"]), pd.DataFrame(task["pairs"]), lambda name, view: task["documents"][name], {},
    TrainingSettings(**task["settings"]), Path(task["out"]), lambda figures, step: losses.append(figures["loss"]),
    device="cpu",
)
state = PartialState()
if state.is_main_process:
    Path(task["losses"]).write_text(json.dumps({"processes": state.num_processes, "losses": losses}))
"""


def test_two_processes_follow_the_trajectory_of_one(toy: ToyWorld, tmp_path: Path) -> None:
    settings = replace(SETTINGS, dropout=0.0, steps=8)
    alone = _losses(_train(toy, tmp_path / "alone", settings))
    task = {
        "encoder": str(toy.encoder),
        "pairs": toy.pairs(200).to_dict("list"),
        "documents": toy.documents,
        "settings": asdict(settings),
        "out": str(tmp_path / "two"),
        "losses": str(tmp_path / "losses.json"),
    }
    (tmp_path / "task.json").write_text(json.dumps(task))
    (tmp_path / "worker.py").write_text(_WORKER)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(tmp_path / "worker.py"), str(tmp_path / "task.json")]
    threads = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=threads, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads((tmp_path / "losses.json").read_text())
    assert result["processes"] == 2
    assert result["losses"] == pytest.approx(alone, abs=1e-3)
    assert result["losses"][0] == pytest.approx(alone[0], abs=1e-5)
    left = Encoder.load(tmp_path / "alone").encode_queries(["mus of puorg is finite"])
    right = Encoder.load(tmp_path / "two").encode_queries(["mus of puorg is finite"])
    assert np.abs(left - right).max() < 0.02


def test_early_stopping_keeps_the_best_weights(toy: ToyWorld, tmp_path: Path) -> None:
    # A learning rate that destroys the model after it has learned something.
    settings = replace(SETTINGS, steps=60, validate_every=2, patience=2, learning_rate=0.2, warmup_share=0.9)
    validation = toy.validation(list(toy.documents)[:40])
    summary = train_retriever(
        toy.encoder, toy.pairs(200), toy.document_text, {}, settings, tmp_path / "out", lambda *_: None, validation
    )
    assert summary.stopped_early and summary.steps < 60
    assert summary.validation[summary.best_step] == max(summary.validation.values())
    assert len([step for step in summary.validation if step > summary.best_step]) == 2
    encoder = Encoder.load(tmp_path / "out")
    ranks = exact_ranks(
        encoder.encode_queries(validation.queries),
        encoder.encode_documents(validation.documents),
        np.array(validation.golds),
    )
    score = float(np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0.0).mean())
    assert score == pytest.approx(summary.validation[summary.best_step], abs=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"bidirectional": True, "matryoshka": (64, 16)},
        {"dtype": "bfloat16"},
        {"gradient_checkpointing": True},
        {"lora": LoraSettings(rank=4, alpha=8, targets=("query", "value")), "dtype": "bfloat16", "learning_rate": 0.02},
        {"batch_size": 1000},
    ],
    ids=lambda change: ",".join(change),
)
def test_every_option_trains(change: dict, toy: ToyWorld, tmp_path: Path) -> None:
    losses = _losses(_train(toy, tmp_path / "out", replace(SETTINGS, **change)))
    assert losses[-1] < losses[0] - 0.02
    assert Encoder.load(tmp_path / "out").contract == Encoder.load(toy.encoder).contract


def test_hard_negatives_enter_the_batch(toy: ToyWorld, tmp_path: Path) -> None:
    pairs = toy.pairs(40)
    names = list(toy.documents)
    hard = [[names[(names.index(name) + 1) % len(names)]] for name in pairs["declaration"]]
    plain = _losses(_train(toy, tmp_path / "a", pairs=pairs))
    harder = _losses(_train(toy, tmp_path / "b", pairs=pairs, hard_negatives=hard))
    assert harder[0] > plain[0] + 0.1
    with pytest.raises(InputError, match="hard_negatives"):
        _train(toy, tmp_path / "c", pairs=pairs, hard_negatives=hard[:-1])


def test_bad_input_is_refused(toy: ToyWorld, tmp_path: Path) -> None:
    pairs = toy.pairs(10)
    with pytest.raises(InputError, match="no training pairs"):
        _train(toy, tmp_path / "a", pairs=pairs[:0])
    pairs.loc[3, "query"] = " "
    with pytest.raises(InputError, match=f"query {pairs.loc[3, 'query_id']}: is empty"):
        _train(toy, tmp_path / "a", pairs=pairs)
    with pytest.raises(InputError, match="lower retriever"):
        _train(toy, tmp_path / "a", replace(SETTINGS, learning_rate=1e30, max_grad_norm=1e30, warmup_share=0.0))
    with pytest.raises(InputError, match="lora"):
        _train(toy, tmp_path / "a", replace(SETTINGS, lora=LoraSettings(targets=("absent",))))
    assert not (tmp_path / "a").exists()
    for change in ({"steps": 0}, {"batch_size": 1}, {"dtype": "int3"}, {"patience": 1}, {"dropout": 1.0}):
        with pytest.raises(InputError, match=next(iter(change))):
            replace(SETTINGS, **change)
    with pytest.raises(InputError, match="not among the documents"):
        ValidationSet(["q"], ["d"], [1])


def test_batches_hold_no_declaration_twice_and_little_padding() -> None:
    random = np.random.default_rng(0)
    declarations = random.integers(0, 300, 1000)
    lengths = random.integers(5, 100, 1000)
    plan = plan_batches(declarations, lengths, batch_size=50, steps=200, seed=0)
    assert all(len(set(declarations[batch])) == 50 for batch in plan)
    uses = np.bincount(np.concatenate(plan), minlength=1000)
    assert uses.min() >= 8 and uses.max() <= 12  # 10 epochs, rows that wait move by a bucket
    plain = plan_batches(declarations, lengths, batch_size=50, steps=200, seed=0, bucket=1)
    spread = [np.mean([np.ptp(lengths[batch]) for batch in batches]) for batches in (plan, plain)]
    assert spread[0] < spread[1] / 4


def test_batches_with_unavoidable_repeats() -> None:
    crowd = np.array([0] * 90 + list(range(1, 11)))
    plan = plan_batches(crowd, np.ones(100, dtype=np.int64), batch_size=8, steps=60, seed=0)
    assert all(len(batch) == 8 for batch in plan)
    few = plan_batches(np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64), batch_size=8, steps=3, seed=0)
    assert [sorted(batch.tolist()) for batch in few] == [[0, 1, 2, 3, 4]] * 3
