"""`lean-finder params`: compose params.yaml from conf/, and check it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lean_finder.composition import compose
from lean_finder.params import load_params, parse_params
from lean_finder.storage import write_text

app = typer.Typer(no_args_is_help=True, help="Compose and check params.yaml.")

PARAMS_FILE = Path("params.yaml")


@app.command()
def check(file: Annotated[Path, typer.Argument(help="The file to check.")] = PARAMS_FILE) -> None:
    """Check every key and type; name what is wrong and exit with status 2.

    Example: lean-finder params check
    """
    load_params(file)


@app.command("compose")
def compose_(
    overrides: Annotated[
        list[str] | None, typer.Argument(help="As in `dvc exp run -S`: key=value, group=choice.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write.")] = PARAMS_FILE,
) -> None:
    """Compose conf/ and write the parameters.

    Examples:

      lean-finder params compose scale=smoke arms=ablations

      lean-finder params compose scale=cpu retriever.margin=0.05
    """
    text = compose(Path("conf"), overrides or [])
    parse_params(text, "conf/")
    write_text(out, text)
