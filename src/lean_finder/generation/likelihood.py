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


def completion_log_probabilities(
    model: Any,
    prompt_ids: torch.Tensor,
    prompt_mask: torch.Tensor,
    completion_ids: torch.Tensor,
    completion_mask: torch.Tensor,
    temperature: float = 1.0,
    prompt_gradients: bool = True,
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

    Returns:
        Two float tensors (B, C): log p(token | what precedes it), and the entropy of that distribution in nats.
        Values at masked positions are meaningless.
    """
    marked = torch.where(prompt_mask.bool(), prompt_ids, -1)
    distinct, inverse = torch.unique(marked, dim=0, return_inverse=True)  # (U, P), (B,)
    first = torch.stack([(inverse == group).nonzero()[0, 0] for group in range(distinct.shape[0])])
    ids, mask = prompt_ids[first, :-1], prompt_mask[first, :-1]  # the last token goes with the completion
    shared = DynamicCache()
    if ids.shape[1]:
        with nullcontext() if prompt_gradients else torch.no_grad():
            positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
            prompt = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1)
        for layer, cached in enumerate(prompt.cache.layers):
            shared.update(cached.keys[inverse], cached.values[inverse], layer)
    start = mask.sum(dim=1)[inverse].unsqueeze(1)  # (B, 1): position of the prompt's last token
    logits = model(
        input_ids=torch.cat([prompt_ids[:, -1:], completion_ids[:, :-1]], dim=1),
        attention_mask=torch.cat([prompt_mask, completion_mask[:, :-1]], dim=1),
        position_ids=start + torch.arange(completion_ids.shape[1], device=ids.device),
        cache=shared,
        use_cache=True,
    ).logits  # (B, C, V)
    log_probabilities = functional.log_softmax(logits.float() / temperature, dim=-1)
    chosen = log_probabilities.gather(2, completion_ids.unsqueeze(2)).squeeze(2)
    with torch.no_grad():
        entropy = -(log_probabilities.exp() * log_probabilities).sum(dim=-1)
    return chosen, entropy
