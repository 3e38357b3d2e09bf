"""`lean-finder queries`: look at the queries of an arm and at what became of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

from lean_finder.errors import InputError
from lean_finder.generation.look import judged_queries, pick
from lean_finder.generation.reward import RewardSettings
from lean_finder.params import load_params
from lean_finder.pipeline import paths
from lean_finder.storage import read_table

_LEAST_WIDTH = 120

app = typer.Typer(help="Look at the queries of an arm and at what became of them.", add_completion=False)


@app.callback()
def _group() -> None:
    """Keeps `show` a command of its own, even while it is the only one."""


@app.command()
def show(
    arm: Annotated[str, typer.Option(help="Whose queries.")] = "r1",
    sort: Annotated[str, typer.Option(help="reward, rank, score or length; the largest first.")] = "reward",
    which: Annotated[str, typer.Option(help="kept, dropped, all, or a drop reason such as inconsistent.")] = "all",
    reverse: Annotated[bool, typer.Option("--reverse", help="The smallest first.")] = False,
    n: Annotated[int, typer.Option("-n", help="Rows.")] = 20,
    ranks: Annotated[str, typer.Option(help="Also rank by these arms' retrievers, e.g. r0,r1,r2; slower.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    params_file: Annotated[Path, typer.Option("--params", help="Parameter file.")] = Path("params.yaml"),
) -> None:
    """Declaration, query, ranks, judge score and reward: the best, the worst, and the rejected."""
    params = load_params(params_file)
    if arm not in params.arms:
        raise InputError("--arm", f"{arm!r} has no generated queries", f"one of {', '.join(params.arms)}")
    settings = RewardSettings(mode=params.arms[arm].reward, **params.generator.reward.model_dump())
    table = judged_queries(read_table(paths.queries(arm)), read_table(paths.dropped(arm), ["reason"]), settings)
    rows = pick(table, sort=sort, which=which, reverse=reverse, n=n)
    names = [name.strip() for name in ranks.split(",") if name.strip()]
    for name in names:
        rows[f"rank_{name}"] = _ranks_by(name, rows, params.corpus.renderer)
    if as_json:
        typer.echo(rows.to_json(orient="records", lines=True, force_ascii=False).rstrip("\n"))
        return
    shown = _rendered(rows, [f"rank_{name}" for name in names], f"{arm}: {which}, by {sort}")
    # A pipe has no width of its own, and nine columns need some.
    Console(width=max(Console().width, _LEAST_WIDTH)).print(shown)


def _ranks_by(arm: str, rows: pd.DataFrame, renderer: str) -> list[int | None]:
    """Ranks of the rows' targets by an arm's retriever."""
    # loads torch and a model, which the plain table must not wait for
    from lean_finder.pipeline.generators import load_retriever  # noqa: PLC0415

    asked = [index for index, query in enumerate(rows["query"]) if query]
    found = load_retriever(arm, renderer).gold_ranks(
        [rows["query"][index] for index in asked], [rows["declaration"][index] for index in asked]
    )
    by_row = dict(zip(asked, found, strict=True))
    return [by_row.get(index) for index in range(len(rows))]


def _rendered(rows: pd.DataFrame, rank_columns: list[str], title: str) -> Table:
    """The rows as a table for the terminal; square brackets in queries are text, not markup."""
    table = Table(title=title)
    numeric = ["reward", "rank_prev", *rank_columns, "judge_score", "n_tokens"]
    for name, least in (("declaration", 20), ("query", 36)):
        table.add_column(name, overflow="fold", min_width=least)
    for name in numeric:
        table.add_column(name, justify="right")
    table.add_column("dropped for", overflow="fold")
    for row in rows.to_dict("records"):
        cells = [row["declaration"], row["query"], *(_number(row[name]) for name in numeric), row["reason"]]
        table.add_row(*(str(cell).replace("[", r"\[") for cell in cells))
    return table


def _number(value: float | None) -> str:
    if value is None or pd.isna(value):
        return ""
    return f"{value:.2f}" if isinstance(value, float) and not value.is_integer() else f"{value:g}"
