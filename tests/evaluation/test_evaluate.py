"""Guards rankings, figures, slices and comparisons. Run: pytest tests/evaluation/test_evaluate.py"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lean_finder.errors import InputError
from lean_finder.evaluation.evaluate import (
    compare,
    compare_all,
    load_rankings,
    rank_benchmark,
    save_rankings,
    score,
)
from lean_finder.records import BenchmarkQuery, Ranking
from lean_finder.retrieval.retriever import Answer, clean_query

NAMES = ("Foo.a", "Foo.b", "Bar.c", "Bar.d")


class TableRetriever:
    """Answers from a table of scores: a whole retriever whose figures can be checked by hand."""

    def __init__(self, table: dict[str, tuple[float, ...]]) -> None:
        self.table = table

    def rank(self, queries: Sequence[str], k: int) -> list[Answer]:
        answers = []
        for query in map(clean_query, queries):
            order = sorted(range(len(NAMES)), key=lambda at, row=self.table[query]: -row[at])[:k]
            answers.append(Answer(tuple(NAMES[at] for at in order), tuple(self.table[query][at] for at in order)))
        return answers

    def gold_ranks(self, queries: Sequence[str], golds: Sequence[str]) -> list[int | None]:
        return [
            sum(value >= self.table[query][NAMES.index(gold)] for value in self.table[query]) if gold in NAMES else None
            for query, gold in zip(map(clean_query, queries), golds, strict=True)
        ]


TABLE = {"one": (0.9, 0.8, 0.1, 0.0), "two": (0.5, 0.5, 0.5, 0.9), "three words here": (0.1, 0.2, 0.3, 0.4)}
QUERIES = [
    BenchmarkQuery("A/1", "one", "Foo.b", "lean", "Easy", "theorem"),
    BenchmarkQuery("A/2", "two", "Foo.b", "latex", "Easy", "theorem"),
    BenchmarkQuery("B/1", "three words here", "Bar.d", "lean", "Hard", "def"),
    BenchmarkQuery("C/1", "one", "Gone.x", "lean", "Hard", "def"),
]
FAMILY = {"Foo.a": "Foo.a", "Foo.b": "Foo.a", "Gone.x": "Bar.c", "Bar.c": "Bar.c"}


def test_rankings_carry_exact_and_family_ranks() -> None:
    rankings = rank_benchmark(TableRetriever(TABLE), QUERIES, FAMILY, k=2)
    assert [ranking.gold_rank for ranking in rankings] == [2, 4, 1, None]
    assert [ranking.family_rank for ranking in rankings] == [1, 4, 1, 3]
    assert rankings[0].names == ("Foo.a", "Foo.b") and rankings[0].scores == (0.9, 0.8)


def test_score_by_hand() -> None:
    rankings = rank_benchmark(TableRetriever(TABLE), QUERIES, FAMILY)
    figures = score(rankings, QUERIES, FAMILY, module_of={"Foo.b": "Lib.Order.Foo", "Bar.d": "Lib.Algebra.Bar"})
    strict = [1 / math.log2(3), 1 / math.log2(5), 1.0, 0.0]
    family = [1.0, 1 / math.log2(5), 1.0, 0.5]
    assert figures["strict"]["ndcg_at_10"]["value"] == pytest.approx(np.mean(strict))
    assert figures["family"]["ndcg_at_10"]["value"] == pytest.approx(np.mean(family))
    assert figures["found"]["ndcg_at_10"]["value"] == pytest.approx(np.mean(strict[:3]))
    assert figures["strict"]["mrr"]["value"] == pytest.approx((0.5 + 0.25 + 1) / 4)
    assert figures["ceiling"] == 0.75
    assert figures["missing_golds"] == {
        "declarations": 1,
        "queries": 1,
        "listed": ["Gone.x"],
        "with_family_in_corpus": 1,
    }
    assert (figures["queries"], figures["scored"], figures["declarations"], figures["families"]) == (4, 4, 3, 3)
    assert figures["slices"]["style"]["latex"]["strict"]["ndcg_at_10"]["value"] == pytest.approx(strict[1])
    assert figures["slices"]["top_folder"]["Order"]["queries"] == 2
    assert figures["slices"]["top_folder"]["unknown"]["declarations"] == 1
    assert figures["slices"]["query_length"].keys() == {"01-03"}
    assert figures["slices"]["difficulty"]["Hard"]["queries"] == 2
    json.dumps(figures, allow_nan=False)


def test_a_failed_query_is_no_rank() -> None:
    queries = [*QUERIES[:3], BenchmarkQuery("D/1", " \x00 ", "Foo.a", "lean")]
    rankings = rank_benchmark(TableRetriever(TABLE), queries, FAMILY)
    assert rankings[3].names == () and "empty" in rankings[3].extra["error"]
    figures = score(rankings, queries, FAMILY)
    assert figures["scored"] == 3 and figures["failed"]["queries"] == 1
    assert figures["failed"]["listed"][0]["query_id"] == "D/1"
    assert figures["strict"] == score(rankings[:3], queries[:3], FAMILY)["strict"]
    with pytest.raises(InputError, match="every query failed"):
        rank_benchmark(TableRetriever(TABLE), queries[3:], FAMILY)


def test_rankings_survive_the_file(tmp_path: Path) -> None:
    rankings = rank_benchmark(TableRetriever(TABLE), QUERIES, FAMILY)
    save_rankings(tmp_path / "r.jsonl", rankings)
    assert load_rankings(tmp_path / "r.jsonl") == rankings


def _rankings(ranks: Sequence[int], per_declaration: int) -> list[Ranking]:
    return [Ranking(f"q{at}", f"d{at // per_declaration}", (), (), rank, rank) for at, rank in enumerate(ranks)]


def test_compare_by_hand() -> None:
    a = _rankings([2] * 60, 3)
    b = _rankings([1] * 30 + [2] * 30, 3)
    result = compare(a, b)["metrics"]
    assert result["mrr"]["effect"]["value"] == pytest.approx(0.25)
    assert result["mrr"]["effect"]["low"] > 0 and result["mrr"]["p_holm"] < 0.05
    assert result["recall_at_10"]["effect"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert result["recall_at_10"]["p"] == 1.0
    swapped = compare(b, a)["metrics"]["mrr"]
    assert swapped["effect"]["value"] == pytest.approx(-0.25)


def test_declarations_are_the_unit() -> None:
    """Sixty improved queries of one declaration are one observation, not sixty."""
    result = compare(_rankings([2] * 60, 60), _rankings([1] * 60, 60))["metrics"]["mrr"]
    assert result["p"] == 1.0


def test_failures_of_either_are_left_out_of_both() -> None:
    a, b = _rankings([2, 2, 2, 2], 1), _rankings([1, 1, 1, 1], 1)
    a[0] = replace(a[0], gold_rank=None, extra={"error": "x"})
    result = compare(a, b)
    assert result["queries"] == 3 and result["left_out"] == 1
    assert result["metrics"]["mrr"]["a"] == pytest.approx(0.5)


def test_a_family_of_comparisons_is_corrected() -> None:
    sets = {"a": _rankings([2] * 40, 1), "b": _rankings([1] * 40, 1), "c": _rankings([2, 1] * 20, 1)}
    rows = compare_all(sets, [("a", "b"), ("a", "c"), ("a", "a")])
    assert [(row["a"], row["b"]) for row in rows] == [("a", "b"), ("a", "c"), ("a", "a")]
    assert all(row["mean_b"] - row["mean_a"] == pytest.approx(row["effect"]["value"]) for row in rows)
    assert [row["p_holm"] for row in rows] == pytest.approx(
        [min(1.0, 3 * rows[0]["p"]), max(3 * rows[0]["p"], 2 * rows[1]["p"]), 1.0]
    )


def test_rankings_of_other_queries_are_refused() -> None:
    a = _rankings([1, 2], 1)
    with pytest.raises(InputError, match="q0 meets q1"):
        compare(a, a[::-1])
    with pytest.raises(InputError, match="2 rankings against 1"):
        compare(a, a[:1])
    with pytest.raises(InputError, match="2 rankings against 4"):
        score(a, QUERIES, {})
    with pytest.raises(InputError, match="unknown metric"):
        compare(a, a, metrics=("precision",))
    with pytest.raises(InputError, match="no rankings"):
        compare_all({"a": a}, [("a", "z")])
