"""The processes of an audit leave nothing running. Just this file: pytest tests/audit/test_workers.py"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from lean_finder.audit import workers
from lean_finder.audit.workers import Workers

#: Starts work that lasts, says which processes do it, and waits.
_ENDLESS = """
import os, sys, time
from lean_finder.audit import workers
from tests.audit.test_workers import tell_process

if __name__ == "__main__":
    workers._MANY, workers._PIECE = 1, 1
    with workers.Workers() as pool:
        print(*{*pool.start(tell_process, range(8))}, flush=True)
        time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_MANY", 4)
    monkeypatch.setattr(workers, "_PIECE", 2)


def tell_process(items: Sequence[int]) -> int:
    time.sleep(0.05)
    return os.getpid()


def _fail(items: Sequence[int]) -> int:
    raise ValueError(f"no use for {items[0]}")


def _sleep(items: Sequence[float]) -> float:
    time.sleep(items[0])
    return items[0]


def test_results_come_in_order_and_few_items_stay_here() -> None:
    with Workers() as pool:
        assert list(pool.start(sum, [1, 2, 3, 4, 5])) == [3, 7, 5]
        assert list(pool.start(tell_process, [1])) == [os.getpid()]
        assert os.getpid() not in pool.start(tell_process, [1, 2, 3, 4])


def test_a_failure_is_the_callers() -> None:
    with Workers() as pool, pytest.raises(ValueError, match="no use for 1"):
        list(pool.start(_fail, [1, 2, 3, 4]))


def test_a_failed_audit_does_not_wait_for_the_rest() -> None:
    began = time.monotonic()
    with pytest.raises(KeyError), Workers() as pool:
        pool.start(_sleep, [0.2] * 200)
        raise KeyError
    assert time.monotonic() - began < 15


def test_a_killed_audit_leaves_no_worker() -> None:
    audit = subprocess.Popen([sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE, text=True)
    assert audit.stdout is not None
    with audit.stdout:
        pids = [int(pid) for pid in audit.stdout.readline().split()]
    assert pids
    audit.send_signal(signal.SIGKILL)
    audit.wait()
    deadline = time.monotonic() + 30
    while any(_is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in pids if _is_running(pid)]


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as state:
            return state.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
