"""Guards the supervised batches, their loss and the fading weight.

Alone: pytest tests/generation/test_supervision.py
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lean_finder.errors import InputError
from lean_finder.generation.models import load_generator
from lean_finder.generation.supervision import StyleBatches, language_model_loss, sft_weight


@pytest.mark.parametrize(
    ("schedule", "first", "middle", "last"),
    [("linear", 0.8, 0.5, 0.2), ("cosine", 0.8, 0.5, 0.2), ("constant", 0.8, 0.8, 0.8)],
)
def test_weight_at_first_middle_and_last_step(schedule: str, first: float, middle: float, last: float) -> None:
    weights = [sft_weight(step, 101, 0.8, 0.2, schedule) for step in (0, 50, 100)]  # type: ignore[arg-type]
    assert weights == pytest.approx([first, middle, last], abs=1e-12)


def test_cosine_falls_slower_at_first_than_linear() -> None:
    assert sft_weight(10, 101, 1, 0, "cosine") > sft_weight(10, 101, 1, 0, "linear")
    assert sft_weight(0, 1, 0.7, 0, "linear") == 0.7
    with pytest.raises(ValueError, match="unknown schedule"):
        sft_weight(0, 2, 1, 0, "sudden")  # type: ignore[arg-type]


def test_every_epoch_visits_every_pair(tiny_base: Path) -> None:
    tokenizer = load_generator(tiny_base, tiny_base).tokenizer
    prompts = [f"prompt {'x' * index}" for index in range(23)]
    batches = StyleBatches(prompts, prompts, tokenizer, batch_size=4, seed=1, max_query_tokens=20)
    epochs = [[row for step in range(e * 6, e * 6 + 6) for row in batches.rows(step)] for e in range(2)]
    assert batches.per_epoch == 6
    assert all(set(rows) == set(range(23)) and len(rows) == 24 for rows in epochs) and epochs[0] != epochs[1]
    again = StyleBatches(prompts, prompts, tokenizer, batch_size=4, seed=1, max_query_tokens=20)
    assert again.rows(9) == batches.rows(9)


def test_loss_is_on_the_query_alone_and_ends_it(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    batches = StyleBatches(["The sum of two"], [" functions each of which"], generator.tokenizer, 8, 1, 50)
    batch = batches.batch(0)
    prompt = generator.tokenizer("The sum of two")["input_ids"]
    query = [*generator.tokenizer(" functions each of which")["input_ids"], generator.tokenizer.eos_token_id]
    ids = torch.tensor([prompt + query])
    labels = torch.tensor([[-100] * len(prompt) + query])
    reference = generator.model(input_ids=ids, labels=labels).loss
    assert language_model_loss(generator.model, batch).item() == pytest.approx(reference.item(), abs=1e-4)
    assert batch.query_ids[0, -1] == generator.tokenizer.eos_token_id


def test_padding_and_cutting(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    both = StyleBatches(["a", "The product of"], ["b", " functions each of which is"], generator.tokenizer, 2, 1, 4)
    batch = both.batch(0)
    assert batch.query_ids.shape[1] == 4 and batch.query_mask.sum(1).max() == 4
    singles = [
        StyleBatches([p], [q], generator.tokenizer, 1, 1, 4).batch(0)
        for p, q in (("a", "b"), ("The product of", " functions each of which is"))
    ]
    total = sum(language_model_loss(generator.model, one).item() * one.query_mask.sum().item() for one in singles)
    count = sum(one.query_mask.sum().item() for one in singles)
    assert language_model_loss(generator.model, batch).item() == pytest.approx(total / count, abs=1e-4)


def test_no_pairs_are_refused(tiny_base: Path) -> None:
    with pytest.raises(InputError, match="none to train on"):
        StyleBatches([], [], load_generator(tiny_base, tiny_base).tokenizer, 2, 1, 4)
