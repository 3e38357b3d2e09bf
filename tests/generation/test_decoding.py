"""Guards token sampling: distribution, determinism, agreement with `generate`.

Alone: pytest tests/generation/test_decoding.py
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lean_finder.generation.decoding import DecodingSettings, draw_tokens, left_pad, right_pad, sample_tokens, uniforms
from lean_finder.generation.models import load_generator


def test_uniforms_belong_to_seed_and_key() -> None:
    rows = uniforms(1, ["a", "b"], 5)
    assert rows.shape == (2, 5) and bool(((rows >= 0) & (rows < 1)).all())
    assert torch.equal(uniforms(1, ["b"], 5)[0], rows[1])
    assert torch.equal(uniforms(1, ["a"], 3)[0], rows[0, :3])
    assert not torch.equal(uniforms(2, ["a"], 5)[0], rows[0])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(DecodingSettings(), [0.5, 0.3, 0.15, 0.05], id="plain"),
        pytest.param(DecodingSettings(top_k=2), [0.625, 0.375, 0, 0], id="top-2"),
        pytest.param(DecodingSettings(top_p=0.9), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0], id="nucleus"),
        pytest.param(DecodingSettings(temperature=0.5), [p * p / 0.365 for p in (0.5, 0.3, 0.15, 0.05)], id="cool"),
    ],
)  # fmt: skip
def test_drawn_shares_are_the_probabilities(settings: DecodingSettings, expected: list[float]) -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    n = 4000
    grid = (torch.arange(n, dtype=torch.float64) + 0.5) / n  # every quantile once: shares are exact up to 1/n
    tokens = draw_tokens(logits.expand(n, 4), grid, settings)
    shares = torch.bincount(tokens, minlength=4) / n
    assert shares.tolist() == pytest.approx(expected, abs=2 / n)


def test_temperature_zero_is_greedy() -> None:
    logits = torch.tensor([[0.1, 3.0, 0.2], [5.0, 1.0, 1.0]])
    assert draw_tokens(logits, torch.tensor([0.99, 0.99]).double(), DecodingSettings(temperature=0)).tolist() == [1, 0]


def test_a_zero_probability_token_is_never_drawn() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf]]).expand(2, 3)
    assert draw_tokens(logits, torch.tensor([0.0, 1 - 2**-53]).double(), DecodingSettings()).tolist() == [1, 1]


def test_padding_sides() -> None:
    ids, mask = left_pad([[5], [6, 7]], 0)
    assert ids.tolist() == [[0, 5], [6, 7]] and mask.tolist() == [[0, 1], [1, 1]]
    ids, mask = right_pad([[5], [6, 7]], 0)
    assert ids.tolist() == [[5, 0], [6, 7]] and mask.tolist() == [[1, 0], [1, 1]]


def test_greedy_sampling_agrees_with_transformers_generate(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    texts = ["The sum of two", "is injective (hf :", "f"]
    prompts = [generator.tokenizer(text)["input_ids"] for text in texts]
    settings = DecodingSettings(temperature=0, max_new_tokens=20)
    ours = sample_tokens(generator.model, prompts, [0, 1, 2], uniforms(0, "abc", 20), settings, generator.end_token_ids)
    for prompt, completion in zip(prompts, ours, strict=True):
        theirs = generator.model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=20, attention_mask=torch.ones(1, len(prompt)).long()
        )[0, len(prompt) :].tolist()
        assert completion == theirs


def test_a_sample_does_not_depend_on_its_batch(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    prompts = [
        generator.tokenizer(text)["input_ids"] for text in ("The sum of", "Monotone f", "product of two functions")
    ]
    settings = DecodingSettings(max_new_tokens=12)
    keys = [f"{place}/{sample}" for place in range(3) for sample in range(4)]
    end = generator.end_token_ids
    together = sample_tokens(
        generator.model, prompts, [p for p in range(3) for _ in range(4)], uniforms(5, keys, 12), settings, end
    )
    for row, key in enumerate(keys):
        alone = sample_tokens(generator.model, [prompts[row // 4]], [0], uniforms(5, [key], 12), settings, end)
        assert alone[0] == together[row]
    assert len({tuple(ids) for ids in together}) > 6  # samples of one prompt differ


def test_completions_end_with_the_first_end_token(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    prompt = generator.tokenizer("The sum of two")["input_ids"]
    end = generator.end_token_ids
    rows = sample_tokens(
        generator.model,
        [prompt],
        [0] * 64,
        uniforms(9, [str(i) for i in range(64)], 40),
        DecodingSettings(max_new_tokens=40),
        end,
    )
    finished = [ids for ids in rows if ids[-1] in end]
    assert finished and all(not set(ids[:-1]) & set(end) for ids in rows)
    assert all(len(ids) == 40 for ids in rows if ids[-1] not in end)
