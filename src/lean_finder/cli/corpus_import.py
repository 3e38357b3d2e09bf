"""`lean-finder corpus import`: a corpus that another tool extracted with Lean, merged with ours if wanted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lean_finder.corpus.importers import FORMATS, Imported, import_corpus
from lean_finder.corpus.importers.merge import Merged, merge_exact
from lean_finder.records import Declaration, columns, from_frame, to_frame
from lean_finder.storage import read_table, write_json, write_table


def import_(
    path: Annotated[Path, typer.Argument(help="File or folder that the other tool wrote, plain or gzipped.")],
    out: Annotated[Path, typer.Option(help="Where to write the declarations, as Parquet.")],
    format: Annotated[str, typer.Option(help=f"auto, {', '.join(FORMATS)}.")] = "auto",
    source: Annotated[
        Path | None, typer.Option(help="Declarations extracted from the same sources: fills docstrings and lines.")
    ] = None,
) -> None:
    """Read jixia, doc-gen4, LeanSearch v2, FrenzyMath, Lean Finder or lean-extract data into our records.

    A report lies beside the output: what was left out and why, and where the source disagrees.

    Examples:

      lean-finder corpus import build/doc/declarations --out exact.parquet

      lean-finder corpus import raw/ --format jixia --source artifacts/corpus/declarations.parquet --out merged.parquet
    """
    imported = import_corpus(path, format)
    merged = None
    if source is not None:
        ours = from_frame(Declaration, read_table(source, columns(Declaration)))
        merged = merge_exact(ours, imported.declarations, certain_instances=imported.certain_instances)
    declarations = merged.declarations if merged else imported.declarations
    report = out.with_suffix(".import.json")
    write_table(out, to_frame(Declaration, declarations))
    write_json(report, import_report(imported, merged))
    typer.echo(f"{len(declarations)} declarations ({imported.format}) -> {out}, report -> {report}")
    for reason, count in imported.counts.items():
        typer.echo(f"  left out or doubted: {count} x {reason}")
    if merged:
        typer.echo(
            f"  only in the source: {len(merged.only_source)}, only exact: {len(merged.only_exact)},"
            f" kinds recovered from the source: {len(merged.recovered)}"
        )
        for field, count in merged.counts.items():
            typer.echo(f"  disagreements about {field}: {count}")


def import_report(imported: Imported, merged: Merged | None) -> dict[str, Any]:
    """What an import left out, and what a merge disagreed about, as JSON."""
    report: dict[str, Any] = {
        "format": imported.format,
        "imported": len(imported.declarations),
        "left_out": {"counts": imported.counts, "listed": [asdict(problem) for problem in imported.problems]},
    }
    if merged:
        report["merge"] = {
            "counts": merged.counts,
            "declarations": len(merged.declarations),
            "disagreements": [asdict(item) for item in merged.disagreements],
            "only_exact": merged.only_exact,
            "only_source": merged.only_source,
            "recovered": merged.recovered,
        }
    return report
