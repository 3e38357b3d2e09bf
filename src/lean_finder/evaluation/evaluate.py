"""From a retriever to saved rankings, from rankings to figures, from two sets of rankings to a comparison.

Rankings are the durable thing; every figure is computed from them in seconds. A query that could not be answered
is a failure: it is counted and listed, and enters no mean.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lean_finder.errors import InputError
from lean_finder.evaluation.metrics import METRICS, metric_matrix
from lean_finder.evaluation.statistics import bootstrap_means, holm, paired_randomisation
from lean_finder.records import BenchmarkQuery, Ranking
from lean_finder.retrieval.retriever import Retriever
from lean_finder.storage import read_jsonl, write_jsonl

logger = logging.getLogger(__name__)

#: Queries answered at once.
_CHUNK = 64

#: Upper ends (whitespace words) of the query-length slices.
_LENGTHS = (3, 6, 10, 20)

#: Missing golds and failed queries listed by name; the counts are always complete.
_LISTED = 50


def rank_benchmark(
    retriever: Retriever,
    queries: Sequence[BenchmarkQuery],
    family_of: Mapping[str, str],
    k: int = 100,
    *,
    progress: bool = False,
) -> list[Ranking]:
    """The k best names and the exact ranks of gold and family for each query, in order.

    The family's rank is the best rank of any of its members in `family_of`. A query that the retriever refuses
    (InputError) becomes a Ranking without names and ranks whose `extra` has "error".

    Raises:
        InputError: every query was refused.
    """
    members = _members(family_of, {query.gold for query in queries})
    rankings: list[Ranking] = []
    for start in tqdm(range(0, len(queries), _CHUNK), unit="chunk", desc="rank", disable=not progress):
        chunk = queries[start : start + _CHUNK]
        try:
            rankings.extend(_rank(retriever, chunk, members, k))
        except InputError:
            rankings.extend(_rank_or_fail(retriever, query, members, k) for query in chunk)
    failed = [ranking for ranking in rankings if "error" in ranking.extra]
    if rankings and len(failed) == len(rankings):
        raise InputError("benchmark", f"every query failed, the first: {failed[0].extra['error']}")
    return rankings


def save_rankings(path: Path, rankings: Iterable[Ranking]) -> None:
    """Write rankings as JSON lines."""
    write_jsonl(path, (asdict(ranking) for ranking in rankings))


def load_rankings(path: Path) -> list[Ranking]:
    """Rankings of `save_rankings`; raises InputError for a missing or damaged file."""
    rows = read_jsonl(path, ("query_id", "gold", "names", "scores", "gold_rank", "family_rank"))
    return [Ranking(**{**row, "names": tuple(row["names"]), "scores": tuple(row["scores"])}) for row in rows]


def score(
    rankings: Sequence[Ranking],
    queries: Sequence[BenchmarkQuery],
    family_of: Mapping[str, str],
    *,
    module_of: Mapping[str, str] | None = None,
    row_set: str = "",
    seed: int = 0,
    resamples: int = 2000,
) -> dict[str, Any]:
    """Every figure of one retriever on one benchmark, ready for JSON.

    Args:
        rankings: one per query, in the queries' order.
        queries: of the benchmark.
        family_of: declaration → family, to count the families behind the golds.
        module_of: declaration → module, for the slices by top folder; golds without module are "unknown".
        row_set: the name of the row set, repeated in the result.
        seed: of the bootstrap.
        resamples: of the bootstrap.

    Returns:
        `row_set`, `queries` (all), `scored`, `failed`, `declarations`, `families`, `missing_golds` (declarations,
        queries, names), `ceiling` (the highest value a perfect retriever could reach: share of scored queries whose
        gold is in the corpus), `strict` and `family` (metric → value, low, high; missing golds count 0), `found`
        (the strict metrics over queries whose gold is in the corpus), and `slices`: dimension → slice →
        {`queries`, `declarations`, `strict`, `family`}.

    Raises:
        InputError: rankings of other queries, or nothing to score.
    """
    _require_same(rankings, queries)
    kept = [pair for pair in zip(rankings, queries, strict=True) if "error" not in pair[0].extra]
    if not kept:
        raise InputError("rankings", "no query was answered", "look at the retriever's errors")
    missing = [query for ranking, query in kept if ranking.gold_rank is None]
    missing_names = sorted({query.gold for query in missing})
    failed = [ranking for ranking in rankings if "error" in ranking.extra]
    found = [(ranking, query) for ranking, query in kept if ranking.gold_rank is not None]

    def figures(rows: Sequence[tuple[Ranking, BenchmarkQuery]], kind: str) -> dict[str, dict[str, float]]:
        ranks = [ranking.gold_rank if kind == "strict" else ranking.family_rank for ranking, _ in rows]
        clusters = [query.gold for _, query in rows]
        intervals = bootstrap_means(metric_matrix(ranks), clusters, seed=seed, resamples=resamples)
        return {name: interval.to_json() for name, interval in zip(METRICS, intervals, strict=True)}

    slices: dict[str, dict[str, Any]] = {}
    for dimension, label in _dimensions(module_of).items():
        groups: dict[str, list[tuple[Ranking, BenchmarkQuery]]] = {}
        for row in kept:
            groups.setdefault(label(row[1]) or "unknown", []).append(row)
        slices[dimension] = {
            name: {
                "queries": len(rows),
                "declarations": len({query.gold for _, query in rows}),
                "strict": figures(rows, "strict"),
                "family": figures(rows, "family"),
            }
            for name, rows in sorted(groups.items())
        }
    return {
        "row_set": row_set,
        "queries": len(queries),
        "scored": len(kept),
        "failed": {
            "queries": len(failed),
            "listed": [{"query_id": item.query_id, "error": item.extra["error"]} for item in failed[:_LISTED]],
        },
        "declarations": len({query.gold for _, query in kept}),
        "families": len({family_of.get(query.gold, query.gold) for _, query in kept}),
        "missing_golds": {
            "declarations": len(missing_names),
            "queries": len(missing),
            "listed": missing_names[:_LISTED],
            "with_family_in_corpus": len(
                {query.gold for ranking, query in kept if ranking.gold_rank is None and ranking.family_rank is not None}
            ),
        },
        "ceiling": len(found) / len(kept),
        "strict": figures(kept, "strict"),
        "family": figures(kept, "family"),
        "found": figures(found, "strict") if found else {},
        "slices": slices,
    }


def compare(
    rankings_a: Sequence[Ranking],
    rankings_b: Sequence[Ranking],
    *,
    metrics: Sequence[str] = ("ndcg_at_1", "ndcg_at_10", "recall_at_10", "mrr"),
    strict: bool = True,
    seed: int = 0,
    resamples: int = 2000,
    flips: int = 10_000,
) -> dict[str, Any]:
    """B against A on the same queries: effect (B − A) with interval, and p by paired randomisation of declarations.

    Holm's correction covers the metrics asked for; `compare_all` corrects over several comparisons. Queries that
    failed for either are left out of both and counted.

    Raises:
        InputError: rankings of different queries, an unknown metric, or no query that both answered.
    """
    if unknown := [name for name in metrics if name not in METRICS]:
        raise InputError("metrics", f"unknown metric {unknown[0]!r}", f"one of {', '.join(METRICS)}")
    _require_same(rankings_a, rankings_b)
    both = [
        (a, b) for a, b in zip(rankings_a, rankings_b, strict=True) if "error" not in a.extra and "error" not in b.extra
    ]
    if not both:
        raise InputError("rankings", "no query was answered by both", "look at the retrievers' errors")
    columns = [METRICS.index(name) for name in metrics]
    left, right = (
        metric_matrix([item.gold_rank if strict else item.family_rank for item in side])[:, columns]
        for side in zip(*both, strict=True)
    )
    clusters = [a.gold for a, _ in both]
    effects = bootstrap_means(right - left, clusters, seed=seed, resamples=resamples)
    p_values = paired_randomisation(right - left, clusters, seed=seed, flips=flips)
    adjusted = holm(p_values.tolist())
    return {
        "queries": len(both),
        "declarations": len(set(clusters)),
        "left_out": len(rankings_a) - len(both),
        "matching": "strict" if strict else "family",
        "metrics": {
            name: {
                "a": float(left[:, at].mean()),
                "b": float(right[:, at].mean()),
                "effect": effects[at].to_json(),
                "p": float(p_values[at]),
                "p_holm": adjusted[at],
            }
            for at, name in enumerate(metrics)
        },
    }


def compare_all(
    rankings: Mapping[str, Sequence[Ranking]],
    comparisons: Sequence[tuple[str, str]],
    *,
    metric: str = "ndcg_at_10",
    strict: bool = True,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """A family of comparisons (a, b) on one metric, Holm-corrected over the family.

    Each row has the names `a` and `b`, their means `mean_a` and `mean_b`, and effect, p and p_holm as in `compare`.

    Raises:
        InputError: as `compare`, or a comparison of a retriever that has no rankings.
    """
    rows: list[dict[str, Any]] = []
    for a, b in comparisons:
        for name in (a, b):
            if name not in rankings:
                raise InputError(name, "no rankings", f"there are {', '.join(sorted(rankings))}")
        result = compare(rankings[a], rankings[b], metrics=(metric,), strict=strict, seed=seed)
        figures = dict(result["metrics"][metric])
        means = {"mean_a": figures.pop("a"), "mean_b": figures.pop("b")}
        rows.append({"a": a, "b": b, "metric": metric, "queries": result["queries"], **means, **figures})
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def _rank(
    retriever: Retriever, queries: Sequence[BenchmarkQuery], members: Mapping[str, Collection[str]], k: int
) -> list[Ranking]:
    texts = [query.query for query in queries]
    answers = retriever.rank(texts, k)
    # One row per (query, family member), the gold itself first: all exact ranks in one call.
    asked = [(at, name) for at, query in enumerate(queries) for name in [query.gold, *members[query.gold]]]
    ranks = retriever.gold_ranks([texts[at] for at, _ in asked], [name for _, name in asked])
    gold: dict[int, int | None] = {}
    family: dict[int, int | None] = {}
    for (at, _), rank in zip(asked, ranks, strict=True):
        gold.setdefault(at, rank)
        best = family.get(at)
        family[at] = rank if best is None else best if rank is None else min(best, rank)
    return [
        Ranking(query.query_id, query.gold, answer.names, answer.scores, gold[at], family[at])
        for at, (query, answer) in enumerate(zip(queries, answers, strict=True))
    ]


def _rank_or_fail(
    retriever: Retriever, query: BenchmarkQuery, members: Mapping[str, Collection[str]], k: int
) -> Ranking:
    try:
        return _rank(retriever, [query], members, k)[0]
    except InputError as error:
        logger.warning("query %s failed: %s", query.query_id, error)
        return Ranking(query.query_id, query.gold, (), (), None, None, {"error": str(error)})


def _members(family_of: Mapping[str, str], golds: Collection[str]) -> dict[str, list[str]]:
    """The other members of each gold's family, sorted."""
    wanted = {family_of.get(gold, gold) for gold in golds}
    families: dict[str, list[str]] = {}
    for name, family in sorted(family_of.items()):
        if family in wanted:
            families.setdefault(family, []).append(name)
    return {gold: [name for name in families.get(family_of.get(gold, gold), []) if name != gold] for gold in golds}


