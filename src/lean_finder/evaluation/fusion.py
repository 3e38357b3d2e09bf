"""Choosing how to fuse two retrievers: on validation queries, never on a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from lean_finder.errors import InputError
from lean_finder.evaluation.metrics import METRICS, metric_matrix
from lean_finder.retrieval.hybrid import Fusion, scaled
from lean_finder.retrieval.scoring import Scorer, Scores, query_blocks

#: Weights of the second retriever against 1 of the first: from the first alone to nearly the second alone.
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class FusionScore:
    """nDCG@10 on validation of one way to fuse."""

    fusion: Fusion
    weight: float
    ndcg_at_10: float


def score_fusions(
    first: Scorer,
    second: Scorer,
    queries: Sequence[str],
    golds: Sequence[str],
    weights: Sequence[float] = WEIGHTS,
) -> list[FusionScore]:
    """Every fusion with every weight of `second`, best first; among equals the smaller weight first.

    Queries are scored in blocks, once by each retriever, whatever the number of fusions.

    Raises:
        InputError: no queries, different corpora, a negative weight, or a gold outside the corpus.
    """
    if not queries or len(queries) != len(golds):
        raise InputError("validation", f"{len(queries)} queries, {len(golds)} golds", "one gold each, at least one")
    if first.names != second.names:
        raise InputError("hybrid", "the parts have different corpora", "build all indexes from one corpus")
    if not weights or min(weights) < 0:
        raise InputError("hybrid.weights", f"{list(weights)}", "at least one, not negative")
    places = {name: place for place, name in enumerate(first.names)}
    if missing := [gold for gold in golds if gold not in places]:
        raise InputError(missing[0], "gold of a validation query is not in the corpus", "validate on this corpus")
    ways = [(fusion, weight) for fusion in get_args(Fusion) for weight in weights]
    ranks = np.empty((len(ways), len(queries)), dtype=np.int64)
    for column, (parts, gold) in enumerate(zip(_scored(first, second, queries), golds, strict=True)):
        scales = {fusion: [scaled(part, fusion) for part in parts] for fusion in get_args(Fusion)}
        for row, (fusion, weight) in enumerate(ways):
            fused = scales[fusion][0] + np.float32(weight) * scales[fusion][1]
            ranks[row, column] = np.count_nonzero(fused >= fused[places[gold]])
    column = METRICS.index("ndcg_at_10")
    scores = [
        FusionScore(fusion, weight, float(metric_matrix(row.tolist())[:, column].mean()))
        for (fusion, weight), row in zip(ways, ranks, strict=True)
    ]
    return sorted(scores, key=lambda item: (-item.ndcg_at_10, item.weight, item.fusion))


def _scored(first: Scorer, second: Scorer, queries: Sequence[str]) -> Iterator[tuple[Scores, Scores]]:
    """Both retrievers' scores (names,) of each query, in order."""
    for block in query_blocks(queries, len(first.names)):
        yield from zip(first.scores(block), second.scores(block), strict=True)
