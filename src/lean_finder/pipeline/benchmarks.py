"""The benchmarks that params.yaml names, as stages read them."""

from __future__ import annotations

from pathlib import Path

from lean_finder.evaluation.benchmarks import load_benchmark
from lean_finder.params import Params
from lean_finder.records import BenchmarkQuery


def held_out_queries(params: Params) -> dict[str, list[BenchmarkQuery]]:
    """Every query of every benchmark file, by benchmark: what no model may see, whichever row set is scored.

    A row that is left out of one row set is scored in another, here or by somebody else.
    """
    folder = Path(params.data.benchmark)
    return {name: load_benchmark(folder / item.file, name=name) for name, item in params.benchmarks.items()}


def load_benchmarks(params: Params) -> dict[str, list[BenchmarkQuery]]:
    """The queries that are scored, by benchmark: the row sets that params name, from the folder `data.benchmark`."""
    folder = Path(params.data.benchmark)
    return {
        name: load_benchmark(
            folder / item.file,
            name=name,
            rows=item.rows or None,
            shared=folder / item.shared if item.shared else None,
        )
        for name, item in params.benchmarks.items()
    }
