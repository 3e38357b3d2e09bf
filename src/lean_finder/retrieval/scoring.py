"""Retrievers that score every declaration for every query: ranks and best lists from the whole score vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lean_finder.errors import InputError
from lean_finder.retrieval.retriever import Answer

Scores = npt.NDArray[np.float32]


class ScoringRetriever(ABC):
    """A `retriever.Retriever` by full score vectors. Subclasses say how a query is scored."""

    names: list[str]

    @abstractmethod
    def scores(self, query: str) -> Scores:
        """Score (len(names),) of every declaration, higher is better; raises InputError for an empty query."""

    def rank(self, queries: Sequence[str], k: int) -> list[Answer]:
        """See `retriever.Retriever.rank`; equal scores are ordered by place in the corpus."""
        if k < 1:
            raise InputError("k", str(k), "at least 1")
        answers: list[Answer] = []
        for query in queries:
            scores = self.scores(query)
            best = best_places(scores, min(k, len(scores)))
            answers.append(Answer(tuple(self.names[at] for at in best), tuple(scores[best].tolist())))
        return answers

    def gold_ranks(self, queries: Sequence[str], golds: Sequence[str]) -> list[int | None]:
        """See `retriever.Retriever.gold_ranks`; each distinct query is scored once."""
        places = {name: place for place, name in enumerate(self.names)}
        asked: dict[str, list[int]] = {}
        for at, query in enumerate(queries):
            asked.setdefault(query, []).append(at)
        ranks: list[int | None] = [None] * len(queries)
        for query, rows in asked.items():
            scores = self.scores(query)
            for at in rows:
                if golds[at] in places:
                    ranks[at] = int((scores >= scores[places[golds[at]]]).sum())
        return ranks


def competition_ranks(scores: Scores) -> npt.NDArray[np.int64]:
    """1-based rank (n,) of every entry, ties counted against it: how many entries score at least as high."""
    ordered = np.sort(scores)
    return len(scores) - np.searchsorted(ordered, scores, side="left")


def best_places(scores: Scores, k: int) -> npt.NDArray[np.int64]:
    """Places of the k highest scores, lower place first among equals, without a full sort."""
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > threshold)
    level = np.flatnonzero(scores == threshold)[: k - len(above)]
    places = np.concatenate([above, level])
    return places[np.lexsort((places, -scores[places]))]
