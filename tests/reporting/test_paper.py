"""Guards that a published figure stands only beside the arm that it belongs to, whatever that arm is called.

Run: pytest tests/reporting/test_paper.py
"""

from __future__ import annotations

import pytest

from lean_finder.reporting.paper import claims_of, lineage

ARMS = {
    "first": {"prev": "r0", "reward": "both", "generator": "rl"},
    "second": {"prev": "first", "reward": "both", "generator": "rl"},
    "third": {"prev": "second", "reward": "both", "generator": "rl"},
    "hard": {"prev": "r0", "reward": "difficulty", "generator": "rl"},
    "after_hard": {"prev": "hard", "reward": "both", "generator": "rl"},
    "reuse": {"prev": "first", "reward": "both", "generator": "reuse"},
    "own_idea": {"prev": "first", "reward": "consistency", "generator": "rl"},
}


@pytest.mark.parametrize(
    ("name", "ndcg_at_1"),
    [
        pytest.param("r0", 0.463, id="round 0"),
        pytest.param("first", 0.520, id="round 1 by its definition, not its name"),
        pytest.param("second", 0.558, id="round 2"),
        pytest.param("hard", 0.453, id="Table 7, difficulty only"),
        pytest.param("reuse", 0.515, id="Table 9, reused generator"),
    ],
)
def test_arms_of_the_paper(name: str, ndcg_at_1: float) -> None:
    claims = {(claim.queries, claim.metric): claim.value for claim in claims_of(name, ARMS)}
    assert claims["short", "ndcg_at_1"] == ndcg_at_1


@pytest.mark.parametrize("name", ["third", "after_hard", "own_idea", "bm25"])
def test_no_claim_for_what_the_paper_does_not_report(name: str) -> None:
    assert claims_of(name, ARMS) == ()


def test_lineage_ends_where_a_circle_closes() -> None:
    arms = {"a": {"prev": "b"}, "b": {"prev": "a"}}
    assert lineage("a", arms) == ["b", "a"]
    assert lineage("third", ARMS) == ["r0", "first", "second", "third"]
