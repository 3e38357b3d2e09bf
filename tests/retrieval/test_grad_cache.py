"""Guards that gradient caching gives the plain pass's gradient. Run: pytest tests/retrieval/test_grad_cache.py"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lean_finder.retrieval.grad_cache import backward_cached, backward_plain
from lean_finder.retrieval.loss import MaskedInfoNCE


def _gradients(backward: Callable[..., None], dropout: float) -> list[Tensor]:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 8)).double()
    data = torch.randn(12, 6, dtype=torch.float64)
    loss = MaskedInfoNCE(0.1, 0.1, bidirectional=True)
    order = torch.arange(6)
    forwards = [lambda rows=rows: model(data[rows]) for rows in (slice(0, 5), slice(5, 9), slice(9, 12))]
    torch.manual_seed(4)
    backward(forwards, lambda vectors: loss(vectors[:6], vectors[6:], order, order).loss)
    return [parameter.grad for parameter in model.parameters()]


def test_gradients_are_equal() -> None:
    for plain, cached in zip(_gradients(backward_plain, 0.0), _gradients(backward_cached, 0.0), strict=True):
        torch.testing.assert_close(cached, plain, rtol=1e-10, atol=1e-12)


def test_dropout_repeats_its_random_numbers() -> None:
    for plain, cached in zip(_gradients(backward_plain, 0.5), _gradients(backward_cached, 0.5), strict=True):
        torch.testing.assert_close(cached, plain, rtol=1e-10, atol=1e-12)


def test_random_state_afterwards_is_that_of_one_pass() -> None:
    _gradients(backward_plain, 0.5)
    plain = torch.rand(1)
    _gradients(backward_cached, 0.5)
    assert torch.rand(1) == plain
