"""Guards RESULTS.md and the README's table: row set, n, intervals and scale on every figure, gaps as gaps.

Run: pytest tests/reporting/test_markdown.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lean_finder.reporting.formatting import GAP
from lean_finder.reporting.markdown import headline_section, render_markdown, table
from lean_finder.reporting.results import build_results
from tests.reporting.result_tree import Tree


def tables(text: str) -> list[list[list[str]]]:
    """Every pipe table as rows of cells; also checks that each is rectangular."""
    found: list[list[list[str]]] = []
    previous = ""
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.replace("\\|", "/").strip("|").split("|")]
            if not previous.startswith("|"):
                found.append([])
            found[-1].append(cells)
        previous = line
    for rows in found:
        assert {len(row) for row in rows} == {len(rows[0])}
    return found


def test_scores_carry_scale_size_and_interval(results: dict[str, Any]) -> None:
    text = render_markdown(results)
    assert "### Embedded (test set, rows all): 120 short queries about 40 declarations" in text
    assert "### Validation (not a test): 40 short queries about 40 declarations" in text
    header, _, *rows = next(rows for rows in tables(text) if rows[0][0] == "retriever")
    assert header[:4] == ["retriever", "what", "scale", "queries"]
    assert [row[2] for row in rows] == ["cpu"] * 8
    assert all("[" in cell for row in rows for cell in row[4:])
    assert ["**r2**", "round 2, reward both, generator rl"] in [row[:2] for row in rows]


def test_paper_s_figures_are_labelled_with_their_own_scale(results: dict[str, Any]) -> None:
    rows = next(rows for rows in tables(render_markdown(results)) if "paper" in rows[0])
    assert all(row[rows[0].index("paper's scale")].startswith("8B") for row in rows[2:])
    assert "not comparable" in render_markdown(results)
    at = [rows[0].index(name) for name in ("arm", "metric", "over its predecessor", "paper", "where")]
    told = {(row[at[0]], row[at[1]]): [row[place] for place in at[2:]] for row in rows[2:]}
    assert told["r1_difficulty", "nDCG@1"][0].startswith("−") and told["r1_difficulty", "nDCG@1"][1] == "0.453"
    assert told["r2_base", "nDCG@1"][2] == "Table 9" and told["r0", "nDCG@1"][0] == GAP


def test_gains_are_told_whatever_they_are(results: dict[str, Any]) -> None:
    text = render_markdown(results)
    assert "r2 over r1 (its predecessor): +" in text
    row = next(
        row
        for rows in tables(text)
        for row in rows
        if row[:3] == ["r1_difficulty", "r0 (round 0, its predecessor)", "nDCG@10"]
    )
    assert row[-1] == "worse" and row[4].startswith("−")


def test_missing_scores_are_gaps(own_tree: Callable[[], Tree]) -> None:
    tree = own_tree()
    tree.files("r1").metrics.unlink()
    text = render_markdown(build_results(tree.study()))
    row = next(row for rows in tables(text) for row in rows if row[0] == "r1")
    assert set(row[3:]) == {GAP}
    assert "- scores of r1: " in text


def test_headline_section_has_tests_only(results: dict[str, Any]) -> None:
    text = headline_section(results)
    assert [len(rows) for rows in tables(text)] == [10, 10]
    assert "alidation" not in text
    assert "Scale cpu" in text


def test_cells_cannot_break_a_table() -> None:
    lines = table(["a", "b"], [["x | y", "two\nlines"]])
    assert lines[-1] == "| x \\| y | two lines |"
