"""Guards which queries are shown: the largest moves, one a declaration, and every reason for leaving out.

Run: pytest tests/reporting/test_examples.py
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from lean_finder.reporting.examples import generated_examples, largest_changes
from tests.reporting.result_tree import SCALED, Tree


def test_largest_changes_are_ordered_and_one_a_declaration(tree: Tree) -> None:
    rises, falls = largest_changes(tree.study(), "embedded", "r0", "r2", count=4)
    ratios = [row.ranks["r2"] / row.ranks["r0"] for row in rises if row.ranks["r2"] and row.ranks["r0"]]
    assert len(rises) == len({row.gold for row in rises}) == len(ratios) == 4
    assert ratios == sorted(ratios) and ratios[-1] < 1
    assert falls == []
    assert set(rises[0].ranks) == {row.name for row in tree.study().retrievers}


def test_falls_are_found_too(tree: Tree) -> None:
    rises, falls = largest_changes(tree.study(), "embedded", "r0", "r1_difficulty")
    assert rises == []
    assert all(row.ranks["r1_difficulty"] > row.ranks["r0"] for row in falls) and falls  # type: ignore[operator]


def test_no_examples_without_rankings(tree: Tree) -> None:
    assert largest_changes(tree.study(("r0",)), "embedded", "r0", "r2") == ([], [])


def test_generated_examples_show_hard_far_and_left_out(tree: Tree) -> None:
    item = next(row for row in tree.study().retrievers if row.name == "r1")
    found = generated_examples(item, SCALED, count=4)
    assert list(found) == ["hard and kept", "far off and kept", "left out"]
    assert all(row.rank and SCALED.full_rank < row.rank <= SCALED.lost_rank for row in found["hard and kept"])
    ranks = [row.rank or 0 for row in found["far off and kept"]]
    assert ranks == sorted(ranks, reverse=True) and ranks[0] == max(item.queries["rank_prev"])  # type: ignore[index]
    assert {row.fate for row in found["left out"]} == {"duplicate", "inconsistent"}


def test_what_was_neither_judged_nor_ranked_has_no_figures(tree: Tree) -> None:
    item = next(row for row in tree.study().retrievers if row.name == "r1")
    empty = pd.DataFrame(
        {"query": [""], "declaration": ["D"], "rank_prev": [0], "judge_score": [float("nan")], "reason": ["empty"]}
    )
    found = generated_examples(replace(item, queries=None, dropped=empty), SCALED)
    assert [(row.rank, row.score, row.fate) for row in found["left out"]] == [(None, None, "empty")]
