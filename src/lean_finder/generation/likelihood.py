"""Log-probabilities of completions, with every distinct prompt computed once.

A GRPO group holds the same prompt G times, and the prompt is most of the tokens: computing it once per group, with its
keys and values shared by the G completions (gradients included), cuts a step's work to a third at G = 8.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from transformers import DynamicCache


def completion_log_probabilities(
    model: Any,
    prompt_ids: torch.Tensor,
    prompt_mask: torch.Tensor,
    completion_ids: torch.Tensor,
    completion_mask: torch.Tensor,
    temperature: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability and entropy at every completion token; differentiable.

    Args:
        model: causal model.
        prompt_ids: (B, P), padded on the left.
        prompt_mask: (B, P).
        completion_ids: (B, C), padded on the right.
        completion_mask: (B, C).
        temperature: divides the logits.

    Returns:
        Two float tensors (B, C): log p(token | what precedes it), and the entropy of that distribution in nats.
        Values at masked positions are meaningless.
    """
    marked = torch.where(prompt_mask.bool(), prompt_ids, -1)
    distinct, inverse = torch.unique(marked, dim=0, return_inverse=True)  # (U, P), (B,)
    first = torch.stack([(inverse == group).nonzero()[0, 0] for group in range(distinct.shape[0])])
    ids, mask = prompt_ids[first], prompt_mask[first]
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    prompt = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1)
    shared = DynamicCache()
    for layer, cached in enumerate(prompt.cache.layers):
        shared.update(cached.keys[inverse], cached.values[inverse], layer)
    completion = (
        model(
            input_ids=completion_ids[:, :-1],
            attention_mask=torch.cat([prompt_mask, completion_mask[:, :-1]], dim=1),
            position_ids=positions[inverse, -1:] + 1 + torch.arange(completion_ids.shape[1] - 1, device=ids.device),
            cache=shared,
            use_cache=True,
        )
        if completion_ids.shape[1] > 1
        else None
    )
    logits = prompt.logits[inverse, -1:]  # (B, 1, V)
    if completion is not None:
        logits = torch.cat([logits, completion.logits], dim=1)  # (B, C, V)
    log_probabilities = functional.log_softmax(logits.float() / temperature, dim=-1)
    chosen = log_probabilities.gather(2, completion_ids.unsqueeze(2)).squeeze(2)
    with torch.no_grad():
        entropy = -(log_probabilities.exp() * log_probabilities).sum(dim=-1)
    return chosen, entropy
