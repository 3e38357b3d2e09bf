"""Work on many texts by two processes beside the main one, which goes on until it needs the results."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from types import TracebackType
from typing import Self, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: Items from which on another process pays for its start, and items handed over at a time.
_MANY, _PIECE = 40_000, 8_000
_PROCESSES = 2


class Workers:
    """The processes of one audit; the first large piece of work starts them, the end of the `with` block ends them."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            # An audit that failed, or that was interrupted, waits for no work that it will not use.
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def start(self, work: Callable[[Sequence[_Item]], _Result], items: Sequence[_Item]) -> Iterator[_Result]:
        """Start work on items.

        Args:
            work: a module's function of consecutive items. Few items are left to this process, when the result is asked
                for.
            items: what to work on.

        Returns:
            One result for each piece of the items, in their order; asking for one waits for it.
        """
        if len(items) < _MANY:
            return map(work, [items])
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                _PROCESSES, mp_context=get_context("forkserver"), initializer=_end_with_parent
            )
        return self._pool.map(work, [items[start : start + _PIECE] for start in range(0, len(items), _PIECE)])


def _end_with_parent() -> None:
    """A worker waits for work on a pipe that it holds both ends of: killing the audit alone would never end it."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent.sentinel,), daemon=True).start()


def _leave_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
