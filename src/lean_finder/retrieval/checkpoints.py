"""Training state on disk: safetensors and JSON only, each checkpoint whole or absent.

A checkpoint is a folder `step-00000050` with the trained weights, AdamW's moments, the best weights so far and the
history. It belongs to one exact run: the run's fingerprint is inside, and another run's checkpoint is ignored.
"""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lean_finder.errors import InputError
from lean_finder.storage import atomic_path, read_json, write_json

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TrainingState:
    """Everything that changes during training, besides weights and optimizer.

    `history` has one row of logged figures per step; `validation` maps step to nDCG@10; `best` holds the
    weights of `best_step` (empty until early stopping keeps some).
    """

    step: int = 0
    best_step: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    validation: dict[int, float] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)


def save_checkpoint(
    folder: Path, fingerprint: str, state: TrainingState, model: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Write `folder/step-…`, then remove the older ones."""
    path = folder / f"step-{state.step:08d}"
    with atomic_path(path) as scratch:
        scratch.mkdir(parents=True)
        save_file(_trained(model), scratch / "weights.safetensors")
        save_file(_moments(model, optimizer), scratch / "optimizer.safetensors")
        save_file(state.best, scratch / "best.safetensors")
        values = {
            "fingerprint": fingerprint,
            "step": state.step,
            "best_step": state.best_step,
            "history": state.history,
            "validation": {str(step): value for step, value in state.validation.items()},
        }
        write_json(scratch / "state.json", values)
    for other in folder.glob("step-*"):
        if other != path:
            shutil.rmtree(other)


def load_checkpoint(
    folder: Path, fingerprint: str, model: nn.Module, optimizer: torch.optim.Optimizer
) -> TrainingState:
    """Restore the newest usable checkpoint of this run into `model` and `optimizer`; a fresh state if none."""
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            values = read_json(path / "state.json")
            if values["fingerprint"] != fingerprint:
                logger.warning("%s belongs to another run: ignored", path)
                continue
            weights = load_file(path / "weights.safetensors")
            moments = load_file(path / "optimizer.safetensors")
            best = load_file(path / "best.safetensors")
        except (InputError, SafetensorError, OSError, KeyError, TypeError) as error:
            logger.warning("%s is not readable (%s): ignored", path, error)
            continue
        restore_trained(model, weights)
        _restore_moments(model, optimizer, moments)
        return TrainingState(
            step=values["step"],
            best_step=values["best_step"],
            history=values["history"],
            validation={int(step): value for step, value in values["validation"].items()},
            best=best,
        )
    return TrainingState()


def copy_trained(model: nn.Module) -> dict[str, Tensor]:
    """A copy of the trained weights on the CPU."""
    return {name: tensor.clone() for name, tensor in _trained(model).items()}


def restore_trained(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Put weights of `copy_trained` back."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(weights[name])


def _trained(model: nn.Module) -> dict[str, Tensor]:
    return {
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def _restore_moments(model: nn.Module, optimizer: torch.optim.Optimizer, moments: dict[str, Tensor]) -> None:
    by_parameter: dict[str, dict[str, Any]] = {}
    for full, value in moments.items():
        name, key = full.rsplit("/", 1)
        by_parameter.setdefault(name, {})[key] = value
    for name, parameter in model.named_parameters():
        if name in by_parameter:
            # On the parameter's device, the step count too: that is where the fused optimizer keeps it.
            optimizer.state[parameter] = {key: value.to(parameter.device) for key, value in by_parameter[name].items()}
