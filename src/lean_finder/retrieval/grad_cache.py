"""Gradient caching: the gradient of one large batch, in the memory of a small one.

Contrastive loss needs all vectors of the batch at once, but not their activations. So: (1) embed every micro-batch
without activations; (2) compute the loss on the vectors and its gradient on each of them; (3) embed each
micro-batch again, now with activations, and push its vectors' gradient through. Scaling Deep Contrastive Learning
Batch Size under Memory Limited Setup (Gao et al., 2021), section 3.2. The second pass repeats the first one's
random numbers, so dropout is the same and the gradient is that of the plain pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Forward = Callable[[], Tensor]


def backward_plain(forwards: Sequence[Forward], loss_of: Callable[[Tensor], Tensor]) -> None:
    """The plain pass: all micro-batches with activations, then one backward pass."""
    loss_of(torch.cat([forward() for forward in forwards])).backward()


def backward_cached(forwards: Sequence[Forward], loss_of: Callable[[Tensor], Tensor]) -> None:
    """Add the gradient of `loss_of(vectors)` to the parameters, one micro-batch in memory at a time.

    Args:
        forwards: each embeds one micro-batch and returns (n_i, dim); called twice.
        loss_of: scalar loss of the concatenated vectors (Σ n_i, dim).
    """
    states: list[tuple[Tensor, Tensor | None]] = []
    pieces: list[Tensor] = []
    with torch.no_grad():
        for forward in forwards:
            states.append(_random_state())
            pieces.append(forward())
    after = _random_state()
    vectors = torch.cat(pieces).requires_grad_()
    loss_of(vectors).backward()
    assert vectors.grad is not None
    gradients = vectors.grad.split([len(piece) for piece in pieces])
    for forward, state, gradient in zip(forwards, states, gradients, strict=True):
        _restore(state)
        forward().backward(gradient)
    _restore(after)


def _random_state() -> tuple[Tensor, Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state() if torch.cuda.is_available() else None


def _restore(state: tuple[Tensor, Tensor | None]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1])
