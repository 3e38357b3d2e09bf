"""Search by embeddings: an encoder over its index."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lean_finder.errors import InputError
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.exact import Vectors
from lean_finder.retrieval.index import DenseIndex
from lean_finder.retrieval.retriever import Answer, clean_query


class DenseRetriever:
    """An encoder over its index: the paper's single dense retriever.

    Args:
        encoder: of the queries.
        index: made by the same model under the same contract.
        render_query: brings a query to the written form that the contract's renderer uses.

    Raises:
        InputError: the index was made by another model or under another contract.
    """

    def __init__(self, encoder: Encoder, index: DenseIndex, render_query: Callable[[str], str] = str) -> None:
        if index.meta.model != encoder.digest:
            raise InputError("index", "made by another model", "build the index again: dvc repro index")
        encoder.contract.require_equal(index.meta.contract, "index")
        self.encoder = encoder
        self.index = index
        self.render_query = render_query
        self._last: dict[str, Vectors] = {}

    def rank(self, queries: Sequence[str], k: int) -> list[Answer]:
        """See `Retriever.rank`; scores are cosines."""
        ids, scores = self.index.search(self._encode(queries), k)
        answers: list[Answer] = []
        for row, near in zip(ids.tolist(), scores.tolist(), strict=True):
            found = [(self.index.names[at], value) for at, value in zip(row, near, strict=True) if at >= 0]
            answers.append(Answer(tuple(name for name, _ in found), tuple(value for _, value in found)))
        return answers

    def gold_ranks(self, queries: Sequence[str], golds: Sequence[str]) -> list[int | None]:
        """See `Retriever.gold_ranks`; exact whatever the kind of the index."""
        present = [place for place, gold in enumerate(golds) if gold in self.index]
        ranks: list[int | None] = [None] * len(golds)
        if present:
            vectors = self._encode([queries[place] for place in present])
            found = self.index.ranks(vectors, self.index.ids_of([golds[place] for place in present]))
            for place, rank in zip(present, found.tolist(), strict=True):
                ranks[place] = rank
        return ranks

    @property
    def names(self) -> list[str]:
        """Of the corpus, in index order."""
        return self.index.names

    def scores(self, queries: Sequence[str]) -> Vectors:
        """Cosine (queries, names) of every declaration: the part of a hybrid."""
        return self._encode(queries) @ self.index.vectors.T

    def _encode(self, queries: Sequence[str]) -> Vectors:
        """Vectors (n, dim). The last batch is kept: its ranking and its golds' ranks are asked one after the other."""
        texts = [self.render_query(clean_query(query)) for query in queries]
        if not texts or not self._last.keys() >= set(texts):
            unique = list(dict.fromkeys(texts))
            vectors = self.encoder.encode_queries(unique)
            if not texts:
                return vectors
            self._last = dict(zip(unique, vectors, strict=True))
        return np.stack([self._last[text] for text in texts])
