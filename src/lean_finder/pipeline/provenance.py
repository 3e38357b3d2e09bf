"""Which generator wrote a query: the name that its rows carry, and the record that the audit holds them against."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from lean_finder.pipeline import paths
from lean_finder.storage import dvc_md5


def model_name(arm: str) -> str:
    """What the queries of a generator carry as `model`: the first 12 hex digits of its DVC hash."""
    return dvc_md5(paths.generator(arm))[:12]


def recorded_model(arm: str) -> str:
    """The same name, as `dvc.lock` has it: the audit holds the queries against the record, not against the folder."""
    lock = YAML(typ="safe").load(Path("dvc.lock").read_text(encoding="utf-8"))
    for stage in lock["stages"].values():
        for out in stage.get("outs", []):
            if out["path"] == str(paths.generator(arm)):
                return str(out["md5"])[:12]
    return "unrecorded"
