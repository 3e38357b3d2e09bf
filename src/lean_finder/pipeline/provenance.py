"""Which generator wrote a query: the name that its rows carry, and the record that the audit holds them against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from lean_finder.pipeline import paths
from lean_finder.storage import dvc_md5


def model_name(arm: str) -> str:
    """What the queries of a generator carry as `model`: the first 12 hex digits of its DVC hash."""
    return dvc_md5(paths.generator(arm))[:12]


def recorded_model(arm: str) -> str:
    """The same name, as `dvc.lock` has it: the audit holds the queries against the record, not against the folder."""
    for stage in _recorded_stages().values():
        for out in stage.get("outs", []):
            if out["path"] == str(paths.generator(arm)):
                return str(out["md5"])[:12]
    return "unrecorded"


def recorded_files(stage: str) -> dict[str, str]:
    """Path -> DVC hash of all that a stage read and wrote when it last ran; {} if it never did."""
    found = _recorded_stages().get(stage, {})
    return {str(item["path"]): str(item["md5"]) for part in ("deps", "outs") for item in found.get(part, [])}


def _recorded_stages() -> dict[str, Any]:
    lock = Path("dvc.lock")
    if not lock.is_file():
        return {}
    return dict(YAML(typ="safe").load(lock.read_text(encoding="utf-8"))["stages"])
