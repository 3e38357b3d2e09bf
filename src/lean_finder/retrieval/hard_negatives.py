"""Hard negatives: what the previous retriever ranks high for a query and is not its answer.

Candidates come from a window of ranks (the very first are often right answers of another name), may not score above
the positive by more than a margin (the same guard against false negatives as in the loss), and are never of the
positive's family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lean_finder.errors import InputError
from lean_finder.retrieval.exact import Vectors
from lean_finder.retrieval.index import DenseIndex

#: Queries searched at once.
_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class HardNegativeSettings:
    """How hard negatives are chosen.

    Attributes:
        per_query: how many at most.
        first_rank, last_rank: 1-based window, both ends included.
        margin: candidates with cos(q, d) > cos(q, positive) + margin are left out.
        seed: of the draw from the window.
    """

    per_query: int = 1
    first_rank: int = 5
    last_rank: int = 50
    margin: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.per_query < 1 or not 1 <= self.first_rank <= self.last_rank:
            window = f"{self.per_query} from ranks {self.first_rank} to {self.last_rank}"
            raise InputError("hard_negatives", window, "at least one, from a window that is not empty")


def mine_hard_negatives(
    index: DenseIndex,
    query_vectors: Vectors,
    positive_vectors: Vectors,
    positives: Sequence[str],
    family_of: Mapping[str, str],
    settings: HardNegativeSettings,
) -> list[list[str]]:
    """Hard negatives of each query (possibly fewer than asked for, possibly none), in the order drawn.

    Args:
        index: of the previous retriever.
        query_vectors: (n, dim), by the same retriever.
        positive_vectors: (n, dim), by the same retriever: each query's positive as training will see it. In the index
            a docstring's declaration has that very docstring, so its score there would be no limit.
        positives: name of each query's positive; must be in the index.
        family_of: declaration → family; absent names are their own family.
        settings: see there.
    """
    targets = index.ids_of(positives)
    families = [family_of.get(name, name) for name in index.names]
    random = np.random.default_rng(settings.seed)
    mined: list[list[str]] = []
    for start in range(0, len(targets), _CHUNK):
        vectors = query_vectors[start : start + _CHUNK]
        ids, scores = index.search(vectors, settings.last_rank)
        for row, (near, cosines) in enumerate(zip(ids, scores, strict=True)):
            target = int(targets[start + row])
            limit = float(vectors[row] @ positive_vectors[start + row]) + settings.margin
            window = range(settings.first_rank - 1, len(near))
            allowed = [
                int(near[at])
                for at in window
                if near[at] >= 0 and cosines[at] <= limit and families[near[at]] != families[target]
            ]
            drawn = random.permutation(len(allowed))[: settings.per_query]
            mined.append([index.names[allowed[at]] for at in drawn])
    return mined
