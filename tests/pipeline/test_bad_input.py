"""Bad input ends a stage with one clear line and status 2. Run alone: pytest tests/pipeline/test_bad_input.py"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.conftest import Clone, make_clone

GOOD = "/-- Nothing is smaller. -/\ntheorem Small.least (n : Nat) : 0 ≤ n := by sorry\n"


@pytest.fixture(scope="module")
def scratch(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone whose corpus and tiny models stand."""
    made = make_clone(repository, tmp_path_factory.mktemp("scratch") / "lean-finder")
    made.run("lean-finder", "params", "compose", "scale=smoke")
    for stage in ("extract", "informalize", "split", "prepare_models"):
        assert made.stage(stage).returncode == 0
    return made


@pytest.fixture
def refused(scratch: Clone) -> Callable[..., str]:
    """Compose with overrides, run a stage, return the one line of its refusal."""

    def run(stage: str, *overrides: str) -> str:
        scratch.run("lean-finder", "params", "compose", "scale=smoke", *overrides)
        done = scratch.stage(stage)
        scratch.run("lean-finder", "params", "compose", "scale=smoke")
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, done.stderr
        return lines[0]

    return run


def _library(folder: Path, content: bytes) -> str:
    folder.mkdir()
    (folder / "Small.lean").write_bytes(content)
    return f"data.library={folder}"


def test_an_unknown_parameter(scratch: Clone) -> None:
    params = scratch.folder / "params.yaml"
    content = params.read_text()
    params.write_text(content.replace("  margin:", "  margn:"))
    done = scratch.stage("extract")
    params.write_text(content)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: params.yaml: missing parameter retriever.margin; unknown parameter retriever.margn"
    )


def test_a_missing_library(refused: Callable[..., str], tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere") in refused("extract", f"data.library={tmp_path / 'nowhere'}")


def test_an_empty_library(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert str(tmp_path / "empty") in refused("extract", f"data.library={tmp_path / 'empty'}")


def test_a_library_without_declarations(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "no declaration" in refused("extract", _library(tmp_path / "bare", b"-- nothing here\n"))


def test_a_truncated_lean_file(refused: Callable[..., str], tmp_path: Path) -> None:
    cut = (GOOD + "/-- A comment that never").encode()
    assert "Small.lean:3" in refused("extract", _library(tmp_path / "cut", cut))


def test_a_lean_file_that_is_not_utf8(refused: Callable[..., str], tmp_path: Path) -> None:
    line = refused("extract", _library(tmp_path / "latin", GOOD.encode() + "-- café\n".encode("latin-1")))
    assert "Small.lean" in line and "UTF-8" in line


def test_golds_that_are_not_in_the_corpus_are_listed_with_their_share(
    refused: Callable[..., str], scratch: Clone, tmp_path: Path
) -> None:
    folder = tmp_path / "benchmark"
    folder.mkdir()
    rows = json.loads((scratch.folder / "data/benchmark/embedded.json").read_text())
    rows[0]["full_name"] = "Not.thereAtAll"
    (folder / "embedded.json").write_text(json.dumps(rows))
    (folder / "embedded_long.jsonl").write_bytes((scratch.folder / "data/benchmark/embedded_long.jsonl").read_bytes())
    line = refused("split", f"data.benchmark={folder}")
    assert "Not.thereAtAll" in line and "99.3%" in line


def test_a_missing_model_folder(refused: Callable[..., str]) -> None:
    line = refused("prepare_models", "models.retriever.source=folder", "models.retriever.name=no/such/model")
    assert "no/such/model" in line


def test_a_broken_model_is_an_error_not_a_model(refused: Callable[..., str], scratch: Clone) -> None:
    wrong = "0" * 64
    line = refused(
        "prepare_models",
        "models.retriever.source=folder",
        "models.retriever.name=artifacts/base/retriever",
        f"models.retriever.sha256='{wrong}'",
    )
    assert wrong in line


def test_an_unreachable_judge(refused: Callable[..., str]) -> None:
    # Port 9 of this machine: nothing listens there.
    line = refused(
        "calibrate_judge",
        "judge.kind=llm",
        "judge.base_url=http://127.0.0.1:9/v1",
        "judge.model=any",
        "judge.key_variable=''",
    )
    assert "127.0.0.1:9" in line


def test_descriptions_without_an_endpoint(refused: Callable[..., str]) -> None:
    line = refused("informalize", "informalize.enabled=true")
    assert line == "error: informalize.base_url: descriptions need an endpoint and a model (name them in conf/)"
