"""From texts to vectors, the part that training and inference share: tokens, batches, pooling.

The forward pass here is the only one in the package, so what was trained is what is searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from lean_finder.retrieval.contract import Pooling, TokenizationContract

Tokens = npt.NDArray[np.int32]
Side = Literal["query", "document"]


class Backbone(Protocol):
    """A transformer without head: one of transformers' models, or `bert.BertBackbone`."""

    config: Any

    def to(self, device: torch.device) -> Any:
        """The model on that device."""
        ...

    def __call__(self, *, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """An object whose `last_hidden_state` is (n, width, dim)."""
        ...


class TokenizerLike(Protocol):
    """What is used of a tokenizer of transformers; `bert.BertTokenizer` offers it too."""

    pad_token_id: Any

    def __call__(self, texts: list[str], **options: Any) -> Any:
        """A mapping whose "input_ids" are the ids of each text."""
        ...

    def convert_tokens_to_ids(self, token: str) -> Any:
        """Id of one token."""
        ...


#: Texts handed to the tokenizer at once: enough for its threads, little enough to keep memory flat.
_TOKENIZER_CHUNK = 4096


def tokenize(
    tokenizer: TokenizerLike, texts: Sequence[str], contract: TokenizationContract, side: Side
) -> list[Tokens]:
    """Token ids of each text, prefix, special tokens and end token included, cut at the contract's length."""
    prefix, longest = (
        (contract.query_prefix, contract.max_query_tokens)
        if side == "query"
        else (contract.document_prefix, contract.max_document_tokens)
    )
    end = tokenizer.convert_tokens_to_ids(contract.end_token) if contract.end_token else None
    rows: list[Tokens] = []
    for start in range(0, len(texts), _TOKENIZER_CHUNK):
        chunk = [prefix + text for text in texts[start : start + _TOKENIZER_CHUNK]]
        encoded = tokenizer(chunk, truncation=True, max_length=longest, padding=False, return_attention_mask=False)
        for ids in encoded["input_ids"]:
            if end is not None and (not ids or ids[-1] != end):
                ids = [*ids[: longest - 1], end]
            rows.append(np.asarray(ids, dtype=np.int32))
    return rows


def token_batches(lengths: npt.NDArray[np.int64], max_tokens: int) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers in batches of similar length, longest first.

    A batch holds at most `max_tokens` tokens, padding included (a single longer row is a batch of its own).
    The longest rows come first, so a machine with too little memory fails at once and not after an hour.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, max_tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + size]
        start += size


def embed(
    model: Backbone,
    rows: Sequence[Tokens],
    contract: TokenizationContract,
    pad_id: int,
    device: torch.device,
) -> Tensor:
    """Vectors (n, dim) of one batch of token rows: forward pass, pooling, normalisation.

    Pooling and normalisation run in float32 whatever the model's type is.
    """
    lengths = [len(row) for row in rows]
    width = max(lengths)
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)  # (n, width)
    mask = np.zeros((len(rows), width), dtype=np.int64)  # (n, width)
    for place, row in enumerate(rows):
        columns = slice(0, len(row)) if contract.padding_side == "right" else slice(width - len(row), width)
        ids[place, columns] = row
        mask[place, columns] = 1
    attention = torch.from_numpy(mask).to(device)
    output = model(input_ids=torch.from_numpy(ids).to(device), attention_mask=attention)
    vectors = pool(output.last_hidden_state.float(), attention, contract.pooling)
    return nn.functional.normalize(vectors, dim=-1) if contract.normalise else vectors


def pool(hidden: Tensor, attention: Tensor, pooling: Pooling) -> Tensor:
    """Sentence vectors (n, dim) from hidden states (n, width, dim) and the attention mask (n, width).

    "last" is the last real token of a row, on whichever side it is padded.
    """
    if pooling == "mean":
        weights = attention.unsqueeze(-1).to(hidden.dtype)  # (n, width, 1)
        return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    places = torch.arange(attention.shape[1], device=attention.device)
    last = (attention * places).argmax(dim=1)  # (n,)
    return hidden[torch.arange(len(hidden), device=hidden.device), last]
