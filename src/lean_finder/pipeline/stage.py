"""What every stage has in common: one MLflow run, one clear line for bad input."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

from lean_finder.errors import EXIT_BAD_INPUT, InputError
from lean_finder.params import Params
from lean_finder.tracking import StageRun, stage_run

#: What a stage module offers as `run`: its parameters, its arm ("" for a stage without arms), its MLflow run.
StageBody = Callable[[Params, str, StageRun], None]

_NOISY = ("absl", "alembic", "datasets", "faiss", "great_expectations", "httpx", "mlflow", "sentence_transformers")


def execute(name: str, arm: str, body: StageBody, params: Params) -> None:
    """Run one stage inside its MLflow run; bad input ends the process with one line and status 2."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    started = time.perf_counter()
    try:
        with stage_run(name, arm, params.scale, params.model_dump()) as tracked:
            body(params, arm, tracked)
            tracked.metrics({"seconds": time.perf_counter() - started})
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(EXIT_BAD_INPUT) from error
