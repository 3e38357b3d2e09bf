"""`lean-finder readme`: write the generated sections of README.md anew, or say that they are stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from lean_finder.errors import InputError
from lean_finder.params import load_params
from lean_finder.reporting.dag import folded, main_line, mermaid, parse, reduced
from lean_finder.reporting.markdown import headline_section
from lean_finder.reporting.paper import lineage
from lean_finder.reporting.sections import refresh
from lean_finder.storage import read_json, write_text

app = typer.Typer(help="Write the generated sections of README.md.")

_README = Path("README.md")
_RESULTS = Path("reports/results.json")


@app.command()
def readme(
    file: Annotated[Path, typer.Argument(help="The file to refresh.")] = _README,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit with status 1 if it is stale.")] = False,
) -> None:
    """Refresh the sections `dag` (the main line, from dvc.yaml) and `results` (from reports/results.json).

    Example: lean-finder readme --check
    """
    if not file.is_file():
        raise InputError(file, "no such file", "run this in the repository's root")
    old = file.read_text(encoding="utf-8")
    new = refresh(old, {"dag": _dag, "results": _results}, file)
    if check and new != old:
        typer.echo(f"{file} is stale: run lean-finder readme", err=True)
        raise typer.Exit(1)
    if new != old:
        write_text(file, new)


def _dag() -> str:
    """The way to the final retriever and its report, other arms left out."""
    params = load_params(Path("params.yaml"))
    arms = lineage(params.final, {name: arm.model_dump() for name, arm in params.arms.items()})
    done = subprocess.run([sys.executable, "-m", "dvc", "dag", "--md"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(
            "dvc dag", done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed", "see dvc.yaml"
        )
    return mermaid(*folded(reduced(main_line(parse(done.stdout), arms))))


def _results() -> str:
    if not _RESULTS.is_file():
        raise InputError(_RESULTS, "no such file", "run: make repro")
    return headline_section(read_json(_RESULTS))
