"""A small tree of results, written by the project's own writers; the figures are made up, the forms are real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lean_finder.audit.run import FINDING_COLUMNS, AuditReport
from lean_finder.evaluation.evaluate import save_rankings, score
from lean_finder.generation.reward import RewardSettings
from lean_finder.judging.calibration import Interval, JudgeReport
from lean_finder.records import BenchmarkQuery, Pair, Ranking, StyleQuery, to_frame
from lean_finder.reporting.inputs import RetrieverFiles, StageRecord, Study, read_study
from lean_finder.storage import write_json, write_table

SCALED = RewardSettings(easy_rank=1, full_rank=8, lost_rank=60, length_start=24, length_full=32)
GOLDS = tuple(f"Nat.fact_{at:02d}" for at in range(40))
STYLES = ("natural", "lean", "slogan")
PARAMS: dict[str, Any] = {"scale": "cpu", "seed": 17, "final": "r2", "retriever": {"margin": 0.1, "steps": 60}}
MODELS = {"retriever": "mini", "generator": "tiny"}
#: name -> prev, reward, generator, how far golds rise against r0 (factor on ranks)
ARMS = {
    "r1": ("r0", "both", "rl", 0.5),
    "r2": ("r1", "both", "rl", 0.25),
    "r1_difficulty": ("r0", "difficulty", "rl", 3.0),
    "r2_base": ("r1", "both", "base", 1.0),
    "odd": ("r2", "both", "rl", 1.0),
}


def benchmark(name: str, styles: tuple[str, ...]) -> list[BenchmarkQuery]:
    """One query a gold and style."""
    return [
        BenchmarkQuery(f"{name}-{at}/{style}", f"{style} words about <fact> {at}", gold, style)
        for at, gold in enumerate(GOLDS)
        for style in styles
    ]


BENCHMARKS = {"embedded": benchmark("E", STYLES), "embedded-long": benchmark("L", ("long",))}
VALIDATION = benchmark("validation", ("question",))
STYLE_ROWS = to_frame(
    StyleQuery,
    [
        StyleQuery(f"query of {at} words" + " more" * (at % 7), GOLDS[0], ("person", "agent")[at % 2], "natural")
        for at in range(60)
    ],
)


class Tree:
    """The files of one run below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, name: str) -> RetrieverFiles:
        """Where a row of the table keeps its files."""
        root, arm = self.root, ARMS.get(name)
        found = RetrieverFiles(name, "" if arm else f"about {name}", root / f"{name}.json", root / "rankings" / name)
        if name in ("bm25", "base"):
            return found
        return replace(
            found,
            prev=arm[0] if arm else "",
            reward=arm[1] if arm else "",
            generator_kind=arm[2] if arm else "",
            curve=root / "retriever" / name / "curve.json",
            generator=root / "generator" / name if arm else None,
            supervised=None if arm else root / "generator" / name / "curve.json",
            queries=root / "queries" / f"{name}.parquet",
            dropped=root / "queries" / f"{name}-dropped.parquet",
            audit=root / "audit" / f"{name}.json",
            data_docs=root / "docs" / name,
        )

    def study(self, names: tuple[str, ...] = ("bm25", "base", "r0", *ARMS), **changes: Any) -> Study:
        """What a report reads of these rows."""
        values: dict[str, Any] = {
            "extraction": self.root / "extraction.json",
            "judge": self.root / "judge.json",
            "benchmarks": BENCHMARKS,
            "style": STYLE_ROWS,
            "params": PARAMS,
            "models": MODELS,
            "reward": SCALED,
            "runs": [
                StageRecord("train_retriever@r1", "2026-01-02 03:04:05", 75.0, "abcdef0123456789", True, "f" * 32)
            ],
        }
        return read_study([self.files(name) for name in names], **{**values, **changes})


def write_tree(root: Path) -> Tree:
    """Every file of a whole run."""
    tree = Tree(root)
    write_json(
        root / "extraction.json",
        {"counts": {"declarations": 1500, "files": 16}, "kinds": {"lemma": 900}, "problems": []},
    )
    rate = Interval(0.21, 0.12, 0.33, 70)
    report = JudgeReport(0.61, rate, rate, rate, rate, rate, auc=0.8, pairs=200, failed=0)
    thresholds = [{"threshold": at / 10, "precision": 0.5 + at / 20, "recall": 1 - at / 10} for at in range(2, 9)]
    write_json(
        root / "judge.json",
        {"kind": "encoder", "encoder": report.as_dict(), "thresholds": thresholds, "scores": list(range(50))},
    )
    for number, name in enumerate(("bm25", "base", "r0", *ARMS)):
        _write_scores(tree.files(name), factor=ARMS[name][3] if name in ARMS else 1.0)
        if name not in ("bm25", "base"):
            _write_training(tree.files(name), number)
    return tree


