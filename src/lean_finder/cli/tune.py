"""`lean-finder tune`: search for better settings, on validation only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lean_finder.errors import InputError
from lean_finder.params import load_params
from lean_finder.pipeline import tune
from lean_finder.pipeline.stage import execute

app = typer.Typer(help="Search for better settings, on validation only.", add_completion=False)


@app.command()
def main(
    subject: Annotated[str, typer.Argument(help="retriever or generator.")] = "retriever",
    trials: Annotated[int, typer.Option(help="Finished trials at which the search ends; 0 = tuning.trials.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes on the study; 0 = tuning.workers.")] = 0,
    params_file: Annotated[Path, typer.Option("--params", help="Parameter file.")] = Path("params.yaml"),
) -> None:
    """Try settings from `tuning` in params.yaml; print the winner as the command that applies it.

    Called again, or beside a search that is running, it goes on with the same study: it ends when the study has its
    trials. Nothing in params.yaml changes.

    Examples:

      lean-finder tune retriever

      lean-finder tune generator --trials 8 --workers 2
    """
    if min(trials, workers) < 0:
        raise InputError("lean-finder tune", "a negative number", "0 takes the value of params.yaml")
    params = load_params(params_file)
    wanted = {"trials": trials or params.tuning.trials, "workers": workers or params.tuning.workers}
    params = params.model_copy(update={"tuning": params.tuning.model_copy(update=wanted)})
    execute("tune", subject, tune.run, params)
