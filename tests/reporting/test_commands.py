"""Guards `lean-finder report` (quick, no heavy library) and `lean-finder readme` (fresh, stale, --check).

Run: pytest tests/reporting/test_commands.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lean_finder.cli import readme, report
from lean_finder.errors import InputError
from lean_finder.storage import write_json

_PROBE = """
import json, sys
from typer.testing import CliRunner
from lean_finder.cli import report
out = CliRunner().invoke(report.app, [])
heavy = sorted({"torch", "mlflow", "plotly", "transformers", "faiss", "great_expectations"} & set(sys.modules))
print(json.dumps({"code": out.exit_code, "text": out.output, "heavy": heavy}))
"""


@pytest.fixture
def folder(results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with results only."""
    write_json(tmp_path / "reports" / "results.json", results)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_report_prints_table_and_page_without_heavy_libraries(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _PROBE], cwd=folder, capture_output=True, text=True, check=True)
    probe = json.loads(done.stdout)
    assert probe["code"] == 0
    assert probe["heavy"] == []
    assert "embedded (test set" in probe["text"]
    assert "reports/report.html is not here" in probe["text"]


def test_report_names_the_page_when_it_is_there(folder: Path) -> None:
    (folder / "reports" / "report.html").touch()
    assert CliRunner().invoke(report.app, []).output.rstrip().endswith("Page: reports/report.html")


def test_report_without_results_is_bad_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(report.app, ["--results", str(tmp_path / "results.json")])
    assert isinstance(result.exception, InputError)
    assert "make repro" in str(result.exception)


def test_readme_check_tells_stale_from_fresh(folder: Path) -> None:
    file = folder / "README.md"
    file.write_text("# T\n\n<!-- generated: results -->\n<!-- end -->\n", encoding="utf-8")
    stale = CliRunner().invoke(readme.app, ["--check"])
    assert (stale.exit_code, "results" in file.read_text(encoding="utf-8")) == (1, True)
    assert "stale" in stale.output
    assert CliRunner().invoke(readme.app, []).exit_code == 0
    assert "| **r2** |" in file.read_text(encoding="utf-8")
    assert CliRunner().invoke(readme.app, ["--check"]).exit_code == 0


def test_readme_draws_this_repository_s_own_pipeline(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    file = tmp_path / "README.md"
    file.write_text("<!-- generated: dag -->\n<!-- end -->\n", encoding="utf-8")
    assert CliRunner().invoke(readme.app, [str(file)]).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert '["train_retriever@…"]' in text and '["report"]' in text
    assert "difficulty" not in text
