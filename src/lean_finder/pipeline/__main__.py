"""The command of every DVC stage: `python -m lean_finder.pipeline STAGE [ARM]`.

The stage's module is imported only after the process has its final environment, because the libraries read it once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from lean_finder import runtime
from lean_finder.errors import EXIT_BAD_INPUT, InputError
from lean_finder.params import load_params


def main() -> None:
    """Check the parameters, prepare the process, hand over to the stage."""
    parser = argparse.ArgumentParser(prog="python -m lean_finder.pipeline", description=__doc__)
    parser.add_argument("stage", help="module in lean_finder.pipeline, e.g. train_retriever")
    parser.add_argument("arm", nargs="?", default="", help="r0, or a key of `arms` in params.yaml")
    arguments = parser.parse_args()
    try:
        params = load_params(Path("params.yaml"))
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(EXIT_BAD_INPUT) from error
    runtime.start(params.threads)
    stage = importlib.import_module("lean_finder.pipeline.stage")
    body = importlib.import_module(f"lean_finder.pipeline.{arguments.stage}")
    stage.execute(arguments.stage, arguments.arm, body.run, params)


if __name__ == "__main__":
    main()
