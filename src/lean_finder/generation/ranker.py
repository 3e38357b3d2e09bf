"""Ranks of targets by a retriever over the whole corpus, as the reward and the sampling want them."""

from __future__ import annotations

from lean_finder.errors import InputError
from lean_finder.retrieval.retriever import Retriever


class IndexRanker:
    """`reward.Ranker` over any retriever with exact gold ranks.

    Args:
        retriever: encoder and index of the previous round.
        cost: rough seconds per query.
    """

    def __init__(self, retriever: Retriever, cost: float = 0.01) -> None:
        self._retriever = retriever
        self.cost = cost

    def ranks(self, queries: list[str], targets: list[str]) -> list[int]:
        """See `reward.Ranker.ranks`.

        Raises:
            InputError: a target is not in the retriever's corpus.
        """
        ranks = self._retriever.gold_ranks(queries, targets) if queries else []
        for rank, target in zip(ranks, targets, strict=True):
            if rank is None:
                raise InputError(target, "is not in the retriever's index", "build the index again: dvc repro index")
        return [int(rank) for rank in ranks if rank is not None]
