"""The auditor's example in docs/audit.md does what the page says. Run alone: pytest tests/audit/test_docs_example.py"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lean_finder.cli.audit import app
from lean_finder.corpus.extract import lean_files


def _blocks(repository: Path) -> dict[str, str]:
    """Language of each code block of the example -> its text."""
    page = (repository / "docs/audit.md").read_text(encoding="utf-8")
    example = page.split("<!-- example:")[1].split("<!-- end of the example -->")[0]
    parts = example.split("```")[1::2]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def test_the_example_finds_what_the_page_shows(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = _blocks(repository)
    (tmp_path / "train.jsonl").write_text(blocks["json"], encoding="utf-8")
    library = tmp_path / "data" / "library"
    # The module of every name in the example and what it imports suffices; the whole library takes longer.
    for file in lean_files(repository / "data" / "library", ("Atlas.Data",)):
        target = library / file.relative_to(repository / "data" / "library")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    (tmp_path / "data" / "benchmark").symlink_to(repository / "data" / "benchmark")
    monkeypatch.chdir(tmp_path)
    command = shlex.split(blocks["sh"].replace("\\\n", " "))
    assert command[:2] == ["lean-finder", "audit"]
    result = CliRunner().invoke(app, command[2:])
    assert result.exit_code == 1, result.exception
    shown = [line for line in result.output.splitlines() if line.startswith(("critical", "not checked", "LEAK"))]
    assert shown == blocks["text"].splitlines()
    assert (tmp_path / "audit-pages" / "index.html").is_file()
    assert (tmp_path / "audit.json").is_file()
