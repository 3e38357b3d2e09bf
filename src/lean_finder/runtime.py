"""The process a stage or command runs in: threads, allocator, and death with its parent.

Encoding spends about half of its time in page faults of freshly mapped memory; glibc keeps large blocks when told so
before the process starts. `start` therefore sets the variables and executes the same command once more.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_ALLOCATOR = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "MALLOC_TOP_PAD_": "268435456",
}
_QUIET = {
    "TOKENIZERS_PARALLELISM": "false",  # forked tokenizers warn and may deadlock
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "GX_ANALYTICS_ENABLED": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
_STARTED = "LEAN_FINDER_STARTED"
_PR_SET_PDEATHSIG = 1


def start(threads: int) -> None:
    """Execute this command once more with the right environment; on the second pass return.

    Args:
        threads: CPU threads for OpenMP and BLAS; 0 = all cores. A fixed number keeps floating-point sums,
            and so every metric, the same from run to run.
    """
    _die_with_parent()
    wanted = str(threads or os.cpu_count() or 1)
    if os.environ.get(_STARTED) == wanted:
        return
    os.environ.update(_ALLOCATOR)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), wanted))
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    os.environ[_STARTED] = wanted
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _die_with_parent() -> None:
    """A killed pipeline must not leave a stage running that would write behind its successor's back (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
