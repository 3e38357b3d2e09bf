"""Retrieval metrics of a query with one gold, from the gold's 1-based rank.

nDCG@k = 1/log2(rank + 1) if rank ≤ k else 0; Recall@k = 1 if rank ≤ k else 0; MRR = 1/rank. A gold that was not
found (rank None) gives 0 everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

NDCG_CUTS = (1, 5, 10)
RECALL_CUTS = (1, 5, 10, 50, 100)

#: Metric keys in the order of the columns of `metric_matrix`.
METRICS = (*(f"ndcg_at_{k}" for k in NDCG_CUTS), *(f"recall_at_{k}" for k in RECALL_CUTS), "mrr")


def metric_matrix(ranks: Sequence[int | None]) -> npt.NDArray[np.float64]:
    """Every metric of every query, (n, len(METRICS))."""
    array = np.array([np.inf if rank is None else rank for rank in ranks], dtype=np.float64)
    if array.size and array.min() < 1:
        raise ValueError("ranks are 1-based")
    gain = 1 / np.log2(array + 1)
    columns = [np.where(array <= k, gain, 0.0) for k in NDCG_CUTS]
    columns += [(array <= k).astype(np.float64) for k in RECALL_CUTS]
    return np.stack([*columns, 1 / array], axis=1) if array.size else np.zeros((0, len(METRICS)))
