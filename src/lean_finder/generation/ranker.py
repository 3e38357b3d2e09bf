"""Ranks of targets by a retriever: an encoder and its exact index over the whole corpus."""

from __future__ import annotations

from pathlib import Path

from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex


class IndexRanker:
    """`reward.Ranker` over an encoder and a dense index of the same retriever.

    Args:
        encoder: encodes queries.
        index: holds every document of the corpus.
        cost: rough seconds per query.
    """

    def __init__(self, encoder: Encoder, index: DenseIndex, cost: float = 0.01) -> None:
        self._encoder = encoder
        self._index = index
        self.cost = cost

    @classmethod
    def load(cls, retriever: Path, index: Path) -> IndexRanker:
        """Load the retriever's folder and its index's folder.

        Raises:
            InputError: a folder is missing or damaged, or the index belongs to another retriever.
        """
        return cls(Encoder.load(retriever), DenseIndex.load(index))

    def ranks(self, queries: list[str], targets: list[str]) -> list[int]:
        """See `reward.Ranker.ranks`."""
        if not queries:
            return []
        return [int(rank) for rank in self._index.ranks(self._encoder.encode_queries(queries), targets)]
