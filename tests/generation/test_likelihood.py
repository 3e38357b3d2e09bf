"""Guards the shared-prompt log-probabilities against the plain computation.

Alone: pytest tests/generation/test_likelihood.py
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lean_finder.generation.decoding import left_pad, right_pad
from lean_finder.generation.likelihood import completion_log_probabilities
from lean_finder.generation.models import Generator, LoraSettings, add_adapter, load_generator


def batch(generator: Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two distinct prompts of unlike length in mixed order, completions of 1 to 5 tokens."""
    long, short = (generator.tokenizer(text)["input_ids"] for text in ("The product of two functions", "f + g"))
    completions = [[40, 50, 60], [41], [42, 52, 62, 72, 82], [43, 53]]
    return *left_pad([long, short, long, short], 0), *right_pad(completions, 0)


def plain(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor, start: int, temperature: float):
    """The whole sequence of every row in one pass, nothing shared."""
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits[:, start - 1 : -1] / temperature
    log_probabilities = torch.log_softmax(logits, -1)
    chosen = log_probabilities.gather(2, ids[:, start:].unsqueeze(2)).squeeze(2)
    return chosen, -(log_probabilities.exp() * log_probabilities).sum(-1)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_values_and_gradients_equal_the_plain_pass(tiny_base: Path, temperature: float) -> None:
    generator = add_adapter(load_generator(tiny_base, tiny_base), LoraSettings(rank=4), seed=1)
    for name, parameter in generator.model.named_parameters():
        if "lora_B" in name:  # B starts at zero, which would hide A's gradient
            torch.nn.init.normal_(parameter, std=0.1, generator=torch.Generator().manual_seed(len(name)))
    prompt_ids, prompt_mask, ids, mask = batch(generator)

    def gradients(loss: torch.Tensor) -> dict[str, torch.Tensor]:
        generator.model.zero_grad()
        loss.backward()
        named = generator.model.named_parameters()
        return {name: parameter.grad.clone() for name, parameter in named if parameter.grad is not None}

    shared, shared_entropy = completion_log_probabilities(
        generator.model, prompt_ids, prompt_mask, ids, mask, temperature
    )
    shared_gradients = gradients((shared * mask).sum())
    whole, whole_mask = torch.cat([prompt_ids, ids], 1), torch.cat([prompt_mask, mask], 1)
    reference, entropy = plain(generator.model, whole, whole_mask, prompt_ids.shape[1], temperature)
    reference_gradients = gradients((reference * mask).sum())
    assert torch.allclose(shared * mask, reference * mask, atol=1e-4)
    assert torch.allclose(shared_entropy * mask, entropy * mask, atol=1e-4)
    assert shared_gradients.keys() == reference_gradients.keys() and len(shared_gradients) > 20
    for name, gradient in shared_gradients.items():
        assert torch.allclose(gradient, reference_gradients[name], atol=2e-3, rtol=1e-3), name
    assert max(float(gradient.abs().max()) for gradient in shared_gradients.values()) > 0.1


def test_rows_that_need_no_gradient_keep_their_values_and_leave_the_others_alone(tiny_base: Path) -> None:
    generator = add_adapter(load_generator(tiny_base, tiny_base), LoraSettings(rank=4), seed=1)
    rng = torch.Generator().manual_seed(5)
    lengths = [1, 9, 2, 8, 3, 7, 12, 1, 11, 2, 3, 1]  # more than one group of like length
    completions = [torch.randint(10, 200, (length,), generator=rng).tolist() for length in lengths]
    prompts = [generator.tokenizer(text)["input_ids"] for text in ("The product of two functions", "f + g")] * 6
    inputs = (*left_pad(prompts, 0), *right_pad(completions, 0))
    mask = inputs[3]
    wanted = torch.tensor([True, False, False] * 4)

    def run(needed: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        generator.model.zero_grad()
        values, entropies = completion_log_probabilities(generator.model, *inputs, wanted=needed)
        (values * mask)[wanted].sum().backward()
        named = generator.model.named_parameters()
        return values.detach() * mask, entropies * mask, [p.grad.clone() for _, p in named if p.grad is not None]

    every, some = run(None), run(wanted)
    assert torch.allclose(every[0], some[0], atol=1e-4) and torch.allclose(every[1], some[1], atol=1e-4)
    assert len(every[2]) == len(some[2]) > 10
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in zip(every[2], some[2], strict=True))
    assert max(float(one.abs().max()) for one in some[2]) > 0.01


def test_single_token_completions(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    prompt_ids, prompt_mask, ids, mask = batch(generator)
    one, _ = completion_log_probabilities(generator.model, prompt_ids, prompt_mask, ids[:, :1], mask[:, :1])
    many, _ = completion_log_probabilities(generator.model, prompt_ids, prompt_mask, ids, mask)
    assert torch.allclose(one[:, 0], many[:, 0], atol=1e-5)


def test_prompt_gradients_may_be_cut_without_changing_values(tiny_base: Path) -> None:
    generator = add_adapter(load_generator(tiny_base, tiny_base), LoraSettings(rank=4), seed=1)
    prompt_ids, prompt_mask, ids, mask = batch(generator)
    results = {}
    for kept in (True, False):
        generator.model.zero_grad()
        values, _ = completion_log_probabilities(
            generator.model, prompt_ids, prompt_mask, ids, mask, prompt_gradients=kept
        )
        (values * mask).sum().backward()
        named = generator.model.named_parameters()
        results[kept] = values.detach(), {name: p.grad.clone() for name, p in named if p.grad is not None}
    assert torch.equal(results[True][0], results[False][0])
    whole, cut = results[True][1], results[False][1]
    differs = {name for name in whole if not torch.allclose(whole[name], cut[name], atol=1e-5)}
    assert any("k_proj.lora_B" in name for name in differs)
    top_query = next(name for name in whole if "layers.1" in name and "q_proj.lora_B" in name)
    assert top_query not in differs  # the queries asked by the completion itself lose nothing
