"""Rank every benchmark with one retriever, save the rankings, score them: the same for every kind of retriever."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lean_finder.evaluation.evaluate import rank_benchmark, save_rankings, score
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.benchmarks import load_benchmarks
from lean_finder.pipeline.corpus import Corpus
from lean_finder.pipeline.validation import short_queries
from lean_finder.records import BenchmarkQuery
from lean_finder.retrieval.retriever import Retriever
from lean_finder.storage import atomic_path, write_json
from lean_finder.tracking import StageRun, flatten

#: The set that settings are chosen on; everything else is a test set, for a last look.
VALIDATION = "validation"

CERTIFIED, UNCERTIFIED = "certified", "uncertified"


@dataclass(frozen=True)
class Standing:
    """Whether an audit vouches for a retriever: `CERTIFIED`, `UNCERTIFIED` or "not trained here", and why."""

    status: str
    reason: str


NOT_TRAINED = Standing("not trained here", "no training data of ours entered it")


def evaluate_retriever(
    name: str,
    retriever: Retriever,
    corpus: Corpus,
    params: Params,
    tracked: StageRun,
    standing: Standing = NOT_TRAINED,
) -> None:
    """Write `artifacts/rankings/<name>/` and `reports/metrics/<name>.json`, and log the headline figures."""
    module_of = {item.name: item.module for item in corpus.declarations}
    results: dict[str, Any] = {}
    with atomic_path(paths.rankings(name)) as out:
        out.mkdir(parents=True)
        for benchmark, queries in _query_sets(params, corpus).items():
            rankings = rank_benchmark(
                retriever, queries, corpus.family_of, params.evaluation.top_k, progress=len(queries) > 1000
            )
            save_rankings(out / f"{benchmark}.jsonl", rankings)
            rows = str((benchmark in params.benchmarks and params.benchmarks[benchmark].rows) or "all")
            results[benchmark] = score(
                rankings,
                queries,
                corpus.family_of,
                module_of=module_of,
                row_set=rows,
                seed=params.seed,
                resamples=params.evaluation.resamples,
            )
    write_json(
        paths.metrics(name),
        {"retriever": name, "scale": params.scale, "certificate": asdict(standing), "benchmarks": results},
    )
    tracked.tag("certificate", standing.status)
    for benchmark, result in results.items():
        values = {metric: interval["value"] for metric, interval in result["strict"].items()}
        tracked.metrics(flatten({benchmark: values}))
    tracked.output(paths.rankings(name))
    tracked.artifact(paths.metrics(name))


def _query_sets(params: Params, corpus: Corpus) -> dict[str, list[BenchmarkQuery]]:
    """The benchmarks, and the validation set if there is one: a library may have no short queries of its own."""
    validation = short_queries(params, corpus)
    return load_benchmarks(params) | ({VALIDATION: validation} if validation else {})
