"""The masked contrastive loss: InfoNCE over the batch without its false negatives.

For query q with positive d⁺ and temperature τ, over the batch's candidates d:

    loss(q) = −log( exp(cos(q,d⁺)/τ) / Σ_{d ∈ kept(q)} exp(cos(q,d)/τ) )

A candidate d⁻ is dropped when `cos(q,d⁻) > cos(q,d⁺) + m` (it beats the positive by more than the margin, so it is
probably a second right answer), and always when it is of the positive's family; d⁺ itself is never dropped. Note
the sign: GISTEmbed drops above `cos(q,d⁺) − m`. The margin of 0.1 is Qwen3-Embedding's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lean_finder.errors import InputError


@dataclass(frozen=True, slots=True)
class LossOutput:
    """Loss of one batch.

    Attributes:
        loss: scalar, with gradient.
        masked_share: share of the (query, other document) pairs dropped by the margin or the family.
        family_share: share of those pairs that are dropped by the family alone.
    """

    loss: Tensor
    masked_share: float
    family_share: float


class MaskedInfoNCE(nn.Module):
    """The loss as a callable.

    Args:
        temperature: τ > 0.
        margin: m; infinite switches the margin mask off.
        bidirectional: add the second direction, from each positive document to the batch's queries, with the
            same two masks; the loss is then the mean of both.
        matryoshka: vector prefixes to train, e.g. (384, 192, 96); the loss is the mean over them, each
            prefix normalised anew. () means the full vector alone. The margin mask is always taken on the
            full vector, the best judge in the batch.
    """

    def __init__(
        self,
        temperature: float,
        margin: float,
        *,
        bidirectional: bool = False,
        matryoshka: Sequence[int] = (),
    ) -> None:
        super().__init__()
        if not temperature > 0:
            raise InputError("temperature", f"{temperature} is not above 0", "the usual range is 0.01 to 0.1")
        if margin != margin:
            raise InputError("margin", "is not a number", "Qwen3-Embedding uses 0.1")
        if any(size < 1 for size in matryoshka):
            raise InputError("matryoshka", f"{list(matryoshka)}", "sizes of at least 1")
        self.temperature = temperature
        self.margin = margin
        self.bidirectional = bidirectional
        self.matryoshka = tuple(matryoshka)

    def forward(self, queries: Tensor, documents: Tensor, positives: Tensor, families: Tensor) -> LossOutput:
        """Loss of B queries over C candidate documents.

        Args:
            queries: (B, dim).
            documents: (C, dim); the positives of all queries and any hard negatives.
            positives: (B,) row of each query's positive in `documents`.
            families: (C,) family number of each document.
        """
        sizes = self.matryoshka or (queries.shape[1],)
        if max(sizes) > queries.shape[1]:
            raise InputError("matryoshka", f"{max(sizes)} of {queries.shape[1]} dimensions", "lower the sizes")
        full = _cosines(queries, documents).detach()  # (B, C)
        positive = nn.functional.one_hot(positives, len(documents)).bool()  # (B, C)
        family = families[positives].unsqueeze(1) == families.unsqueeze(0)  # (B, C)
        own = full.gather(1, positives.unsqueeze(1))  # (B, 1)
        margin = full > own + self.margin  # (B, C)
        dropped = (family | margin) & ~positive

        # Second direction: document i = positive of query i, candidates = all queries.
        pairs = full[:, positives]  # (B, B): [q, d]
        diagonal = torch.eye(len(queries), dtype=torch.bool, device=queries.device)
        back_dropped = ((pairs > pairs.diagonal().unsqueeze(0) + self.margin) | family[:, positives]) & ~diagonal

        parts: list[Tensor] = []
        for size in sizes:
            scores = _cosines(queries[:, :size], documents[:, :size]) / self.temperature  # (B, C)
            forward = nn.functional.cross_entropy(scores.masked_fill(dropped, -torch.inf), positives)
            if not self.bidirectional:
                parts.append(forward)
                continue
            back = scores[:, positives].masked_fill(back_dropped, -torch.inf).T  # (B, B): [d, q]
            labels = torch.arange(len(queries), device=queries.device)
            parts.append((forward + nn.functional.cross_entropy(back, labels)) / 2)
        others = max(1, dropped.numel() - len(queries))
        return LossOutput(
            loss=torch.stack(parts).mean(),
            masked_share=dropped.sum().item() / others,
            family_share=(family & ~positive).sum().item() / others,
        )


def _cosines(left: Tensor, right: Tensor) -> Tensor:
    normalise = nn.functional.normalize
    return normalise(left, dim=-1) @ normalise(right, dim=-1).T
