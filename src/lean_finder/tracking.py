"""MLflow: the one module that imports it.

DVC owns data, models and which command made which bytes; MLflow owns what happened during a run. Each stage execution
is one run, tied to Git and DVC by tags; its inputs are datasets whose digests are those that DVC records.
"""

from __future__ import annotations

import logging
import math
import os
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
from mlflow.data.dataset_source_registry import resolve_dataset_source
from mlflow.data.meta_dataset import MetaDataset
from mlflow.entities import Run, ViewType

from lean_finder.errors import InputError
from lean_finder.storage import dvc_md5

EXPERIMENT = "lean-finder"
_MAX_PARAM = 6000  # characters; MLflow cuts longer values with a warning


@dataclass
class StageRun:
    """The MLflow run of one stage execution."""

    run_id: str

    def metrics(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers; nested mappings must be flattened first.

        Raises:
            ValueError: a value is NaN or infinite (MLflow would accept it in silence).
        """
        wrong = [key for key, value in values.items() if not math.isfinite(value)]
        if wrong:
            raise ValueError(f"metric {wrong[0]} is not finite: {values[wrong[0]]}")
        mlflow.log_metrics({key: float(value) for key, value in values.items()}, step=step)

    def input(self, path: Path, context: str) -> None:
        """Log a file or folder as a dataset; its digest is the MD5 that `dvc.lock` shows for it.

        Raises:
            InputError: there is no such file or folder.
        """
        if not path.exists():
            raise InputError(path, "no such file or folder", "check the path, or run the stage that makes it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # two resolvers claim a local path; they are the same one
            source = resolve_dataset_source(str(path))
        mlflow.log_input(MetaDataset(source=source, name=str(path), digest=dvc_md5(path)), context=context)

    def output(self, path: Path) -> None:
        """Tag the run with the MD5 of something it wrote."""
        mlflow.set_tag(f"output.{path}", dvc_md5(path))

    def artifact(self, path: Path) -> None:
        """Attach a small file (a table, a page, a figure)."""
        mlflow.log_artifact(str(path))

    def tag(self, name: str, value: str) -> None:
        """Set one tag."""
        mlflow.set_tag(name, value)


@contextmanager
def stage_run(name: str, arm: str, scale: str, params: Mapping[str, Any]) -> Iterator[StageRun]:
    """One MLflow run per stage execution, marked FAILED if the body raises.

    `MLFLOW_TRACKING_URI` is honoured; by default runs go to `mlflow.db` in the main checkout, also from DVC's
    temporary copies.
    """
    _connect()
    tags = {
        "stage": name,
        "arm": arm,
        "scale": scale,
        "dvc.stage": os.environ.get("DVC_STAGE", "manual"),
        "dvc.exp": os.environ.get("DVC_EXP_NAME", ""),
        "dvc.baseline": os.environ.get("DVC_EXP_BASELINE_REV", ""),
        "git.commit": git_commit(),
        "git.dirty": str(bool(_git("status", "--porcelain", "-uno"))).lower(),
    }
    run_name = f"{name}@{arm}" if arm else name
    with mlflow.start_run(run_name=run_name, tags=tags, log_system_metrics=True) as run:
        mlflow.log_params({key: str(value)[:_MAX_PARAM] for key, value in flatten(params).items()})
        yield StageRun(run.info.run_id)


@contextmanager
def nested_run(parent: str, name: str, tags: Mapping[str, str], params: Mapping[str, Any]) -> Iterator[StageRun]:
    """A run below the run `parent`, which may belong to another process: a trial of a search.

    Marked FAILED if the body raises.
    """
    _connect()
    with mlflow.start_run(run_name=name, nested=True, parent_run_id=parent, tags=dict(tags)) as run:
        mlflow.log_params({key: str(value)[:_MAX_PARAM] for key, value in flatten(params).items()})
        yield StageRun(run.info.run_id)


def latest_runs() -> dict[str, Run]:
    """The newest finished run of each stage of this checkout, by run name ("train_retriever@r1")."""
    _connect()
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None:
        return {}
    found: dict[str, Run] = {}
    page: str | None = None
    while True:
        runs = client.search_runs(
            [experiment.experiment_id],
            "attributes.status = 'FINISHED'",
            ViewType.ACTIVE_ONLY,
            order_by=["attributes.start_time DESC"],
            page_token=page,
        )
        for run in runs:
            found.setdefault(run.info.run_name, run)
        page = runs.token
        if not page:
            return found


def register_pointer(name: str, folder: Path, tags: Mapping[str, str], alias: str) -> None:
    """Register a model version that points at weights kept by DVC, and move `alias` to it."""
    client = mlflow.MlflowClient()
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name, description="Pointers; the weights are DVC outputs.")
    active = mlflow.active_run()
    version = client.create_model_version(
        name,
        source=folder.resolve().as_uri(),
        run_id=active.info.run_id if active else None,
        tags={**tags, "dvc.md5": dvc_md5(folder)},
    )
    client.set_registered_model_alias(name, alias, version.version)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mapping as dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def git_commit() -> str:
    """Hash of the commit that is checked out; "" outside a repository."""
    return _git("rev-parse", "HEAD")


def _connect() -> None:
    logging.getLogger("alembic").setLevel(logging.WARNING)
    root = Path(os.environ.get("DVC_ROOT", ".")).resolve()
    mlflow.set_tracking_uri(os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'mlflow.db'}"))
    mlflow.set_system_metrics_sampling_interval(5)
    mlflow.set_experiment(EXPERIMENT)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
