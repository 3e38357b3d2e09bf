"""Queries to look at: where the rounds helped and hurt, and what the generators wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lean_finder.generation.reward import RewardSettings, rank_difficulty
from lean_finder.records import BenchmarkQuery, Ranking
from lean_finder.reporting.inputs import Retriever, Study


@dataclass(frozen=True, slots=True)
class RankedExample:
    """A test query with the rank that each retriever gives its gold (None: gold not in the corpus)."""

    query: str
    gold: str
    style: str
    ranks: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class GeneratedExample:
    """A generated query: its target, the previous retriever's rank of it, the judge's score, what became of it."""

    query: str
    declaration: str
    rank: int | None
    score: float | None
    fate: str


def largest_changes(
    study: Study, benchmark: str, before: str, after: str, count: int = 6
) -> tuple[list[RankedExample], list[RankedExample]]:
    """The queries whose gold rose most and fell most from one retriever to the other, by the ratio of the ranks.

    At most one query a declaration; equal ratios by query id. Empty where a ranking is missing.
    """
    rankings = {item.name: item.rankings[benchmark] for item in study.retrievers if benchmark in item.rankings}
    if before not in rankings or after not in rankings or before == after:
        return [], []
    queries = {query.query_id: query for query in study.benchmarks[benchmark]}
    ranks = {name: {row.query_id: row.gold_rank for row in rows} for name, rows in rankings.items()}
    moves = sorted(_moves(rankings[before], ranks[after], queries))
    rises = [name for move, name in moves if move < 0]
    falls = [name for move, name in reversed(moves) if move > 0]
    return _take(rises, queries, ranks, count), _take(falls, queries, ranks, count)


def _moves(
    before: Sequence[Ranking], after: Mapping[str, int | None], queries: Mapping[str, BenchmarkQuery]
) -> Iterator[tuple[float, str]]:
    """(log2 of new rank over old rank, query id): negative = the gold rose."""
    for row in before:
        new = after.get(row.query_id)
        if row.gold_rank is not None and new is not None and row.query_id in queries:
            yield math.log2(new / row.gold_rank), row.query_id


def _take(
    names: Sequence[str],
    queries: Mapping[str, BenchmarkQuery],
    ranks: Mapping[str, Mapping[str, int | None]],
    count: int,
) -> list[RankedExample]:
    chosen: dict[str, RankedExample] = {}
    for name in names:
        query = queries[name]
        if len(chosen) < count and query.gold not in chosen:
            places = {retriever: found.get(name) for retriever, found in ranks.items()}
            chosen[query.gold] = RankedExample(query.query, query.gold, query.style, places)
    return list(chosen.values())


def generated_examples(item: Retriever, reward: RewardSettings, count: int = 5) -> dict[str, list[GeneratedExample]]:
    """What an arm's generator wrote, under three headings, those without rows left out.

    "hard and kept": highest difficulty, then the judge's score; "far off and kept": the previous retriever ranks the
    target lowest, so the query is hard, or wrong; "left out": spread over the reasons.
    """
    found: dict[str, list[GeneratedExample]] = {}
    kept = item.queries
    if kept is not None and "rank_prev" in kept and len(kept):
        bands = (reward.easy_rank, reward.full_rank, reward.lost_rank)
        ranked = kept.assign(difficulty=[rank_difficulty(int(rank), *bands) for rank in kept["rank_prev"]])
        best = ranked.sort_values(["difficulty", "judge_score", "query_id"], ascending=[False, False, True])
        worst = ranked.sort_values(["rank_prev", "query_id"], ascending=[False, True])
        worst = worst[worst["rank_prev"] > reward.full_rank]
        found["hard and kept"] = _rows(best, count)
        found["far off and kept"] = _rows(worst, count)
    if item.dropped is not None and len(item.dropped):
        found["left out"] = _rejected(item.dropped, count)
    return {heading: rows for heading, rows in found.items() if rows}


def _rows(frame: pd.DataFrame, count: int) -> list[GeneratedExample]:
    return [_example(row, "kept") for row in frame.drop_duplicates("declaration").head(count).to_dict("records")]


def _rejected(dropped: pd.DataFrame, count: int) -> list[GeneratedExample]:
    """One row of each reason in turn, until there are enough."""
    column = "reason" if "reason" in dropped else "check"
    reasons = dropped[column] if column in dropped else pd.Series("unrecorded", index=dropped.index)
    turn = reasons.groupby(reasons).cumcount()
    order = pd.DataFrame({"turn": turn, "reason": reasons}).sort_values(["turn", "reason"], kind="stable").index
    chosen = dropped.loc[order].head(count)
    return [
        _example(row, str(reason))
        for row, reason in zip(chosen.to_dict("records"), reasons.loc[chosen.index], strict=True)
    ]


def _example(row: Mapping[Any, Any], fate: str) -> GeneratedExample:
    rank, score = row.get("rank_prev"), row.get("judge_score")
    return GeneratedExample(
        query=str(row["query"]),
        declaration=str(row["declaration"]),
        rank=int(rank) if isinstance(rank, int | float) and rank >= 1 else None,
        score=float(score) if isinstance(score, int | float) and math.isfinite(score) else None,
        fate=fate,
    )
