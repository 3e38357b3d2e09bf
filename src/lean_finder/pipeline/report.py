"""What the run found: the table, RESULTS.md and the page, all from one dict.

Reads: metrics, rankings, curves, queries, audits, the judge's error rates, corpus counts; what was run when, from the
tracking store. Writes: `reports/results.json`, `reports/RESULTS.md`, `reports/report.html`; prints the table.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from lean_finder.generation.reward import RewardSettings
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.benchmarks import load_benchmarks
from lean_finder.pipeline.sets import style_queries
from lean_finder.reporting.inputs import RetrieverFiles, StageRecord, read_study
from lean_finder.reporting.markdown import render_markdown
from lean_finder.reporting.page import render_page
from lean_finder.reporting.results import build_results, headline_metrics
from lean_finder.reporting.terminal import results_tables
from lean_finder.storage import read_json, write_json, write_text
from lean_finder.tracking import StageRun, latest_runs

RESULTS_JSON = paths.RESULTS.with_name("results.json")


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Read everything, write the three files, log the run that sums up this execution, print the table."""
    runs = _runs(params)
    study = read_study(
        _files(params),
        extraction=paths.EXTRACTION,
        judge=paths.JUDGE,
        benchmarks=load_benchmarks(params),
        style=style_queries(Path(params.data.style)),
        params=read_json(paths.CHECKED_PARAMS),
        models={"retriever": params.models.retriever.name, "generator": params.models.generator.name},
        reward=RewardSettings(**params.generator.reward.model_dump()),
        runs=runs,
    )
    results = build_results(study)
    write_json(RESULTS_JSON, results)
    write_text(paths.RESULTS, render_markdown(results))
    write_text(paths.REPORT_PAGE, render_page(study, results, paths.REPORTS))
    tracked.metrics(headline_metrics(results))
    for item in runs:
        tracked.tag(f"run.{item.name.replace('@', '.')}", item.run_id)  # MLflow refuses @ in names
    for path in (paths.RESULTS, paths.REPORT_PAGE):
        tracked.artifact(path)
    console = Console(width=None if Console().is_terminal else 110)
    console.print(results_tables(results))
    console.print(f"Page: {paths.REPORT_PAGE}", style="bold")


def _files(params: Params) -> list[RetrieverFiles]:
    """The rows of the table: baselines, round 0, arms in the order of params."""
    baselines = {"bm25": "lexical search", "base": "untuned encoder", "hybrid": f"{params.final} fused with bm25"}
    rows = [RetrieverFiles(name, about, paths.metrics(name), paths.rankings(name)) for name, about in baselines.items()]
    for name in params.retrievers:
        arm = params.arms.get(name)
        rows.append(
            RetrieverFiles(
                name=name,
                about="" if arm else "round 0, long queries only",
                metrics=paths.metrics(name),
                rankings=paths.rankings(name),
                prev=arm.prev if arm else "",
                reward=arm.reward if arm else "",
                generator_kind=arm.generator if arm else "",
                curve=paths.retriever(name) / "curve.json",
                generator=paths.generator(name) if arm else None,
                supervised=None if arm else paths.generator(name) / "curve.json",
                queries=paths.queries(name),
                dropped=paths.dropped(name),
                audit=paths.audit(name),
                data_docs=paths.data_docs(name),
            )
        )
    return rows


def _runs(params: Params) -> list[StageRecord]:
    """The last execution of each stage that this set of arms has, by start."""
    records = [
        StageRecord(
            name=name,
            started=datetime.fromtimestamp(item.info.start_time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S"),
            seconds=item.data.metrics.get("seconds"),
            commit=item.data.tags.get("git.commit", ""),
            dirty=item.data.tags.get("git.dirty") == "true",
            run_id=item.info.run_id,
        )
        for name, item in latest_runs().items()
        if name != "report" and item.data.tags.get("arm", "") in ("", *params.retrievers)
    ]
    return sorted(records, key=lambda record: (record.started, record.name))
