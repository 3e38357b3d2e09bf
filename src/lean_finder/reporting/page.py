"""The report as one HTML page that needs no network: text, tables, figures and the drawing library in one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.offline
from jinja2 import Environment, PackageLoader, StrictUndefined

from lean_finder.reporting import figures, formatting, verdicts
from lean_finder.reporting.examples import generated_examples, largest_changes
from lean_finder.reporting.figures import Chart
from lean_finder.reporting.inputs import Study
from lean_finder.reporting.judges import judge_table
from lean_finder.reporting.markdown import from_to
from lean_finder.reporting.probes import probe_table
from lean_finder.reporting.queries import band_labels

_METRICS = ("ndcg_at_1", "ndcg_at_10", "recall_at_10", "recall_at_100", "mrr")


def render_page(study: Study, results: Mapping[str, Any], folder: Path) -> str:
    """The page.

    Args:
        study: for curves, queries, times and parameters.
        results: of `build_results(study)`.
        folder: where the page will lie; links to the audits' pages are relative to it.
    """
    environment = Environment(
        loader=PackageLoader("lean_finder.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "figure": formatting.interval,
        "gain": formatting.signed_interval,
        "number": formatting.number,
        "signed": formatting.signed,
        "p": formatting.p_value,
        "metric": formatting.metric_label,
        "plain": formatting.plain,
        "seconds": formatting.seconds,
        "what": formatting.describe,
    }
    charts = _charts(study, results)
    judge_header, judge_rows = judge_table(results["judge"] or {})
    template = environment.get_template("report.html.j2")
    return template.render(
        results=results,
        metrics=_METRICS,
        primary=verdicts.PRIMARY,
        tests=verdicts.scored_tests(results),
        chain=verdicts.main_line(results),
        gain_of=verdicts.gain,
        gains_of=verdicts.gains_of,
        caption=verdicts.caption,
        scale_note=verdicts.scale_note(results),
        from_to=from_to,
        gap=formatting.GAP,
        band_labels=band_labels(study.reward),
        probed=probe_table(results),
        charts=charts,
        figures={chart.key: _json(chart.figure) for group in charts.values() for chart in group},
        judge_header=judge_header,
        judge_rows=judge_rows,
        changes=_changes(study, results),
        generated={item.name: generated_examples(item, study.reward) for item in study.arms},
        docs={
            item.name: os.path.relpath(item.files.data_docs / "index.html", folder)
            for item in study.retrievers
            if item.files.data_docs is not None
        },
        runs=study.runs,
        longest=max((run.seconds or 0 for run in study.runs), default=0),
        total=sum(run.seconds or 0 for run in study.runs),
        params=formatting.flat(study.params),
        gaps=study.gaps,
        plotly=plotly.offline.get_plotlyjs(),
    )


def _charts(study: Study, results: Mapping[str, Any]) -> dict[str, list[Chart]]:
    """The figures by section; a figure without data is left out."""
    tests = verdicts.scored_tests(results)
    scores = [figures.score_chart(results, name) for name in tests]
    gains = [figures.gain_chart(verdicts.gains_of(results, name), name) for name in tests]
    length, judge = figures.length_chart(study), figures.judge_chart(results)
    return {
        "scores": [chart for chart in scores if chart],
        "gains": [chart for chart in gains if chart],
        "losses": figures.loss_charts(study),
        "generator": [*figures.probe_charts(study, results), *figures.generator_charts(study)],
        "judge": [judge] if judge else [],
        "queries": [*figures.rank_charts(study), *([length] if length else [])],
    }


def _changes(study: Study, results: Mapping[str, Any]) -> dict[str, Any]:
    """Where the final retriever differs most from round 0, on each test set of short queries."""
    found = {}
    for name in verdicts.scored_tests(results):
        if results["benchmarks"][name]["queries_are"] == "short":
            rises, falls = largest_changes(study, name, "r0", study.final)
            found[name] = {"Largest gains": rises, "Largest losses": falls}
    return found


def _json(figure: go.Figure) -> str:
    """A figure that can stand inside a script element."""
    figure.update_layout(template=go.layout.Template())
    text: str = figure.to_json()
    return text.replace("<", "\\u003c")