def _write_scores(files: RetrieverFiles, factor: float) -> None:
    random = np.random.default_rng(3)  # the same for every row: they differ by the factor alone
    results = {}
    for name, queries in {**BENCHMARKS, "validation": VALIDATION}.items():
        ranks = [max(1, round(factor * int(rank))) for rank in random.integers(1, 60, len(queries))]
        rankings = [
            Ranking(query.query_id, query.gold, (query.gold,), (1.0,), rank, rank)
            for query, rank in zip(queries, ranks, strict=True)
        ]
        save_rankings(files.rankings / f"{name}.jsonl", rankings)
        row_set = "validation" if name == "validation" else "all"
        results[name] = score(rankings, queries, {}, row_set=row_set, seed=1, resamples=20)
    write_json(files.metrics, {"retriever": files.name, "scale": "cpu", "benchmarks": results})


def _write_training(files: RetrieverFiles, number: int) -> None:
    assert files.curve and files.queries and files.dropped and files.audit
    curve = [{"step": step, "loss": 3 / step, "masked_share": 0.1} for step in range(1, 20)]
    write_json(files.curve, curve)
    rows = [
        Pair(
            f"{files.name}-{at:06d}", f"short query {at}", GOLDS[at % 40], "natural", "generated", files.name, "rule:x"
        )
        for at in range(80)
    ]
    kept, dropped = to_frame(Pair, rows[:60]), to_frame(Pair, rows[60:])
    if files.generator is None:
        assert files.supervised
        write_json(files.supervised, curve)
        dropped["check"] = "query_text"
    else:
        ranks = 1 + (np.arange(80) * (number + 3)) % 100
        for frame, of in ((kept, ranks[:60]), (dropped, ranks[60:])):
            frame["rank_prev"], frame["judge_score"], frame["n_tokens"] = of, of / 200, of % 20
        dropped["reason"] = ["inconsistent", "duplicate"] * 10
        _write_generator(files)
    write_table(files.queries, kept)
    write_table(files.dropped, dropped)
    findings = [("duplicate", "warning", files.name, "queries", 3, "short query 3", GOLDS[3], "twice")]
    report = AuditReport(
        findings=pd.DataFrame(findings, columns=list(FINDING_COLUMNS)),
        counts={"duplicate": {files.name: 1}, "test_target": {files.name: 0}},
        checks={
            "duplicate": {"kind": "row", "severity": "warning", "description": "twice"},
            "test_target": {"kind": "row", "severity": "critical", "description": "held out"},
        },
        sets={files.name: {"role": "generated_queries", "path": "queries", "rows": 60}},
        not_checked=["query_meaning: no encoder was given"],
    )
    write_json(files.audit, report.to_dict())


def _write_generator(files: RetrieverFiles) -> None:
    assert files.generator
    if files.generator_kind != "rl":
        write_json(files.generator / "same_as.json", {"same_as": "artifacts/base/generator", "md5": "0"})
        return
    steps = [
        {"step": float(step), "reward": 0.2 + 0.01 * step, "part_consistency": 0.5, "part_difficulty": 0.4,
         "part_length": 9.0, "sft_weight": 0.5 - 0.02 * step, "entropy": 2.0, "ranks_easy": 3.0, "ranks_lost": 1.0}
        for step in range(1, 11)
    ]  # fmt: skip
    summary = {
        "steps": 10, "stopped": "", "reward_slope": 0.01, "reward_first": 0.215, "reward_last": 0.295,
        "part_consistency_first": 0.5, "part_consistency_last": 0.5, "ranks_easy_total": 30, "ranks_lost_total": 10,
    }  # fmt: skip
    probes = [
        {"step": step, "samples": [
            {"declaration": f"d{n // 2}", "rank": 1 + n * step // 5, "consistent": n % 4 > 0, "reward": n * step / 200}
            for n in range(20)
        ]}
        for step in (0, 5, 10)
    ]  # fmt: skip
    history = {"settings": {}, "steps": steps, "probes": probes, "summary": summary}
    write_json(files.generator / "history.json", history)
