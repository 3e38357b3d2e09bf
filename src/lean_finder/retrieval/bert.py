"""The BERT encoder's forward pass and its tokenizer, written out for inference.

A stage that only encodes needs neither the transformers library (ten seconds of a core to import) nor its generality.
The arithmetic is `transformers.BertModel`'s in evaluation mode (Devlin et al., 2019), with the three projections of
attention as one product, and no mask where nothing is padded. Every other architecture goes through transformers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from lean_finder.errors import InputError
from lean_finder.storage import read_json

_FIX = "take the model again"
_SIZES = ("hidden_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers")
_EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings")


@dataclass(frozen=True, slots=True)
class BertShape:
    """What the forward pass needs of a model's `config.json`."""

    hidden_size: int
    max_position_embeddings: int
    num_attention_heads: int
    num_hidden_layers: int
    layer_norm_eps: float


@dataclass(frozen=True, slots=True)
class Hidden:
    """Hidden states (n, width, dim) of the last layer, under the name that transformers gives them."""

    last_hidden_state: Tensor


def is_plain_bert(folder: Path) -> bool:
    """Whether the folder holds a BERT of the original kind: one weight file, GELU, absolute positions."""
    config = read_json(folder / "config.json")
    return (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and all(isinstance(config.get(name), int) for name in _SIZES)
        and (folder / "model.safetensors").is_file()
        and (folder / "tokenizer.json").is_file()
    )


class BertBackbone:
    """A BERT without head, in evaluation mode."""

    def __init__(self, weights: dict[str, Tensor], shape: BertShape) -> None:
        self.config = shape
        self._weights = _fused(weights, shape)

    @classmethod
    def load(cls, folder: Path, dtype: torch.dtype = torch.float32) -> BertBackbone:
        """Read a folder that `is_plain_bert`, with its weights in the given type.

        Raises:
            InputError: a weight is missing, or has another shape than the config says.
        """
        config = read_json(folder / "config.json")
        shape = BertShape(**{name: config[name] for name in _SIZES}, layer_norm_eps=config.get("layer_norm_eps", 1e-12))
        weights = {
            name.removeprefix("bert."): value.to(dtype)
            for name, value in load_file(folder / "model.safetensors").items()
            if value.is_floating_point()
        }
        try:
            return cls(weights, shape)
        except (KeyError, RuntimeError) as error:
            raise InputError(folder, f"weights do not fit the config: {error}", _FIX) from error

    def to(self, device: torch.device) -> BertBackbone:
        """The same model with its weights on `device`."""
        self._weights = {name: value.to(device) for name, value in self._weights.items()}
        return self

    def __call__(self, input_ids: Tensor, attention_mask: Tensor) -> Hidden:
        """Hidden states of token ids (n, width) with their mask (n, width), 1 where a token stands."""
        weights, eps = self._weights, self.config.layer_norm_eps
        rows, width = input_ids.shape
        dim, heads = self.config.hidden_size, self.config.num_attention_heads
        mask = None if bool(attention_mask.all()) else attention_mask.bool()[:, None, None, :]  # (n, 1, 1, width)

        def norm(states: Tensor, name: str) -> Tensor:
            return functional.layer_norm(states, (dim,), weights[f"{name}.weight"], weights[f"{name}.bias"], eps)

        def linear(states: Tensor, name: str) -> Tensor:
            return functional.linear(states, weights[f"{name}.weight"], weights[f"{name}.bias"])

        states = functional.embedding(input_ids, weights["words"]) + weights["positions"][:width]
        states = norm(states, "embeddings.LayerNorm").view(rows * width, dim)
        for number in range(self.config.num_hidden_layers):
            layer = f"encoder.layer.{number}"
            parts = linear(states, f"{layer}.projections").view(rows, width, 3, heads, dim // heads)
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind()  # each (n, heads, width, dim / heads)
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            seen = linear(seen.transpose(1, 2).reshape(rows * width, dim), f"{layer}.attention.output.dense")
            states = norm(seen.add_(states), f"{layer}.attention.output.LayerNorm")
            inner = functional.gelu(linear(states, f"{layer}.intermediate.dense"))
            states = norm(linear(inner, f"{layer}.output.dense").add_(states), f"{layer}.output.LayerNorm")
        return Hidden(states.view(rows, width, dim))


class BertTokenizer:
    """A folder's `tokenizer.json`, called as the embedding code calls a tokenizer of transformers."""

    def __init__(self, tokenizer: Tokenizer, pad_token_id: int) -> None:
        self._tokenizer = tokenizer
        self.pad_token_id = pad_token_id

    @classmethod
    def load(cls, folder: Path, end_token: str = "") -> BertTokenizer:
        """Read the tokenizer.

        Raises:
            InputError: the file is damaged, or `end_token` is not in the vocabulary.
        """
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises nothing narrower
            raise InputError(
                folder, f"cannot load the tokenizer: {str(error)[:200]}", "take the model again"
            ) from error
        tokenizer.no_padding()
        if end_token and tokenizer.token_to_id(end_token) is None:
            raise InputError(folder, f"end token {end_token!r} is not in the vocabulary", "mend the contract")
        return cls(tokenizer, tokenizer.token_to_id("[PAD]") or 0)

    def __call__(self, texts: list[str], **options: Any) -> dict[str, list[list[int]]]:
        """Token ids of each text, special tokens included, cut at `options["max_length"]`."""
        self._tokenizer.enable_truncation(options["max_length"])
        return {"input_ids": [item.ids for item in self._tokenizer.encode_batch_fast(texts)]}

    def convert_tokens_to_ids(self, token: str) -> int | None:
        """Id of a token; None if it is unknown."""
        return self._tokenizer.token_to_id(token)


def _fused(weights: dict[str, Tensor], shape: BertShape) -> dict[str, Tensor]:
    """The weights by the names that the forward pass uses: projections joined, constant embeddings added up."""
    words, positions, types = (weights[f"embeddings.{name}.weight"] for name in _EMBEDDINGS)
    fused = {"words": words, "positions": positions + types[0]}
    kept = ["embeddings.LayerNorm"]
    for number in range(shape.num_hidden_layers):
        layer = f"encoder.layer.{number}"
        for part in ("weight", "bias"):
            three = [weights[f"{layer}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            fused[f"{layer}.projections.{part}"] = torch.cat(three)
        kept += [f"{layer}.{name}" for name in ("attention.output.dense", "attention.output.LayerNorm")]
        kept += [f"{layer}.{name}" for name in ("intermediate.dense", "output.dense", "output.LayerNorm")]
    return fused | {f"{name}.{part}": weights[f"{name}.{part}"] for name in kept for part in ("weight", "bias")}
