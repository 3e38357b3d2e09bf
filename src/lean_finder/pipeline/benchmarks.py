"""The benchmarks that params.yaml names, as stages read them."""

from __future__ import annotations

from pathlib import Path

from lean_finder.evaluation.benchmarks import load_benchmark
from lean_finder.params import Params
from lean_finder.records import BenchmarkQuery


def load_benchmarks(params: Params) -> dict[str, list[BenchmarkQuery]]:
    """Every benchmark's queries, by name, from the folder `data.benchmark`."""
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
