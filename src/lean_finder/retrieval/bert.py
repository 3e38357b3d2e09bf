"""The BERT encoder's forward pass and its tokenizer, written out for inference.

A stage that only encodes needs neither the transformers library (ten seconds of a core to import) nor its generality.
The arithmetic is `transformers.BertModel`'s in evaluation mode (Devlin et al., 2019), with the three projections of
attention as one product, and no mask where nothing is padded. Every other architecture goes through transformers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from lean_finder.errors import InputError
from lean_finder.storage import read_json

_FIX = "take the model again"
_SIZES = ("hidden_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers")
#: oneDNN lays a weight out for products with about this many rows; any number works.
_PACKED_ROWS = 1024
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


class _Linear:
    """A linear layer, and after it GELU or nothing.

    On a CPU the weight lies as oneDNN's product wants it, and GELU is taken before a result leaves the cache: 260
    instead of 110 GFLOP/s of a core with AVX-512 (reports/LOG.md). PyTorch's own compiler emits the same two operators;
    where this build or this processor has none for the weight's type, PyTorch's usual product is taken.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight, self._bias = weight, bias
        self._packed: Tensor | None = None

    def to(self, device: torch.device) -> _Linear:
        """The same layer on `device`."""
        self._weight, self._bias = self._weight.to(device), self._bias.to(device)
        self._packed = None
        if device.type == "cpu" and _packs(self._weight.dtype):
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self._weight, _PACKED_ROWS)
        return self

    def __call__(self, states: Tensor, activation: Literal["none", "gelu"] = "none") -> Tensor:
        """States (n, out) of states (n, in)."""
        if self._packed is not None:
            done: Tensor = torch.ops.mkldnn._linear_pointwise(states, self._packed, self._bias, activation, [], "none")
            return done
        after = functional.linear(states, self._weight, self._bias)
        return functional.gelu(after) if activation == "gelu" else after


def _packs(dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies this type on this processor: half precision needs instructions of its own."""
    if not torch.backends.mkldnn.is_available():
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    if dtype == torch.float16:
        return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())
    return dtype == torch.float32


class BertBackbone:
    """A BERT without head, in evaluation mode."""

    def __init__(self, weights: dict[str, Tensor], shape: BertShape) -> None:
        self.config = shape
        self._weights, self._linears = _fused(weights, shape)

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
        self._linears = {name: layer.to(device) for name, layer in self._linears.items()}
        return self

    def __call__(self, input_ids: Tensor, attention_mask: Tensor) -> Hidden:
        """Hidden states of token ids (n, width) with their mask (n, width), 1 where a token stands."""
        weights, linears, eps = self._weights, self._linears, self.config.layer_norm_eps
        rows, width = input_ids.shape
        dim, heads = self.config.hidden_size, self.config.num_attention_heads
        mask = None if bool(attention_mask.all()) else attention_mask.bool()[:, None, None, :]  # (n, 1, 1, width)

        def norm(states: Tensor, name: str) -> Tensor:
            return functional.layer_norm(states, (dim,), weights[f"{name}.weight"], weights[f"{name}.bias"], eps)

        states = functional.embedding(input_ids, weights["words"]) + weights["positions"][:width]
        states = norm(states, "embeddings.LayerNorm").view(rows * width, dim)
        for number in range(self.config.num_hidden_layers):
            layer = f"encoder.layer.{number}"
            parts = linears[f"{layer}.projections"](states).view(rows, width, 3, heads, dim // heads)
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind()  # each (n, heads, width, dim / heads)
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            seen = linears[f"{layer}.attention.output.dense"](seen.transpose(1, 2).reshape(rows * width, dim))
            states = norm(seen.add_(states), f"{layer}.attention.output.LayerNorm")
            inner = linears[f"{layer}.intermediate.dense"](states, "gelu")
            states = norm(linears[f"{layer}.output.dense"](inner).add_(states), f"{layer}.output.LayerNorm")
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


def _fused(weights: dict[str, Tensor], shape: BertShape) -> tuple[dict[str, Tensor], dict[str, _Linear]]:
    """Weights and layers by the names that the forward pass uses: projections joined, constant embeddings added up."""
    words, positions, types = (weights[f"embeddings.{name}.weight"] for name in _EMBEDDINGS)
    fused = {"words": words, "positions": positions + types[0]}
    norms, linears = ["embeddings.LayerNorm"], {}
    for number in range(shape.num_hidden_layers):
        layer = f"encoder.layer.{number}"
        three = [f"{layer}.attention.self.{name}" for name in ("query", "key", "value")]
        weight, bias = (torch.cat([weights[f"{name}.{part}"] for name in three]) for part in ("weight", "bias"))
        linears[f"{layer}.projections"] = _Linear(weight, bias)
        for name in (f"{layer}.{name}" for name in ("attention.output.dense", "intermediate.dense", "output.dense")):
            linears[name] = _Linear(weights[f"{name}.weight"], weights[f"{name}.bias"])
        norms += [f"{layer}.{name}.LayerNorm" for name in ("attention.output", "output")]
    return fused | {
        f"{name}.{part}": weights[f"{name}.{part}"] for name in norms for part in ("weight", "bias")
    }, linears
