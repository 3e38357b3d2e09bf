"""The encoder: a model folder and its contract, from texts to vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from lean_finder.errors import InputError
from lean_finder.retrieval.bert import BertBackbone, BertTokenizer, is_plain_bert
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.embedding import Backbone, Side, TokenizerLike, embed, token_batches, tokenize
from lean_finder.retrieval.model_folder import (
    DTYPES,
    contract_of_folder,
    load_backbone,
    load_tokenizer,
    weights_digest,
)
from lean_finder.retrieval.threads import map_in_threads

logger = logging.getLogger(__name__)

Vectors = npt.NDArray[np.float32]

#: Tokens of one batch, padding included, by device and whether its numbers are full-wide: on a CPU what stays in
#: cache (512 to 4,096 half-wide ones were equally fast), on a GPU what fills it.
_BATCH_TOKENS = {("cpu", True): 1024, ("cpu", False): 4096, ("cuda", True): 65536, ("cuda", False): 65536}


def pick_device(name: str) -> torch.device:
    """The named torch device; "auto" is the GPU if there is one.

    Raises:
        InputError: unknown, or not present on this machine.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError("device", f"unknown device {name!r}", "auto, cpu, cuda or cuda:<number>") from error
    if device.type not in ("cpu", "cuda"):
        raise InputError("device", f"{name!r} is not supported", "auto, cpu, cuda or cuda:<number>")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("device", f"{name!r} asked for, this machine has no CUDA device", "use auto or cpu")
    return device


class Encoder:
    """Texts to vectors with one model under one tokenization contract."""

    def __init__(
        self,
        model: Backbone,
        tokenizer: TokenizerLike,
        contract: TokenizationContract,
        *,
        device: torch.device,
        digest: str,
        dtype: str = "float32",
    ) -> None:
        self.model = model.to(device)
        self.tokenizer = tokenizer
        self.contract = contract
        self.device = device
        #: Digest of the weights: the model's identity.
        self.digest = digest
        #: Type of the weights; vectors are float32 always.
        self.dtype = dtype

    @classmethod
    def load(
        cls,
        folder: Path,
        contract: TokenizationContract | None = None,
        device: str = "auto",
        dtype: str = "float32",
    ) -> Encoder:
        """Load a sentence-transformers or Hugging Face folder.

        Args:
            folder: model folder with safetensors weights.
            contract: what the caller relies on; None takes the folder's own (`contract.json`, else what its
                files tell). A folder with `contract.json` must carry exactly this contract.
            device: auto, cpu, cuda, cuda:<number>.
            dtype: float32, bfloat16 or float16: type of the weights; vectors are float32 always.

        Raises:
            InputError: missing or incomplete folder, contract mismatch, unknown device or dtype.
        """
        folder = Path(folder)
        if dtype not in DTYPES:
            raise InputError("dtype", f"unknown type {dtype!r}", f"one of {', '.join(DTYPES)}")
        digest = weights_digest(folder)
        own = contract_of_folder(folder)
        if contract is None:
            contract = own
        elif (folder / "contract.json").is_file():
            contract.require_equal(own, folder)
        model: Backbone
        tokenizer: TokenizerLike
        if is_plain_bert(folder):
            model, tokenizer = BertBackbone.load(folder, DTYPES[dtype]), BertTokenizer.load(folder, contract.end_token)
        else:
            model, tokenizer = load_backbone(folder, DTYPES[dtype]), load_tokenizer(folder, contract)
        longest = max(contract.max_query_tokens, contract.max_document_tokens)
        limit = getattr(model.config, "max_position_embeddings", longest)
        if longest > limit:
            raise InputError(folder, f"contract allows {longest} tokens, the model {limit}", "lower the maximum")
        return cls(model, tokenizer, contract, device=pick_device(device), digest=digest, dtype=dtype)

    @property
    def dim(self) -> int:
        """Number of dimensions of a vector."""
        return int(self.model.config.hidden_size)

    def encode_queries(self, texts: Sequence[str], progress: bool = False) -> Vectors:
        """Vectors (n, dim) of queries, in the given order."""
        return self._encode(texts, "query", progress)

    def encode_documents(self, texts: Sequence[str], progress: bool = False) -> Vectors:
        """Vectors (n, dim) of rendered documents, in the given order."""
        return self._encode(texts, "document", progress)

    def _encode(self, texts: Sequence[str], side: Side, progress: bool) -> Vectors:
        rows = tokenize(self.tokenizer, texts, self.contract, side)
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        vectors = np.empty((len(rows), self.dim), dtype=np.float32)
        pad_id = int(self.tokenizer.pad_token_id or 0)
        batches = list(token_batches(lengths, _BATCH_TOKENS[self.device.type, self.dtype == "float32"]))

        def encode(batch: npt.NDArray[np.int64]) -> Vectors:
            with torch.inference_mode():
                output = embed(self.model, [rows[row] for row in batch], self.contract, pad_id, self.device)
            return output.cpu().numpy()

        with tqdm(total=int(lengths.sum()), unit="token", unit_scale=True, disable=not progress, desc=side) as bar:
            for batch, output in zip(batches, map_in_threads(encode, batches, self.device), strict=True):
                vectors[batch] = output
                bar.update(int(lengths[batch].sum()))
        return vectors
