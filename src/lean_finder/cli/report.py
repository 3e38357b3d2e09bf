"""`lean-finder report`: the table of the last run, at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lean_finder.errors import InputError
from lean_finder.reporting.terminal import results_tables
from lean_finder.storage import read_json

app = typer.Typer(help="Print the results table of the last run.")

_RESULTS = Path("reports/results.json")


@app.command()
def report(
    results: Annotated[Path, typer.Option(help="The results.json of a run.")] = _RESULTS,
) -> None:
    """Print the results of the last run and where its page is.

    Example: lean-finder report
    """
    if not results.is_file():
        raise InputError(results, "no run has been reported yet", "run: make repro")
    console = Console(width=None if Console().is_terminal else 110)
    console.print(results_tables(read_json(results)))
    page = results.with_name("report.html")
    console.print(f"Page: {page}" if page.is_file() else f"Page: {page} is not here; it is made by: dvc repro report")
