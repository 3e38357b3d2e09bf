"""Compose `conf/` into parameters with Hydra, exactly as `dvc exp run -S` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lean_finder.errors import InputError


def compose(folder: Path, overrides: Sequence[str]) -> str:
    """The text of `params.yaml` that `folder` and the overrides give: byte for byte what DVC would write.

    Raises:
        InputError: no such folder, group choice or key; or an override that Hydra cannot read.
    """
    if not (folder / "config.yaml").is_file():
        raise InputError(folder / "config.yaml", "no such file", "run in the repository's root")
    try:
        with initialize_config_dir(str(folder.resolve()), version_base=None):
            config: DictConfig = hydra_compose("config", overrides=list(overrides))
        OmegaConf.resolve(config)
    except (HydraException, OmegaConfBaseException) as error:
        raise InputError(folder, " ".join(str(error).split()), "see conf/ for groups and keys") from error
    return OmegaConf.to_yaml(config)
