"""One MLflow run per stage, finite numbers, DVC's digests. Run alone: pytest tests/test_tracking.py"""

from __future__ import annotations

import math
from pathlib import Path

import mlflow
import pytest

from lean_finder.storage import dvc_md5
from lean_finder.tracking import flatten, latest_runs, stage_run


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'store.db'}")
    monkeypatch.setenv("DVC_STAGE", "index@r1")


def test_a_run_carries_tags_parameters_curves_and_digests(tmp_path: Path) -> None:
    table = tmp_path / "table.txt"
    table.write_text("rows")
    with stage_run("index", "r1", "smoke", {"seed": 17, "retriever": {"margin": 0.1}}) as run:
        run.metrics({"loss": 2.0}, step=1)
        run.metrics({"loss": 1.0}, step=2)
        run.input(table, "training")
        run.output(table)
    client = mlflow.MlflowClient()
    logged = client.get_run(run.run_id)
    assert logged.info.status == "FINISHED" and logged.info.run_name == "index@r1"
    assert logged.data.params["retriever.margin"] == "0.1"
    assert logged.data.tags["dvc.stage"] == "index@r1" and logged.data.tags["arm"] == "r1"
    assert logged.data.tags[f"output.{table}"] == dvc_md5(table)
    assert [point.value for point in client.get_metric_history(run.run_id, "loss")] == [2.0, 1.0]
    assert logged.inputs.dataset_inputs[0].dataset.digest == dvc_md5(table)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="loss is not finite"), stage_run("index", "r1", "smoke", {}) as run:
        run.metrics({"loss": math.nan})


def test_a_failed_stage_is_no_latest_run() -> None:
    with stage_run("index", "r1", "smoke", {}) as good:
        pass
    with pytest.raises(RuntimeError), stage_run("index", "r1", "smoke", {}):
        raise RuntimeError
    assert latest_runs()["index@r1"].info.run_id == good.run_id


def test_flatten_joins_keys_with_dots() -> None:
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3}) == {"a.b": 1, "a.c.d": 2, "e": 3}
