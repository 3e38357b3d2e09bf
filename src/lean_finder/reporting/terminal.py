"""The results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lean_finder.reporting.formatting import GAP, metric_label, number, p_value, signed, signed_interval
from lean_finder.reporting.verdicts import PRIMARY, caption, gain, gains_of, main_line, scored_tests

_METRICS = ("ndcg_at_1", "ndcg_at_10", "recall_at_10")
_GAPS = 6  # named in the terminal; the page and RESULTS.md name all
_COLOUR = {"better": "green", "worse": "red", "open": ""}


def results_tables(results: Mapping[str, Any]) -> RenderableType:
    """One table a benchmark, validation last and named as such; what each round gained; audits; gaps."""
    return Group(*_parts(results))


def _parts(results: Mapping[str, Any]) -> Iterator[RenderableType]:
    for benchmark in results["benchmarks"]:
        yield _table(results, benchmark)
    yield _gains(results)
    yield Text(_audit_line(results))
    if results["reward"]["note"]:
        yield Text(results["reward"]["note"])
    gaps = results["gaps"]
    for gap in gaps[:_GAPS]:
        yield Text(f"missing: {gap}", style="yellow")
    if len(gaps) > _GAPS:
        yield Text(f"missing: {len(gaps) - _GAPS} more, listed in RESULTS.md", style="yellow")


def _table(results: Mapping[str, Any], benchmark: str) -> Table:
    table = Table(
        title=f"{caption(results, benchmark)}, scale {results['scale']}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("retriever", no_wrap=True)
    for metric in _METRICS:
        table.add_column(metric_label(metric), justify="right", no_wrap=True)
    table.add_column(f"{metric_label(PRIMARY)} over r0, p", justify="right", no_wrap=True)
    for row in results["retrievers"]:
        scores = row["benchmarks"].get(benchmark)
        cells = [_cell(scores["strict"][metric]) if scores else GAP for metric in _METRICS]
        style = "bold" if row["name"] == results["final"] else ""
        name = f"{row['name']} (uncertified)" if row.get("uncertified") else row["name"]
        table.add_row(name, *cells, _gain_cell(gain(results, row["name"], "r0", benchmark)), style=style)
    return table


def _gains(results: Mapping[str, Any]) -> Table:
    """What the rounds on the way to the final retriever gained on the test sets."""
    title = f"What the rounds gained in {metric_label(PRIMARY)} (paired by query, 95 % interval)"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("set", "arm", "over"):
        table.add_column(name, no_wrap=True)
    for name in ("difference", "p", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for benchmark in scored_tests(results):
        for row in gains_of(results, benchmark):
            if row["arm"] in main_line(results):
                chance = (p_value(row["p"]), p_value(row["p_holm"]))
                verdict = Text(row["verdict"], style=_COLOUR[row["verdict"]])
                table.add_row(benchmark, row["arm"], row["over"], signed_interval(row["effect"]), *chance, verdict)
    return table


def _cell(figure: Mapping[str, float]) -> str:
    return f"{number(figure['value'])} [{_short(figure['low'])} {_short(figure['high'])}]"


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1.0"


def _gain_cell(row: Mapping[str, Any] | None) -> Text:
    if row is None:
        return Text("")
    return Text(f"{signed(row['effect']['value'])} p {p_value(row['p_holm'])}", style=_COLOUR[row["verdict"]])


def _audit_line(results: Mapping[str, Any]) -> str:
    audits = results["audits"]
    failed = [row["arm"] for row in audits if not row["passed"]]
    warnings = sum(row["warnings"] for row in audits)
    outcome = f"failed for {', '.join(failed)}" if failed else "passed"
    return f"Audits: {len(audits)}, {outcome}, {warnings} warnings" if audits else "Audits: none found"
