"""The gate of one arm: nothing trains before everything that it will see has been checked.

Reads: every set that the arm trains on, the manifest, the library, the benchmarks. Writes: `reports/audit/<arm>.json`
(deterministic, tracked by Git) and `artifacts/audit/<arm>` (Data Docs). A critical finding stops the DAG.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lean_finder.audit.inputs import Provenance, TrainingSet
from lean_finder.audit.run import AuditReport, run_audit, write_reports
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.hidden import audit_inputs
from lean_finder.pipeline.provenance import recorded_model
from lean_finder.pipeline.sets import prompt_declarations, style_queries, supervised_pairs
from lean_finder.records import JudgedPair, Pair, columns
from lean_finder.storage import read_jsonl, read_table
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Check every set of the arm; write the verdict first, then stop if it is bad."""
    corpus = load_corpus(params.corpus.renderer)
    sets = _sets(params, arm, corpus)
    for item in sets:
        tracked.input(Path(item.path), item.role)
    report = run_audit(audit_inputs(params, sets, _provenance(params, arm)))
    write_reports(report, paths.audit(arm), paths.data_docs(arm))
    severities = report.findings["severity"].value_counts()
    tracked.metrics({name: int(severities.get(name, 0)) for name in ("critical", "warning")})
    tracked.artifact(paths.audit(arm))
    if not report.passed:
        raise InputError(*_first_finding(report, arm))


def _sets(params: Params, arm: str, corpus: Corpus) -> list[TrainingSet]:
    style = supervised_pairs(style_queries(Path(params.data.style)), corpus)
    judged = pd.DataFrame(read_jsonl(Path(params.data.judge), columns(JudgedPair)))
    prompts = pd.DataFrame({"declaration": prompt_declarations(corpus, params.generator.declarations, params.seed)})
    sets = [
        TrainingSet("r0", "long_queries", read_table(paths.queries("r0"), columns(Pair)), str(paths.queries("r0"))),
        TrainingSet("style", "generator_sft", style, params.data.style),
        TrainingSet("judge", "judge_pairs", judged, params.data.judge),
        TrainingSet("prompts", "generator_prompts", prompts, str(paths.SPLITS)),
    ]
    if arm != "r0":
        frame = read_table(paths.queries(arm), columns(Pair))
        sets.insert(1, TrainingSet(arm, "generated_queries", frame, str(paths.queries(arm))))
    return sets


def _provenance(params: Params, arm: str) -> Provenance:
    models = {} if arm == "r0" else {arm: frozenset({recorded_model(arm)})}
    return Provenance(arms=frozenset({"r0", *params.arms}), models=models, rounds={"r0": "r0", arm: arm})


def _first_finding(report: AuditReport, arm: str) -> tuple[str, str, str]:
    critical = report.findings[report.findings["severity"] == "critical"]
    first = critical.iloc[0]
    more = f" (and {len(critical) - 1} more)" if len(critical) > 1 else ""
    problem = f"{first['check']}: {first['declaration'] or first['query']}: {first['evidence']}{more}"
    return f"{first['path']}, row {first['row']}", problem, f"remove the row; all findings: {paths.audit(arm)}"
