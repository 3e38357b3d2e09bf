"""The parameters of this execution, checked, as one JSON that the report reads.

Reads: params.yaml, whole. Writes: `artifacts/params.json`.
"""

from __future__ import annotations

from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.storage import write_json
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Write the checked parameters; an unknown or wrongly typed key was refused before this line."""
    write_json(paths.CHECKED_PARAMS, params.model_dump())
    tracked.output(paths.CHECKED_PARAMS)