def _dimensions(module_of: Mapping[str, str] | None) -> dict[str, Callable[[BenchmarkQuery], str]]:
    labels: dict[str, Callable[[BenchmarkQuery], str]] = {
        "style": lambda query: query.style,
        "difficulty": lambda query: query.difficulty,
        "kind": lambda query: query.kind,
        "query_length": lambda query: _length_label(query.query),
    }
    if module_of is not None:
        modules = module_of
        labels["top_folder"] = lambda query: _top_folder(modules.get(query.gold, ""))
    return labels


def _length_label(text: str) -> str:
    """The slice of a query by its number of words; labels sort by length."""
    words = len(text.split())
    low = 1
    for high in _LENGTHS:
        if words <= high:
            return f"{low:02d}-{high:02d}"
        low = high + 1
    return f"{low:02d}+"


def _top_folder(module: str) -> str:
    """The second component of a module name: Order of Mathlib.Order.Basic."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _require_same(rankings: Sequence[Ranking], others: Sequence[Ranking | BenchmarkQuery]) -> None:
    if len(rankings) != len(others):
        raise InputError("rankings", f"{len(rankings)} rankings against {len(others)}", "of the same benchmark")
    for ranking, other in zip(rankings, others, strict=True):
        if (ranking.query_id, ranking.gold) != (other.query_id, other.gold):
            problem = f"{ranking.query_id} meets {other.query_id}"
            raise InputError("rankings", problem, "rank the same benchmark again")
