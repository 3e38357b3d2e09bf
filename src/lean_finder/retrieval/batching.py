"""Which pairs meet in which training batch: by length, without twins, decided before training starts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


def plan_batches(
    declarations: Rows, lengths: Rows, *, batch_size: int, steps: int, seed: int, bucket: int = 16
) -> list[Rows]:
    """Row numbers of every training step.

    Rows come in a fresh random order each epoch. `bucket` batches' worth of rows at a time are sorted by length
    and cut into batches, which are then shuffled: rows of a batch need little padding, yet batches stay random.
    A row whose declaration is already in the batch goes to another one or waits for the next bucket; it enters
    twice only when there are fewer declarations than places, or when one declaration crowds out the rest.

    Args:
        declarations: (n,) declaration number of each row.
        lengths: (n,) tokens of each row.
        batch_size: rows of a batch; more than n gives batches of all n rows.
        bucket: 1 switches sorting by length off.

    Returns:
        `steps` arrays of equal size; the same for equal arguments.
    """
    total = len(declarations)
    batch_size = min(batch_size, total)
    enough = len(np.unique(declarations)) >= batch_size
    random = np.random.default_rng(seed)
    stream = _epochs(total, random)
    waiting: deque[int] = deque()
    plan: list[Rows] = []
    while len(plan) < steps:
        strict = enough and len(waiting) < total
        rows = [waiting.popleft() if waiting else next(stream) for _ in range(bucket * batch_size)]
        # The rows placed last may have to wait: now the shortest, next time the longest, never the same for ever.
        longest_first = len(plan) // bucket % 2 == 0
        if bucket > 1:
            rows.sort(key=lambda row: int(lengths[row]), reverse=longest_first)
        queue = deque(rows)
        batches: list[list[int]] = [[] for _ in range(bucket)]
        inside: list[set[int]] = [set() for _ in range(bucket)]
        room = bucket * batch_size
        while room:
            row = queue.popleft() if queue else next(stream)
            declaration = int(declarations[row])
            for batch, members in zip(batches, inside, strict=True):
                if len(batch) < batch_size and not (strict and declaration in members):
                    batch.append(row)
                    members.add(declaration)
                    room -= 1
                    break
            else:
                waiting.append(row)
        plan.extend(np.array(batches[place], dtype=np.int64) for place in random.permutation(bucket))
    return plan[:steps]


def _epochs(total: int, random: np.random.Generator) -> Iterator[int]:
    while True:
        yield from random.permutation(total).tolist()
