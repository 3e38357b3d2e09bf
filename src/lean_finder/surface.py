"""What queries look like from outside: their kinds, and how far two sets of them are from each other."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

#: What a query looks like from outside, in the order in which the kinds are tried.
KINDS = ("latex", "lean", "question", "symbols", "words")

_LATEX = re.compile(r"\\[A-Za-z]+|\$")
_LEAN = re.compile(r"[A-Za-z]\.[A-Za-z]|\b[a-z]+_[a-z]|[∀∃λ↔→⟶≃∈⊆∘⁻ᶜ⊔⊓𝓝]|\b[A-Z][a-z]+[A-Z]|:=|\w\s:\s\w")
_QUESTION = re.compile(
    r"\?\s*$|^\s*(?:what|which|when|where|why|who|how|is|are|does|do|can|if)\b|\bis there\b", re.IGNORECASE
)
_SYMBOLS = re.compile(r"[=<>≤≥≠+*^/|∑∏∫]")


def query_kind(query: str) -> str:
    """The kind of a query by its surface: latex, lean (names, binders, Lean symbols), question, symbols, or words."""
    for kind, pattern in (("latex", _LATEX), ("lean", _LEAN), ("question", _QUESTION), ("symbols", _SYMBOLS)):
        if pattern.search(query):
            return kind
    return "words"


def kind_shares(queries: Sequence[str]) -> tuple[float, ...]:
    """Share of every kind in `KINDS` among at least one query."""
    kinds = [query_kind(query) for query in queries]
    return tuple(kinds.count(kind) / len(kinds) for kind in KINDS)


def kind_distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Total variation distance of the kinds of two sets that are not empty: 0 to 1."""
    return sum(abs(a - b) for a, b in zip(kind_shares(one), kind_shares(other), strict=True)) / 2


def largest_gap(one: np.ndarray, other: np.ndarray) -> float:
    """Two-sample Kolmogorov-Smirnov statistic."""
    points = np.union1d(one, other)
    shares = [np.searchsorted(np.sort(sample), points, side="right") / len(sample) for sample in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())
