"""Guards the terminal's table: it fits 100 columns and names validation, gaps and scaled rewards.

Run: pytest tests/reporting/test_terminal.py
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from rich.console import Console

from lean_finder.reporting.results import build_results
from lean_finder.reporting.terminal import results_tables
from tests.reporting.result_tree import Tree


def shown(results: dict[str, Any]) -> str:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(results_tables(results))
    return console.export_text()


def test_table_has_rows_gains_and_notes(results: dict[str, Any]) -> None:
    text = shown(results)
    assert "…" not in text, "a cell was cut"
    assert "embedded (test set, rows all): 120 short queries about 40 declarations, scale cpu" in text
    assert "validation (not a test)" in text
    rows = [line.split() for line in text.splitlines()]
    assert [row[-1] for row in rows if row[:3] == ["embedded", "r2", "r1"]] == ["better"]
    assert "1/8/60" in text and "6 warnings" in text


def test_gaps_are_said(own_tree: Callable[[], Tree]) -> None:
    tree = own_tree()
    (tree.root / "judge.json").unlink()
    text = shown(build_results(tree.study()))
    assert "missing: judge's error rates" in text and "more, listed" not in text
    for name in ("r1", "r2"):
        files = tree.files(name)
        for path in (files.curve, files.queries, files.dropped, files.audit):
            assert path
            path.unlink()
    text = shown(build_results(tree.study()))
    assert text.count("missing: ") == 7 and "missing: 3 more, listed in RESULTS.md" in text
