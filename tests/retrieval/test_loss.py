"""Guards the masked contrastive loss: formula, sign, boundary. Run: pytest tests/retrieval/test_loss.py"""

from __future__ import annotations

import math

import pytest
import torch

from lean_finder.errors import InputError
from lean_finder.retrieval.loss import MaskedInfoNCE


def _at(cosine: float) -> list[float]:
    """A unit vector at the given cosine to (1, 0)."""
    return [cosine, math.sqrt(1 - cosine**2)]


def _one_query(cosines: list[float], families: list[int], margin: float) -> tuple[float, float]:
    """Loss and masked share of one query (1, 0) whose positive is document 0."""
    output = MaskedInfoNCE(temperature=0.5, margin=margin)(
        torch.tensor([[1.0, 0.0]]),
        torch.tensor([_at(cosine) for cosine in cosines]),
        torch.tensor([0]),
        torch.tensor(families),
    )
    return output.loss.item(), output.masked_share


def _info_nce(positive: float, negatives: list[float], temperature: float = 0.5) -> float:
    total = sum(math.exp(value / temperature) for value in [positive, *negatives])
    return -math.log(math.exp(positive / temperature) / total)


def test_without_masks_it_is_info_nce() -> None:
    loss, share = _one_query([0.8, 0.3, -0.2], [0, 1, 2], margin=math.inf)
    assert loss == pytest.approx(_info_nce(0.8, [0.3, -0.2]), abs=1e-6)
    assert share == 0


@pytest.mark.parametrize(
    ("negative", "dropped"),
    [
        pytest.param(0.55, False, id="above the positive but inside the margin stays (GISTEmbed would drop it)"),
        pytest.param(0.45, False, id="below the positive by less than the margin stays (the wrong sign drops it)"),
        pytest.param(0.599, False, id="just inside the margin stays"),
        pytest.param(0.601, True, id="just beyond the margin goes"),
        pytest.param(0.95, True, id="far beyond the margin goes"),
    ],
)
def test_margin_mask_has_the_papers_sign(negative: float, dropped: bool) -> None:
    loss, share = _one_query([0.5, negative, 0.1], [0, 1, 2], margin=0.1)
    kept = [0.1] if dropped else [negative, 0.1]
    assert loss == pytest.approx(_info_nce(0.5, kept), abs=1e-6)
    assert share == (0.5 if dropped else 0)


def test_margin_is_strict_at_the_boundary() -> None:
    # Exact in binary: cosines 0 and 1, margin 1: 1 > 0 + 1 is false.
    loss, share = _one_query([0.0, 1.0], [0, 1], margin=1.0)
    assert share == 0
    assert loss == pytest.approx(_info_nce(0.0, [1.0]), abs=1e-6)


def test_family_is_masked_whatever_its_score() -> None:
    loss, share = _one_query([0.5, 0.2, 0.1], [7, 7, 8], margin=math.inf)
    assert loss == pytest.approx(_info_nce(0.5, [0.1]), abs=1e-6)
    assert share == 0.5


def test_positive_is_never_masked() -> None:
    # Its own family, and (margin −2) beyond every margin: all others go, it stays, the loss is 0.
    loss, share = _one_query([0.5, 0.2, 0.9], [3, 3, 4], margin=-2.0)
    assert loss == pytest.approx(0.0, abs=1e-7)
    assert share == 1.0


def test_second_direction_masks_queries_of_the_family() -> None:
    queries = torch.tensor([_at(1.0), _at(0.9), _at(-0.5)])
    documents = torch.tensor([_at(0.95), _at(0.2), _at(-0.9)])
    families = torch.tensor([0, 0, 1])
    loss = MaskedInfoNCE(0.5, math.inf, bidirectional=True)(queries, documents, torch.arange(3), families)
    scores = (queries @ documents.T).tolist()
    forward = [
        _info_nce(scores[0][0], [scores[0][2]]),
        _info_nce(scores[1][1], [scores[1][2]]),
        _info_nce(scores[2][2], scores[2][:2]),
    ]
    back = [
        _info_nce(scores[0][0], [scores[2][0]]),
        _info_nce(scores[1][1], [scores[2][1]]),
        _info_nce(scores[2][2], [scores[0][2], scores[1][2]]),
    ]
    assert loss.loss.item() == pytest.approx((sum(forward) + sum(back)) / 6, abs=1e-5)


def test_two_queries_may_share_one_positive() -> None:
    # Rows 0 and 1 point at document 0; in the second direction they must not push each other away.
    queries = torch.tensor([_at(1.0), _at(0.9), _at(-0.5)])
    documents = torch.tensor([_at(0.95), _at(-0.9)])
    output = MaskedInfoNCE(0.5, math.inf, bidirectional=True)(
        queries, documents, torch.tensor([0, 0, 1]), torch.tensor([0, 1])
    )
    scores = (queries @ documents.T).tolist()
    back = [_info_nce(scores[0][0], [scores[2][0]]), _info_nce(scores[1][0], [scores[2][0]])]
    back.append(_info_nce(scores[2][1], [scores[0][1], scores[1][1]]))
    forward = [_info_nce(scores[0][0], [scores[0][1]]), _info_nce(scores[1][0], [scores[1][1]])]
    forward.append(_info_nce(scores[2][1], [scores[2][0]]))
    assert output.loss.item() == pytest.approx((sum(forward) + sum(back)) / 6, abs=1e-5)


def test_matryoshka_is_the_mean_over_prefixes() -> None:
    torch.manual_seed(0)
    queries, documents = torch.randn(5, 8), torch.randn(5, 8)
    order = torch.arange(5)
    parts = [MaskedInfoNCE(0.1, math.inf)(queries[:, :size], documents[:, :size], order, order).loss for size in (8, 4)]
    both = MaskedInfoNCE(0.1, math.inf, matryoshka=(8, 4))(queries, documents, order, order).loss
    assert both.item() == pytest.approx(sum(part.item() for part in parts) / 2, abs=1e-6)


def test_masks_carry_no_gradient_and_loss_does() -> None:
    torch.manual_seed(0)
    queries = torch.randn(4, 8, requires_grad=True)
    documents = torch.randn(4, 8, requires_grad=True)
    order = torch.arange(4)
    MaskedInfoNCE(0.1, -0.2, bidirectional=True)(queries, documents, order, order).loss.backward()
    assert torch.isfinite(queries.grad).all() and queries.grad.abs().sum() > 0
    assert torch.isfinite(documents.grad).all()


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"temperature": 0.0, "margin": 0.1}, "temperature"),
        ({"temperature": 0.1, "margin": math.nan}, "margin"),
        ({"temperature": 0.1, "margin": 0.1, "matryoshka": (0,)}, "matryoshka"),
    ],
)
def test_impossible_settings_are_refused(arguments: dict, where: str) -> None:
    with pytest.raises(InputError, match=where):
        MaskedInfoNCE(**arguments)


def test_matryoshka_beyond_the_vector_is_refused() -> None:
    with pytest.raises(InputError, match="matryoshka"):
        MaskedInfoNCE(0.1, 0.1, matryoshka=(16,))(torch.ones(2, 8), torch.ones(2, 8), torch.arange(2), torch.arange(2))
