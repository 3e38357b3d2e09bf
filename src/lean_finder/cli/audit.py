"""`lean-finder audit`: did a test declaration reach a training set?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

from lean_finder.audit.inputs import JOIN_COLUMNS, ROLES, AuditInputs, AuditSettings, empty_frame
from lean_finder.audit.reading import (
    PAIR_COLUMNS,
    derive_manifest,
    parse_mapping,
    read_benchmark,
    read_library,
    read_training_set,
)
from lean_finder.audit.run import DOCS_ENTRIES, AuditReport, run_audit, write_reports
from lean_finder.errors import InputError
from lean_finder.params import load_params
from lean_finder.pipeline.hidden import own_inputs
from lean_finder.records import Declaration, SplitRow, columns

app = typer.Typer()

#: Findings of each check that the terminal lists; --json and --html have more.
_LISTED = 5
_FOUND = 1


@app.command()
def audit(
    pairs: Annotated[list[Path] | None, typer.Option(help="Training file; may be given several times.")] = None,
    benchmark: Annotated[list[Path] | None, typer.Option(help="Benchmark file; may be given several times.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="A declarations.parquet or a folder of Lean files.")] = None,
    column_map: Annotated[
        str, typer.Option("--map", help="Columns of --pairs, OURS=THEIRS, comma-separated; THEIRS may be a.b.")
    ] = "",
    benchmark_map: Annotated[str, typer.Option(help="Columns of --benchmark: query=…,gold=…")] = "",
    role: Annotated[str, typer.Option(help="What --pairs are for.")] = "retriever_pairs",
    explain: Annotated[int | None, typer.Option(metavar="ROW", help="Everything held against one row, from 1.")] = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the report as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Folder for the Data Docs.")] = None,
) -> None:
    """Look for test theorems in training data; without options, in the pipeline's own.

    The exit status is 0 when nothing critical is found, 1 when something is, 2 for bad input.

    Examples:

        lean-finder audit

        lean-finder audit --pairs train.jsonl --map query=question,declaration=name --benchmark MathlibQR.json

        lean-finder audit --pairs train.csv --benchmark MathlibQR.json --corpus mathlib.parquet --explain 17
    """
    _require_free(json_path, html)
    inputs = _inputs(pairs or [], benchmark or [], corpus, column_map, benchmark_map, role)
    if explain is not None and all(explain - 1 not in item.frame.index for item in inputs.sets):
        raise InputError("--explain", f"no set has a row {explain}", "rows are counted from 1")
    report = run_audit(inputs)
    if pairs:
        report.not_checked.extend(_ignored_columns(inputs))
    console = Console()
    if explain is None:
        _print_summary(console, report)
    else:
        _print_row(console, report, inputs, explain)
    if json_path is not None or html is not None:
        write_reports(report, json_path, html)
    raise SystemExit(0 if report.passed else _FOUND)


def _inputs(
    pairs: list[Path], benchmark: list[Path], corpus: Path | None, column_map: str, benchmark_map: str, role: str
) -> AuditInputs:
    if not pairs and not benchmark and corpus is None:
        return own_inputs(load_params(Path("params.yaml")))
    if not pairs or not benchmark:
        raise InputError("options", "--pairs and --benchmark belong together", "give both, or neither")
    if role not in ROLES:
        raise InputError("--role", f"unknown role {role!r}", f"one of {', '.join(ROLES)}")
    mapping = parse_mapping(column_map, PAIR_COLUMNS)
    gold_mapping = parse_mapping(benchmark_map, ("query", "gold", "query_id"))
    tests = pd.concat([read_benchmark(path, gold_mapping) for path in benchmark], ignore_index=True)
    sets = [read_training_set(path, mapping, role, name) for path, name in zip(pairs, _set_names(pairs), strict=True)]
    library, manifest, joins = (
        empty_frame(columns(Declaration)),
        empty_frame(columns(SplitRow)),
        empty_frame(JOIN_COLUMNS),
    )
    if corpus is not None:
        library = read_library(corpus)
        manifest, joins = derive_manifest(library, tests, benchmark[0].stem)
    # Someone else's library is rarely at the same revision as their training data.
    return AuditInputs(sets, manifest, joins, library, tests, settings=AuditSettings(unknown_target="warning"))


def _require_free(json_path: Path | None, html: Path | None) -> None:
    """Before an audit that takes minutes: its reports can be written, and replace nothing but earlier reports."""
    if json_path is not None and json_path.is_dir():
        raise InputError("--json", f"{json_path} is a folder", "name a file")
    if html is not None and html.is_file():
        raise InputError("--html", f"{html} is a file", "name a folder")
    if html is not None and html.is_dir():
        others = sorted(item.name for item in html.iterdir() if item.name not in DOCS_ENTRIES)
        if others:
            raise InputError("--html", f"{html} holds {others[0]!r}, no earlier report", "name a new folder")


def _set_names(files: Sequence[Path]) -> list[str]:
    """File names without suffix, numbered where one comes again."""
    seen: Counter[str] = Counter()
    names = []
    for file in files:
        seen[file.stem] += 1
        names.append(file.stem if seen[file.stem] == 1 else f"{file.stem}-{seen[file.stem]}")
    return names


def _ignored_columns(inputs: AuditInputs) -> list[str]:
    ignored = {item.path: sorted({*map(str, item.frame.columns)} - {*PAIR_COLUMNS}) for item in inputs.sets}
    return [f"{path}: columns {', '.join(names)} (--map names them)" for path, names in ignored.items() if names]


def _print_summary(console: Console, report: AuditReport) -> None:
    table = Table(title="Leakage audit", title_justify="left")
    for title in ("kind", "check", "severity", *report.sets):
        table.add_column(title, justify="right" if title in report.sets else "left")
    for name, about in report.checks.items():
        counts = [str(report.counts[name].get(item, "–")) for item in report.sets]
        table.add_row(about["kind"], name, about["severity"], *counts)
    console.print(table)
    shown = report.findings.groupby(["severity", "check"], sort=False).head(_LISTED)
    for item in shown.sort_values("severity", kind="stable").itertuples():
        console.print(
            f"{item.severity} {item.check} {item.path} row {item.row}: {item.evidence}", markup=False, soft_wrap=True
        )
    if len(report.findings) > len(shown):
        console.print(f"… and {len(report.findings) - len(shown)} more (--json, --html)")
    for note in report.not_checked:
        console.print(f"not checked: {note}", markup=False, soft_wrap=True)
    critical = int((report.findings["severity"] == "critical").sum())
    verdict = (
        "clean: no critical finding" if report.passed else f"LEAK: {critical} critical finding{'s' * (critical > 1)}"
    )
    console.print(f"{verdict}, {len(report.findings) - critical} warnings")


def _print_row(console: Console, report: AuditReport, inputs: AuditInputs, row: int) -> None:
    for item in inputs.sets:
        if row - 1 not in item.frame.index:
            continue
        console.print(f"{item.name} ({item.path}) row {row}:", markup=False)
        shown = {
            key: value for key, value in item.frame.loc[row - 1].items() if isinstance(value, str | list) and value
        }
        console.print(json.dumps(shown, ensure_ascii=False, indent=2), markup=False)
        own = report.findings[(report.findings["set"] == item.name) & (report.findings["row"] == row)]
        for found in own.to_dict(orient="records"):
            console.print(f"  {found['severity']} {found['check']}: {found['evidence']}", markup=False)
            console.print(f"    why it matters: {report.checks[str(found['check'])]['description']}", markup=False)
        if own.empty:
            console.print("  nothing is held against it", markup=False)
