"""Checkpoints of a GRPO run without pickles: weights and optimizer as safetensors, the rest as JSON.

transformers' own checkpoints hold optimizer and random states that only `torch.load` reads, and appear file by file.
Ours appear whole or not at all, and need no random state because every random number is a function of the step.
"""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from lean_finder.errors import InputError
from lean_finder.generation.models import Generator, save_generator
from lean_finder.storage import atomic_path, read_json, write_json

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A run after `step` optimizer steps.

    Attributes:
        folder: where it lies.
        step: steps done.
        history: history rows of those steps.
        probes: those taken until then, see `probe`.
    """

    folder: Path
    step: int
    history: tuple[dict[str, float], ...]
    probes: tuple[dict[str, Any], ...]

    @property
    def generator(self) -> Path:
        """The generator's folder."""
        return self.folder / "generator"

    def restore(self, optimizer: torch.optim.Optimizer) -> None:
        """Load the optimizer's moments."""
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in load_file(self.folder / "optimizer.safetensors").items():
            index, name = key.split("/")
            state.setdefault(int(index), {})[name] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def save_checkpoint(
    root: Path | None,
    step: int,
    generator: Generator,
    base_name: str,
    optimizer: torch.optim.Optimizer,
    history: list[dict[str, float]],
    probes: list[dict[str, Any]],
    fingerprint: str,
) -> None:
    """Write the checkpoint of `step` and remove the older ones."""
    if root is None:
        return
    moments: dict[int, dict[str, Any]] = optimizer.state_dict()["state"]
    tensors = {f"{i}/{key}": value.contiguous() for i, part in moments.items() for key, value in part.items()}
    final = root / f"step-{step:06d}"
    with atomic_path(final) as scratch:
        scratch.mkdir()
        save_generator(generator, base_name, scratch / "generator")
        save_file(tensors, scratch / "optimizer.safetensors")
        state = {"fingerprint": fingerprint, "step": step, "history": history, "probes": probes}
        write_json(scratch / "state.json", state)
    for old in root.glob("step-*"):
        if old != final:
            shutil.rmtree(old)


def latest_checkpoint(root: Path, fingerprint: str) -> Checkpoint | None:
    """The newest checkpoint that belongs to this run; one of other inputs or settings is discarded."""
    for folder in sorted(root.glob("step-*"), reverse=True):
        try:
            state = read_json(folder / "state.json")
        except InputError:
            logger.warning("%s: not a whole checkpoint, ignored", folder)
            continue
        if state.get("fingerprint") == fingerprint:
            logger.info("resuming at step %d from %s", state["step"], folder)
            return Checkpoint(folder, int(state["step"]), tuple(state["history"]), tuple(state["probes"]))
        logger.warning("%s: of other settings or inputs, discarded", folder)
        shutil.rmtree(folder)
    return None


def discard_checkpoints(root: Path) -> None:
    """Remove a finished run's checkpoints."""
    shutil.rmtree(root, ignore_errors=True)
