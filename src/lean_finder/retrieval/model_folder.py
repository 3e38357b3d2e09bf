"""Model folders on disk: checked before anything is loaded, written so that others can load them too.

A folder is a sentence-transformers folder (`modules.json`) or a plain Hugging Face one. Only safetensors weights
are read. What we write is a sentence-transformers folder plus our `contract.json`.
"""

# ruff: noqa: PLC0415 - transformers takes ten seconds of a core to import, and encoding with a BERT does without
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open

from lean_finder.errors import InputError
from lean_finder.retrieval.contract import CONTRACT_FILE, Pooling, TokenizationContract
from lean_finder.storage import atomic_path, file_digest, read_json, write_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_FIX = "make the folder again: dvc repro prepare_models, or name a complete model folder"

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

#: Last-token architectures; every other one is pooled by mean unless the folder itself says otherwise.
_DECODERS = ("qwen2", "qwen3", "mistral", "llama", "gemma")


def check_model_folder(folder: Path) -> list[Path]:
    """The weight files of a complete model folder, in sorted order.

    Raises:
        InputError: the folder, its config, its tokenizer or its safetensors weights are missing or cut short.
    """
    if not folder.is_dir():
        raise InputError(folder, "no such model folder", _FIX)
    for name in ("config.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise InputError(folder, f"incomplete model folder: {name} is missing", _FIX)
    read_json(folder / "config.json")
    index = folder / "model.safetensors.index.json"
    names = sorted(set(read_json(index)["weight_map"].values())) if index.is_file() else ["model.safetensors"]
    paths = [folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise InputError(folder, f"incomplete model folder: {path.name} is missing", _FIX)
        try:
            with safe_open(path, framework="pt") as weights:
                weights.keys()
        except (SafetensorError, OSError) as error:
            raise InputError(path, "damaged or truncated weights", _FIX) from error
    return paths


def weights_digest(folder: Path) -> str:
    """SHA-256 over the weight files of a model folder, in hex: the identity of a model."""
    paths = check_model_folder(folder)
    if len(paths) == 1:
        return file_digest(paths[0])
    return "-".join(file_digest(path)[:16] for path in paths)


def stored_pooling(folder: Path) -> Pooling | None:
    """The pooling that a sentence-transformers folder declares; None if it declares none.

    Raises:
        InputError: it declares one that we do not have (cls, max, ...).
    """
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return None
    config = read_json(path)
    flags = {"pooling_mode_mean_tokens": "mean", "pooling_mode_lasttoken": "last"}
    mode = config.get("pooling_mode") or next(
        (flags.get(name, name) for name, value in config.items() if name.startswith("pooling_mode_") and value), ""
    )
    if mode in ("lasttoken", "last"):
        return "last"
    if mode == "mean":
        return "mean"
    raise InputError(path, f"pooling {mode!r} is not supported", "mean or last token")


def contract_of_folder(folder: Path) -> TokenizationContract:
    """The contract of a model folder: its `contract.json`, else what its other files say.

    A folder made elsewhere tells its pooling, prefixes ("query" and "document" prompts) and longest sequence;
    its renderer is "" (unknown).

    Raises:
        InputError: the contract is damaged or contradicts the folder's own pooling.
    """
    pooling = stored_pooling(folder)
    if (folder / CONTRACT_FILE).is_file():
        contract = TokenizationContract.load(folder)
        if pooling is not None and pooling != contract.pooling:
            raise InputError(folder / CONTRACT_FILE, f"pooling {contract.pooling!r}, the model says {pooling!r}", _FIX)
        return contract
    decoder = str(read_json(folder / "config.json").get("model_type", "")).startswith(_DECODERS)
    contract = TokenizationContract(
        pooling=pooling or ("last" if decoder else "mean"), padding_side="left" if decoder else "right"
    )
    settings = folder / "config_sentence_transformers.json"
    prompts = read_json(settings).get("prompts") or {} if settings.is_file() else {}
    return replace(contract, query_prefix=prompts.get("query") or "", document_prefix=prompts.get("document") or "")


def load_tokenizer(folder: Path, contract: TokenizationContract) -> PreTrainedTokenizerBase:
    """The folder's fast tokenizer, padding on the contract's side.

    Raises:
        InputError: the tokenizer is damaged, or the contract's end token is not in its vocabulary.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        raise InputError(folder, f"cannot load the tokenizer: {_head(error)}", _FIX) from error
    tokenizer.padding_side = contract.padding_side
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if contract.end_token and contract.end_token not in tokenizer.get_vocab():
        raise InputError(folder, f"end token {contract.end_token!r} is not in the vocabulary", "mend the contract")
    return tokenizer


def load_backbone(folder: Path, dtype: torch.dtype, **config: Any) -> PreTrainedModel:
    """The folder's transformer without head, in evaluation mode on the CPU.

    `config` overrides entries of the model's config (dropout, for instance).

    Raises:
        InputError: the folder is incomplete or not a transformer.
    """
    from transformers import AutoModel
    from transformers.utils import logging as transformers_logging

    check_model_folder(folder)
    # One bar per load would drown the stage's own progress.
    transformers_logging.disable_progress_bar()
    try:
        model = AutoModel.from_pretrained(
            folder, dtype=dtype, local_files_only=True, use_safetensors=True, trust_remote_code=False, **config
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(folder, f"cannot load the model: {_head(error)}", _FIX) from error
    model.eval()
    return model


def save_model_folder(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, contract: TokenizationContract, folder: Path
) -> None:
    """Write a sentence-transformers folder with `contract.json`, atomically.

    Plain `SentenceTransformer(folder)` gives the same vectors when it is told to cut at the contract's lengths.
    """
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    with atomic_path(folder) as scratch:
        scratch.mkdir(parents=True)
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        kinds = ["Transformer", "Pooling", *(["Normalize"] if contract.normalise else [])]
        modules = [
            {
                "idx": place,
                "name": str(place),
                "path": "" if place == 0 else f"{place}_{kind}",
                "type": f"sentence_transformers.models.{kind}",
            }
            for place, kind in enumerate(kinds)
        ]
        write_json(scratch / "modules.json", modules)
        write_json(
            scratch / "1_Pooling" / "config.json",
            {
                "word_embedding_dimension": model.config.hidden_size,
                "pooling_mode_cls_token": False,
                "pooling_mode_max_tokens": False,
                "pooling_mode_mean_sqrt_len_tokens": False,
                "pooling_mode_mean_tokens": contract.pooling == "mean",
                "pooling_mode_lasttoken": contract.pooling == "last",
            },
        )
        longest = max(contract.max_query_tokens, contract.max_document_tokens)
        write_json(scratch / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})
        write_json(
            scratch / "config_sentence_transformers.json",
            {"prompts": {"query": contract.query_prefix, "document": contract.document_prefix}},
        )
        contract.save(scratch)


def _head(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
