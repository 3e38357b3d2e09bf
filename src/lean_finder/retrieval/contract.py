"""The tokenization contract: everything about text, tokens and pooling that must be equal at training,
indexing and query time.

A forgotten prefix, a pooling of the wrong token or a lost end token does not crash; it quietly costs half the
quality. So the contract is stored as `contract.json` beside the model and inside the index, and a difference is
an error that names the field.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from lean_finder.errors import InputError
from lean_finder.storage import read_json, write_json

Pooling = Literal["mean", "last"]
PaddingSide = Literal["left", "right"]

CONTRACT_FILE = "contract.json"


@dataclass(frozen=True, slots=True)
class TokenizationContract:
    """How a text becomes a vector.

    Attributes:
        query_prefix: put before every query, e.g. the instruction of Qwen3-Embedding.
        document_prefix: put before every document.
        pooling: "mean" over all tokens, or the hidden state of the "last" one.
        padding_side: where a short row of a batch is filled up.
        end_token: token text that every sequence must end with ("" if the tokenizer's own suffices).
        normalise: vectors are scaled to length 1.
        max_query_tokens: longer queries are cut, special tokens included.
        max_document_tokens: longer documents are cut, special tokens included.
        renderer: versioned name of the function that wrote the texts.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Pooling = "mean"
    padding_side: PaddingSide = "right"
    end_token: str = ""
    normalise: bool = True
    max_query_tokens: int = 64
    max_document_tokens: int = 128
    renderer: str = ""

    def __post_init__(self) -> None:
        for name, allowed in (("pooling", get_args(Pooling)), ("padding_side", get_args(PaddingSide))):
            if getattr(self, name) not in allowed:
                raise InputError(f"contract.{name}", f"{getattr(self, name)!r}", f"one of {', '.join(allowed)}")
        for name in ("max_query_tokens", "max_document_tokens"):
            if getattr(self, name) < 4:
                raise InputError(f"contract.{name}", f"{getattr(self, name)} tokens", "at least 4")

    def save(self, folder: Path) -> None:
        """Write `contract.json` into `folder`."""
        write_json(folder / CONTRACT_FILE, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> TokenizationContract:
        """Read `contract.json` from `folder`.

        Raises:
            InputError: the file is missing, or has a missing, unknown or impossible field.
        """
        return cls.from_dict(read_json(folder / CONTRACT_FILE), folder / CONTRACT_FILE)

    @classmethod
    def from_dict(cls, values: Any, where: object) -> TokenizationContract:
        """The contract of a JSON object read from `where`; raises InputError as `load` does."""
        known = {field.name: type(field.default) for field in fields(cls)}
        if not isinstance(values, dict):
            raise InputError(where, "expected a JSON object", "the file that training wrote")
        for name in sorted(known.keys() ^ values.keys()):
            problem = "missing field" if name in known else "unknown field"
            raise InputError(where, f"{problem} {name!r}", "made by another version: train or index again")
        for name, kind in known.items():
            if type(values[name]) is not kind:
                raise InputError(where, f"{name} is {values[name]!r}", f"expected {kind.__name__}")
        return cls(**cast("dict[str, Any]", values))

    def differences(self, other: TokenizationContract) -> list[str]:
        """One "field: mine / theirs" text for each field that differs."""
        mine, theirs = asdict(self), asdict(other)
        return [f"{name}: {mine[name]!r} / {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]

    def require_equal(self, other: TokenizationContract, where: object) -> None:
        """Raise InputError, naming `where` and the first difference, unless both contracts are equal."""
        if differences := self.differences(other):
            raise InputError(where, f"another tokenization contract: {differences[0]}", "train or index again")

    def digest(self) -> str:
        """SHA-256 of the contract, in hex."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
