"""What every retriever offers, dense, lexical or hybrid: the best names, and the exact rank of a given one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lean_finder.errors import InputError


@dataclass(frozen=True, slots=True)
class Answer:
    """The best declarations for one query, best first; scores do not increase."""

    names: tuple[str, ...]
    scores: tuple[float, ...]


class Retriever(Protocol):
    """Search over one corpus. Deterministic; queries are taken as a person typed them.

    Both methods raise InputError for a query that `clean_query` refuses.
    """

    def rank(self, queries: Sequence[str], k: int) -> list[Answer]:
        """The k best declarations for each query (fewer if the corpus is smaller)."""
        ...

    def gold_ranks(self, queries: Sequence[str], golds: Sequence[str]) -> list[int | None]:
        """1-based rank of each query's gold over the whole corpus, ties counted against it; None: not in the corpus."""
        ...


def clean_query(text: str) -> str:
    """The query on one line, without control characters.

    Raises:
        InputError: nothing is left.
    """
    visible = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
    cleaned = " ".join(visible.split())
    if not cleaned:
        raise InputError("query", "is empty", "type what the declaration says")
    return cleaned
