"""Retrievers that score every declaration for every query: ranks and best lists from the whole score vector.

Queries are scored in blocks, so that an encoder or a matrix product sees many at once and memory stays bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lean_finder.errors import InputError
from lean_finder.retrieval.retriever import Answer

Scores = npt.NDArray[np.float32]

#: Scores in a block of queries: 128 MiB, and more queries than an evaluation asks at once up to 500,000 declarations.
_BLOCK_SCORES = 2**25


class Scorer(Protocol):
    """A retriever that scores the whole corpus: dense, lexical and hybrid ones all do."""

    @property
    def names(self) -> list[str]:
        """Of the corpus, in order."""
        ...

    def scores(self, queries: Sequence[str]) -> Scores:
        """Score (queries, names) of every declaration, higher is better; raises InputError for an empty query."""
        ...


class ScoringRetriever(ABC):
    """A `retriever.Retriever` by full score vectors. Subclasses say how queries are scored."""

    names: list[str]
    _last: tuple[list[str], Scores] | None = None

    @abstractmethod
    def scores(self, queries: Sequence[str]) -> Scores:
        """See `Scorer.scores`."""

    def rank(self, queries: Sequence[str], k: int) -> list[Answer]:
        """See `retriever.Retriever.rank`; equal scores are ordered by place in the corpus."""
        if k < 1:
            raise InputError("k", str(k), "at least 1")
        answers: dict[str, Answer] = {}
        for query, scores in self._scored(queries):
            best = best_places(scores, min(k, len(scores)))
            answers[query] = Answer(tuple(self.names[at] for at in best), tuple(scores[best].tolist()))
        return [answers[query] for query in queries]

    def gold_ranks(self, queries: Sequence[str], golds: Sequence[str]) -> list[int | None]:
        """See `retriever.Retriever.gold_ranks`; each distinct query is scored once."""
        places = {name: place for place, name in enumerate(self.names)}
        asked: dict[str, list[int]] = {}
        for at, query in enumerate(queries):
            asked.setdefault(query, []).append(at)
        ranks: list[int | None] = [None] * len(queries)
        for query, scores in self._scored(queries):
            for at in asked[query]:
                if golds[at] in places:
                    ranks[at] = int(np.count_nonzero(scores >= scores[places[golds[at]]]))
        return ranks

    def _scored(self, queries: Sequence[str]) -> Iterator[tuple[str, Scores]]:
        """Each distinct query with its scores.

        The last block is kept: a batch's ranking and its golds' ranks are asked one after the other.
        """
        for block in query_blocks(list(dict.fromkeys(queries)), len(self.names)):
            if self._last is None or self._last[0] != block:
                self._last = None  # its memory is free before the next block is made
                self._last = block, self.scores(block)
            yield from zip(block, self._last[1], strict=True)


def query_blocks(queries: Sequence[str], size: int) -> Iterator[list[str]]:
    """The queries in pieces whose scores over `size` declarations are a matrix of bounded memory."""
    rows = max(1, _BLOCK_SCORES // size)
    return (list(queries[at : at + rows]) for at in range(0, len(queries), rows))


def competition_ranks(scores: Scores) -> npt.NDArray[np.int64]:
    """1-based rank (n,) of every entry, ties counted against it: how many entries score at least as high."""
    ranks = np.full(len(scores), len(scores), dtype=np.int64)
    # Only what beats the lowest score is sorted: a lexical query leaves most declarations at 0.
    above = np.flatnonzero(scores > scores.min())
    above = above[np.argsort(scores[above])]
    ordered = scores[above]
    # Equal scores are a run; as many as stand from its start to the end score at least as high.
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ranks[above] = np.repeat(len(ordered) - starts, np.diff(starts, append=len(ordered)))
    return ranks


def best_places(scores: Scores, k: int) -> npt.NDArray[np.int64]:
    """Places of the k highest scores, lower place first among equals, without a full sort."""
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > threshold)
    level = np.flatnonzero(scores == threshold)[: k - len(above)]
    places = np.concatenate([above, level])
    return places[np.lexsort((places, -scores[places]))]
