"""Sampling token by token, with the prompt computed once for all the samples drawn from it.

Every sample owns its randomness: one uniform number per step from a generator seeded by (seed, key), with the key made
of the declaration and the sample's number. So a query depends neither on its batch nor on the order of the batches
(up to the rounding of a matrix product, whose order of summation may change with the batch's size).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class DecodingSettings:
    """How tokens are drawn.

    Attributes:
        temperature: divides the logits; 0 is greedy.
        top_p: the smallest set of tokens whose probability reaches this share is kept.
        top_k: at most this many tokens are kept before `top_p`; 0 keeps all.
        max_new_tokens: hard end of a query.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int = 32


def uniforms(seed: int, keys: Sequence[str], steps: int) -> torch.Tensor:
    """One row of uniform numbers in [0, 1) per key: float64 (len(keys), steps)."""
    rows = []
    for key in keys:
        digest = hashlib.sha256(f"{seed}\0{key}".encode()).digest()
        rows.append(np.random.Generator(np.random.Philox(int.from_bytes(digest[:16], "little"))).random(steps))
    return torch.from_numpy(np.stack(rows)) if rows else torch.zeros((0, steps), dtype=torch.float64)


def draw_tokens(logits: torch.Tensor, uniform: torch.Tensor, settings: DecodingSettings) -> torch.Tensor:
    """Draw one token per row by inverting the cumulative distribution.

    Args:
        logits: (B, V).
        uniform: (B,) in [0, 1).
        settings: temperature, top_k, top_p.

    Returns:
        int64 (B,).
    """
    if settings.temperature == 0:
        return logits.argmax(dim=-1)
    scaled = logits.float() / settings.temperature
    if settings.top_k == 0 and settings.top_p >= 1.0:
        cumulative = torch.softmax(scaled, dim=-1).double().cumsum(dim=-1)
        return _invert(cumulative, uniform)
    k = min(settings.top_k or scaled.shape[-1], scaled.shape[-1])
    values, ids = scaled.topk(k, dim=-1)  # (B, k), best first
    probabilities = torch.softmax(values, dim=-1).double()
    before = probabilities.cumsum(dim=-1) - probabilities
    probabilities = probabilities.masked_fill(before >= settings.top_p, 0.0)
    chosen = _invert(probabilities.cumsum(dim=-1), uniform)
    return ids.gather(1, chosen.unsqueeze(1)).squeeze(1)


def _invert(cumulative: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """First index whose cumulative weight exceeds u times the total: an index of positive weight."""
    total = cumulative[:, -1:]  # (B, 1)
    threshold = uniform.to(cumulative.device).unsqueeze(1) * total
    threshold = threshold.minimum(torch.nextafter(total, torch.zeros_like(total)))  # u * total may round up to total
    return torch.searchsorted(cumulative, threshold, right=True).squeeze(1)


@torch.inference_mode()
def sample_tokens(
    model: Any,
    prompts: Sequence[Sequence[int]],
    prompt_of: Sequence[int],
    uniform: torch.Tensor,
    settings: DecodingSettings,
    end_token_ids: Sequence[int],
) -> list[list[int]]:
    """Sample completions; a prompt is computed once, however many samples are drawn from it.

    Args:
        model: a causal model (adapters merged, see `models.merged_adapter`).
        prompts: token ids, one sequence per distinct prompt.
        prompt_of: for every sample, the index of its prompt.
        uniform: (len(prompt_of), max_new_tokens), see `uniforms`.
        settings: how to draw.
        end_token_ids: a completion ends with, and includes, the first of these.

    Returns:
        One list of token ids per sample, in the order of `prompt_of`.
    """
    if not prompt_of:
        return []
    device = next(model.parameters()).device
    end = torch.tensor(list(end_token_ids), device=device)
    ids, mask = left_pad(prompts, int(end_token_ids[0]), device)  # (P, T)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    output = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1)
    cache = output.cache
    source = torch.tensor(list(prompt_of), device=device)  # (N,)
    cache.batch_select_indices(source)
    logits, mask, position = output.logits[source, -1], mask[source], positions[source, -1]  # (N, V), (N, T), (N,)
    rows = torch.arange(len(prompt_of), device=device)  # which sample each remaining row is
    completions: list[list[int]] = [[] for _ in prompt_of]
    for step in range(settings.max_new_tokens):
        tokens = draw_tokens(logits, uniform[rows.cpu(), step], settings)
        for row, token in zip(rows.tolist(), tokens.tolist(), strict=True):
            completions[row].append(token)
        running = ~torch.isin(tokens, end)
        if step + 1 == settings.max_new_tokens or not bool(running.any()):
            break
        if not bool(running.all()):
            keep = running.nonzero().squeeze(1)
            cache.batch_select_indices(keep)
            rows, tokens, mask, position = rows[keep], tokens[keep], mask[keep], position[keep]
        mask = torch.cat([mask, mask.new_ones((mask.shape[0], 1))], dim=1)
        position = position + 1
        output = model(
            input_ids=tokens.unsqueeze(1),
            attention_mask=mask,
            position_ids=position.unsqueeze(1),
            cache=cache,
            use_cache=True,
        )
        logits = output.logits[:, -1]
    return completions


def left_pad(
    sequences: Sequence[Sequence[int]], padding: int, device: torch.device | str = "cpu"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids padded on the left, and their mask: int64 (B, T) each."""
    return _pad(sequences, padding, device, left=True)


def right_pad(
    sequences: Sequence[Sequence[int]], padding: int, device: torch.device | str = "cpu"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids padded on the right, and their mask: int64 (B, T) each."""
    return _pad(sequences, padding, device, left=False)


def _pad(
    sequences: Sequence[Sequence[int]], padding: int, device: torch.device | str, *, left: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(sequence) for sequence in sequences)
    ids = torch.full((len(sequences), width), padding, dtype=torch.long)
    mask = torch.zeros((len(sequences), width), dtype=torch.long)
    for row, sequence in enumerate(sequences):
        span = slice(width - len(sequence), width) if left else slice(0, len(sequence))
        ids[row, span] = torch.tensor(list(sequence), dtype=torch.long)
        mask[row, span] = 1
    return ids.to(device), mask.to(device)
