"""Consistency judges: does a query state what its declaration states?

All judges keep one contract, so the reward, the sampling filter and the calibration take any of them.
A judge that could not decide answers None. That is a failure to be counted, never a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says about one query and one declaration.

    Attributes:
        consistent: they state the same thing.
        score: the judge's own scale, higher = more surely consistent; comparable within one judge only.
    """

    consistent: bool
    score: float


class Judge(Protocol):
    """Decides, deterministically, about pairs of a query and the full name of a declaration."""

    @property
    def cost(self) -> float:
        """Rough seconds per judged query; the reward asks the cheaper of judge and ranker first."""

    def judge(self, queries: Sequence[str], declarations: Sequence[str]) -> list[Verdict | None]:
        """One verdict per pair, in order; None where the judge failed."""


class EncoderJudge:
    """A frozen encoder with a threshold: consistent when cos(query, document) >= threshold.

    Documents are encoded once and kept (float32, 4 * dim bytes per declaration met).

    Args:
        encode_queries: texts -> unit vectors (n, dim).
        encode_documents: texts -> unit vectors (n, dim).
        document_text: full name -> the document's text; may raise KeyError for an unknown name.
        threshold: cosine, from `calibration.calibrate`.
        cost: rough seconds per query.
    """

    def __init__(
        self,
        encode_queries: Callable[[list[str]], np.ndarray],
        encode_documents: Callable[[list[str]], np.ndarray],
        document_text: Callable[[str], str],
        threshold: float,
        cost: float = 0.01,
    ) -> None:
        self._encode_queries = encode_queries
        self._encode_documents = encode_documents
        self._document_text = document_text
        self.threshold = threshold
        self.cost = cost
        self._documents: dict[str, np.ndarray] = {}

    def scores(self, queries: Sequence[str], declarations: Sequence[str]) -> np.ndarray:
        """Cosines of the pairs: float32 (n,)."""
        if not queries:
            return np.zeros(0, dtype=np.float32)
        unseen = [name for name in dict.fromkeys(declarations) if name not in self._documents]
        if unseen:
            vectors = self._encode_documents([self._document_text(name) for name in unseen])
            self._documents.update(zip(unseen, vectors, strict=True))
        documents = np.stack([self._documents[name] for name in declarations])  # (n, dim)
        return np.einsum("ij,ij->i", self._encode_queries(list(queries)), documents)

    def judge(self, queries: Sequence[str], declarations: Sequence[str]) -> list[Verdict | None]:
        """See `Judge.judge`; this judge never fails."""
        scores = self.scores(queries, declarations)
        return [Verdict(bool(score >= self.threshold), float(score)) for score in scores]


class VoteJudge:
    """Two or more judges of which at least `needed` must agree that a pair is consistent.

    The score is the share of yes votes. When a member fails, the others decide only if the missing vote
    could not change the outcome; otherwise the vote fails (None).
    """

    def __init__(self, judges: Sequence[Judge], needed: int) -> None:
        if not 1 <= needed <= len(judges):
            raise ValueError(f"needed must be 1 to {len(judges)}, got {needed}")
        self._judges = list(judges)
        self._needed = needed

    @property
    def cost(self) -> float:
        """Sum of the members' costs: all of them are asked."""
        return sum(judge.cost for judge in self._judges)

    def judge(self, queries: Sequence[str], declarations: Sequence[str]) -> list[Verdict | None]:
        """See `Judge.judge`."""
        ballots = zip(*(judge.judge(queries, declarations) for judge in self._judges), strict=True)
        return [self._count(ballot) for ballot in ballots]

    def _count(self, ballot: Sequence[Verdict | None]) -> Verdict | None:
        cast = [vote for vote in ballot if vote is not None]
        yes = sum(vote.consistent for vote in cast)
        missing = len(ballot) - len(cast)
        if missing and yes < self._needed <= yes + missing:
            return None
        return Verdict(yes >= self._needed, yes / max(len(cast), 1)) if cast else None
