"""The whole DAG at scale smoke in a clone: it runs, rests, stops at a leak, survives a kill.

Run alone: pytest tests/pipeline/test_end_to_end.py (some minutes). The tests build on each other, in file order.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lean_finder.storage import dvc_md5
from tests.pipeline.conftest import SMOKE, Clone

RETRIEVERS = ("r0", "r1", "r2")


def _ran(output: str) -> list[str]:
    """Names of the stages that a `dvc repro` ran or would run."""
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage '")]


def _lock(clone: Clone) -> dict[str, Any]:
    stages = YAML(typ="safe").load((clone.folder / "dvc.lock").read_text())["stages"]
    return {name: {out["path"]: out["md5"] for out in stage.get("outs", [])} for name, stage in stages.items()}


@pytest.fixture(scope="module")
def first(clone: Clone) -> subprocess.CompletedProcess[str]:
    return clone.run("dvc", "repro")


def test_the_whole_loop_runs(clone: Clone, first: subprocess.CompletedProcess[str]) -> None:
    ran = _ran(first.stdout)
    assert ran.index("audit@r0") < ran.index("train_retriever@r0") < ran.index("train_generator@r1")
    assert ran.index("audit@r1") < ran.index("train_retriever@r1") < ran.index("train_generator@r2")
    assert ran[-1] == "report"
    results = json.loads((clone.folder / "reports/results.json").read_text())
    text = json.dumps(results)
    assert all(f'"{arm}"' in text for arm in ("bm25", "base", *RETRIEVERS))
    page = (clone.folder / "reports/report.html").read_text()
    assert "<html" in page and 'src="http' not in page
    assert "reports/report.html" in first.stdout


def test_mlflow_has_one_run_per_stage_with_dvc_digests(clone: Clone, first: object) -> None:
    with sqlite3.connect(clone.folder / "mlflow.db") as store:
        names = {name for (name,) in store.execute("select name from runs where status = 'FINISHED'")}
        digests = {digest for (digest,) in store.execute("select digest from datasets")}
    assert {"extract", "split", "train_retriever@r2", "train_generator@r1", "report"} <= names
    assert dvc_md5(clone.folder / "artifacts/queries/r0.parquet") in digests
    recorded = {md5 for outs in _lock(clone).values() for md5 in outs.values()}
    assert dvc_md5(clone.folder / "artifacts/generator/r1") in recorded
    assert dvc_md5(clone.folder / "artifacts/queries/r0.parquet") in recorded


def test_run_again_it_does_nothing(clone: Clone, first: object) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    again = clone.run("dvc", "repro")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert _ran(again.stdout) == []
    # Processor seconds, because other tests share the machine with this one.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15


def test_the_lock_matches_without_any_artifact(clone: Clone, first: object, tmp_path: Path) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    clone.run("git", "add", "--all")
    clone.run("git", *identity, "commit", "--quiet", "--message", "results")
    clone.run("git", "clone", "--quiet", str(clone.folder), str(tmp_path / "fresh"))
    fresh = Clone(tmp_path / "fresh")
    assert _ran(fresh.run("dvc", "repro", "--dry", "--allow-missing").stdout) == []


def test_a_changed_margin_touches_retrievers_only(clone: Clone, first: object) -> None:
    params = (clone.folder / "params.yaml").read_text()
    clone.run("lean-finder", "params", "compose", *SMOKE, "retriever.margin=0.05")
    try:
        stale = _ran(clone.run("dvc", "repro", "--dry").stdout)
    finally:
        (clone.folder / "params.yaml").write_text(params)
    assert "train_retriever@r0" in stale
    assert not {"extract", "split", "paraphrase", "audit@r0", "start_generator", "calibrate_judge"} & set(stale)


def test_a_held_out_declaration_stops_the_dag_at_the_audit(clone: Clone, first: object) -> None:
    held_out = json.loads((clone.folder / "data/benchmark/embedded.json").read_text())[0]["full_name"]
    style = clone.folder / "data/queries/style.jsonl"
    content = style.read_text()
    row = {"query": "planted by the test", "declaration": held_out, "author": "person", "style": "natural"}
    style.unlink()  # DVC may have linked it to its cache
    style.write_text(content + json.dumps(row) + "\n")
    line = len(content.splitlines()) + 1
    try:
        stopped = clone.run("dvc", "repro", "audit@r0", "train_retriever@r0", "start_generator", check=False)
        assert stopped.returncode != 0
        assert f"data/queries/style.jsonl, row {line}" in stopped.stderr
        assert held_out in stopped.stderr
        assert not [name for name in _ran(stopped.stdout) if name.startswith(("train", "start"))]
        assert json.loads((clone.folder / "reports/audit/r0.json").read_text())["passed"] is False
    finally:
        style.write_text(content)
    going_on = clone.run("dvc", "repro")
    assert not [name for name in _ran(going_on.stdout) if name.startswith(("train", "start", "generate"))]
    assert json.loads((clone.folder / "reports/audit/r0.json").read_text())["passed"] is True


@pytest.mark.parametrize("stage", ["start_generator", "train_retriever@r1"])
def test_a_killed_stage_is_made_again_to_the_same_bytes(
    clone: Clone, first: object, stage: str, tmp_path: Path
) -> None:
    before = _lock(clone)
    # Without the run cache: DVC would otherwise bring the first run's outputs back and compute nothing.
    command = ["dvc", "repro", "--force", "--no-run-cache", "--single-item", stage]
    progress = tmp_path / "progress"
    with progress.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=clone.folder, env=clone.environment, stdout=stream, stderr=stream, start_new_session=True
        )
    deadline = time.monotonic() + 180
    while progress.read_bytes().count(b"step/s") < 3:  # the bar has moved: in the middle of training
        assert process.poll() is None and time.monotonic() < deadline, progress.read_text()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    out = next(iter(before[stage]))
    assert not (clone.folder / out).exists()
    clone.run("dvc", "repro", "--no-run-cache", stage)
    assert dvc_md5(clone.folder / out) == before[stage][out]
    assert not list((clone.folder / "artifacts").rglob("*.part"))


def test_an_ablation_arm_points_to_the_generator_that_it_uses(clone: Clone, first: object) -> None:
    params = (clone.folder / "params.yaml").read_text()
    clone.run("lean-finder", "params", "compose", *SMOKE, "arms=ablations")
    try:
        assert clone.stage("train_generator", "r2_sft").returncode == 0
        pointer = json.loads((clone.folder / "artifacts/generator/r2_sft/same_as.json").read_text())
        assert pointer["same_as"] == "artifacts/generator/r0"
    finally:
        (clone.folder / "params.yaml").write_text(params)
