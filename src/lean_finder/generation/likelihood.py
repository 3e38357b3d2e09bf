"""Log-probabilities of completions, with every distinct prompt computed once.

A GRPO group holds the same prompt G times, and the prompt is most of the tokens: computing it once per group, with its
keys and values shared by the G completions (gradients included), cuts a step's work to a third at G = 8.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch.nn import functional
from transformers import DynamicCache

#: On a CPU, rows computed together are at least this many, and none is shorter than this share of the longest:
#: below it, padding costs more than reading the weights once more.
_LEAST_ROWS, _LEAST_SHARE = 4, 0.75


def completion_log_probabilities(
    model: Any,
    prompt_ids: torch.Tensor,
    prompt_mask: torch.Tensor,
    completion_ids: torch.Tensor,
    completion_mask: torch.Tensor,
    temperature: float = 1.0,
    prompt_gradients: bool = True,
    wanted: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability and entropy at every completion token; differentiable.

    Args:
        model: causal model.
        prompt_ids: (B, P), padded on the left, at least one token each.
        prompt_mask: (B, P).
        completion_ids: (B, C), padded on the right.
        completion_mask: (B, C).
        temperature: divides the logits.
        prompt_gradients: let gradients flow through the prompt's keys and values. Without, values are the same and the
            gradient lacks the part by which an adapter changes how it reads the prompt; a step on short queries then
            costs about half, since most of its tokens are prompt.
        wanted: (B,) which rows need a gradient; None = all. The others are computed without, at half the cost.

    Returns:
        Two float tensors (B, C): log p(token | what precedes it), and the entropy of that distribution in nats.
        Values at masked positions are meaningless.
    """
    marked = torch.where(prompt_mask.bool(), prompt_ids, -1)
    distinct, inverse = torch.unique(marked, dim=0, return_inverse=True)  # (U, P), (B,)
    first = torch.stack([(inverse == group).nonzero()[0, 0] for group in range(distinct.shape[0])])
    ids, mask = prompt_ids[first, :-1], prompt_mask[first, :-1]  # the last token goes with the completion
    layers: list[Any] = []
    if ids.shape[1]:
        with nullcontext() if prompt_gradients else torch.no_grad():
            positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
            prompt = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1)
        layers = list(prompt.cache.layers)
    start = mask.sum(dim=1)[inverse].unsqueeze(1)  # (B, 1): position of the prompt's last token
    inputs = torch.cat([prompt_ids[:, -1:], completion_ids[:, :-1]], dim=1)
    attention = torch.cat([prompt_mask, completion_mask[:, :-1]], dim=1)
    values, entropies, order = [], [], []
    lengths = completion_mask.sum(dim=1).clamp(min=1)
    needed = torch.ones_like(lengths, dtype=torch.bool) if wanted is None else wanted
    for rows in _row_groups(lengths, needed):
        width = int(lengths[rows].max())
        shared = DynamicCache()
        for layer, cached in enumerate(layers):
            shared.update(cached.keys[inverse[rows]], cached.values[inverse[rows]], layer)
        with nullcontext() if bool(needed[rows[0]]) else torch.no_grad():
            logits = model(
                input_ids=inputs[rows, :width],
                attention_mask=attention[rows, : prompt_mask.shape[1] + width - 1],
                position_ids=start[rows] + torch.arange(width, device=ids.device),
                cache=shared,
                use_cache=True,
            ).logits  # (rows, width, V)
            log_probabilities = functional.log_softmax(logits.float() / temperature, dim=-1)
            chosen = log_probabilities.gather(2, completion_ids[rows, :width].unsqueeze(2)).squeeze(2)
        with torch.no_grad():
            entropy = -(log_probabilities.exp() * log_probabilities).sum(dim=-1)
        padding = (0, completion_ids.shape[1] - width)
        values.append(functional.pad(chosen, padding))
        entropies.append(functional.pad(entropy, padding))
        order.append(rows)
    back = torch.cat(order).argsort()
    return torch.cat(values)[back], torch.cat(entropies)[back]


def _row_groups(lengths: torch.Tensor, wanted: torch.Tensor) -> list[torch.Tensor]:
    """Rows to be computed together: alike in `wanted` and, on a CPU, of like length. Together they are all rows."""
    groups: list[list[int]] = []
    on_cpu = lengths.device.type == "cpu"
    for part in (wanted, ~wanted):
        rows = part.nonzero().squeeze(1)
        rows = rows[lengths[rows].argsort(descending=True, stable=True)]
        group: list[int] = []
        for row, length in zip(rows.tolist(), lengths[rows].tolist(), strict=True):
            if not group or (on_cpu and len(group) >= _LEAST_ROWS and length < _LEAST_SHARE * int(lengths[group[0]])):
                group = []
                groups.append(group)
            group.append(row)
    return [torch.tensor(group, device=lengths.device) for group in groups]
