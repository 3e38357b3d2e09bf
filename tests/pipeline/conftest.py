"""A clone of the project in a temporary folder, and its commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

#: One thread: another worker's tests share the machine, and two threads that wait for each other are slower than one.
SMOKE = ("scale=smoke", "threads=1")


@dataclass(frozen=True)
class Clone:
    """A checkout of its own, with its own DVC cache and MLflow store."""

    folder: Path

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of the installed environment in the clone."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)} exited with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def stage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one stage directly; its exit status is the result."""
        return self.run(sys.executable, "-m", "lean_finder.pipeline", *words, check=False)

    @property
    def environment(self) -> dict[str, str]:
        """The test's environment with the environment's commands first and nothing that points elsewhere."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("DVC_ROOT", "DVC_STAGE", "MLFLOW_TRACKING"))
        }
        binaries = str(Path(sys.executable).parent)
        # The clone's code runs, not the checkout's that happens to be installed.
        return kept | {"PATH": f"{binaries}:{os.environ['PATH']}", "PYTHONPATH": str(self.folder / "src")}


def make_clone(repository: Path, folder: Path) -> Clone:
    """The working tree as committed files of a fresh repository, with its data pulled from the bundle."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=repository, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        source, target = repository / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    clone = Clone(folder)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    clone.run("git", "init", "--quiet")
    clone.run("git", "add", "--all")
    clone.run("git", *identity, "commit", "--quiet", "--message", "the tree under test")
    clone.run("dvc", "pull", "--quiet", "data.dvc")
    return clone


@pytest.fixture(scope="session")
def clone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """One clone at scale smoke for the whole session."""
    made = make_clone(repository, tmp_path_factory.mktemp("clone") / "lean-finder")
    made.run("lean-finder", "params", "compose", *SMOKE)
    return made
