"""Work on torch's threads, each on items of its own.

Threads that share every product wait for each other several times a millisecond, and on a busy machine for the slowest
of them; threads with items of their own meet once, at the end. A result then does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item], place: torch.device) -> Iterator[Result]:
    """`work` of each item, in the order of `items`; in this thread if `place` is no CPU or there is not one for each.

    Torch's settings of a thread (inference mode, automatic types) do not reach the others: `work` makes its own. Take
    all results before anything else is computed: until then every thread that starts has one torch thread.
    """
    threads = torch.get_num_threads()
    if place.type != "cpu" or threads == 1 or len(items) < threads:
        yield from map(work, items)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(work, items)
    finally:
        torch.set_num_threads(threads)  # what a thread of the pool sets holds for all threads still to come
