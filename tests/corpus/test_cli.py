"""Guards `lean-finder corpus …` end to end on real files and a real git repository.

Run: pytest tests/corpus/test_cli.py"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lean_finder.cli.corpus import app
from lean_finder.errors import InputError

RUN = CliRunner()


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "Lib").mkdir(parents=True)
    (folder / "Lib.lean").write_text("import Lib.A\n")
    (folder / "Lib" / "A.lean").write_text("/-- First. -/\ntheorem one (n : Nat) : n = n := rfl\nalias uno := one\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    git(folder, "tag", "v1")
    (folder / "Lib" / "A.lean").write_text("/-- First. -/\ntheorem first (n : Nat) : n = n := rfl\n")
    return folder


def build(tmp_path: Path, *arguments: str) -> Path:
    out = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
    result = RUN.invoke(app, ["build", *arguments, "--out", str(out), "--workers", "1"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return out


def test_build_check_show_family_and_diff(project: Path, tmp_path: Path) -> None:
    old, new = build(tmp_path, str(project), "--rev", "v1"), build(tmp_path, str(project))
    assert json.loads(old.with_suffix(".problems.json").read_text()) == []
    found = json.loads(RUN.invoke(app, ["diff", str(old), str(new), "--json"]).output)
    assert (found["added"], found["removed"]) == (["first"], ["one", "uno"])
    shown = json.loads(RUN.invoke(app, ["show", "one", "--corpus", str(old), "--json"]).output)
    assert (shown["signature"], shown["docstring"], shown["line"]) == ("(n : Nat) : n = n", "First.", 2)
    assert "theorem one" in RUN.invoke(app, ["show", "one", "--corpus", str(old), "--renderer", "plain-v1"]).output
    family = json.loads(RUN.invoke(app, ["family", "one", "--corpus", str(old), "--json"]).output)
    assert family["members"] == ["one", "uno"]
    names = tmp_path / "names.txt"
    names.write_text("one\nabsent\n")
    checked = RUN.invoke(app, ["check", "--names", str(names), "--corpus", str(old), "--minimum", "0.9"])
    assert checked.exit_code == 1 and "1 of 2 found (50.0%)" in checked.output
    assert RUN.invoke(app, ["check", "--names", str(names), "--corpus", str(old)]).exit_code == 0


def test_a_repository_is_read_by_address(project: Path, tmp_path: Path) -> None:
    out = build(tmp_path, project.as_uri(), "--rev", "v1", "--roots", "Lib")
    assert "uno" in RUN.invoke(app, ["show", "uno", "--corpus", str(out)]).output


@pytest.mark.parametrize(
    ("source", "rev", "where"),
    [
        ("{project}", "v9", "v9"),
        ("{project}/missing", "", "missing"),
        ("{project}/missing", "v1", "missing"),
        ("https://localhost:1/x.git", "", "localhost"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(
    project: Path, tmp_path: Path, source: str, rev: str, where: str
) -> None:
    arguments = ["build", source.format(project=project), "--rev", rev, "--out", str(tmp_path / "x.parquet")]
    result = RUN.invoke(app, arguments)
    assert isinstance(result.exception, InputError)
    assert where in str(result.exception) and "\n" not in str(result.exception)
    assert not (tmp_path / "x.parquet").exists()


def test_unknown_names_are_explained(project: Path, tmp_path: Path) -> None:
    out = build(tmp_path, str(project))
    result = RUN.invoke(app, ["show", "X.first", "--corpus", str(out)])
    assert isinstance(result.exception, InputError) and "another namespace: first" in str(result.exception)


@pytest.mark.parametrize("command", ["build", "family", "diff", "check", "show"])
def test_help_has_an_example(command: str) -> None:
    assert "lean-finder corpus" in RUN.invoke(app, [command, "--help"]).output
