"""`lean-finder audit`: verdict, exit status, no partial report. Just this file: pytest tests/audit/test_cli.py"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lean_finder.audit.run import DOCS_ENTRIES
from lean_finder.cli.audit import app
from lean_finder.errors import InputError
from tests.audit.world import LIBRARY, OTHER, QUERIES, THIRD, WIDTH


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "Plane.lean").write_text(LIBRARY)
    tests = [{"query": text, "gold": gold} for text, gold in QUERIES.values()]
    (tmp_path / "benchmark.json").write_text(json.dumps(tests))
    _pairs(tmp_path, [("mirrored circles", OTHER), ("turning lines", THIRD)])
    return tmp_path


def _pairs(folder: Path, rows: list[tuple[str, str]]) -> None:
    text = "".join(json.dumps({"question": query, "name": name}) + "\n" for query, name in rows)
    (folder / "pairs.jsonl").write_text(text)


def _run(folder: Path, *more: str, corpus: bool = True) -> tuple[int, str]:
    command = ["--pairs", f"{folder}/pairs.jsonl", "--benchmark", f"{folder}/benchmark.json"]
    command += ["--map", "query=question,declaration=name"]
    command += ["--corpus", f"{folder}/library"] if corpus else []
    result = CliRunner().invoke(app, [*command, *more])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_clean_pairs_exit_0(files: Path) -> None:
    code, output = _run(files)
    assert code == 0
    assert "clean: no critical finding, 0 warnings" in output
    assert "not checked: query_meaning" in output


def test_leak_exits_1_and_is_explained(files: Path) -> None:
    _pairs(files, [("mirrored circles", OTHER), ("growing regions", "plane.widthLeWidth")])
    code, output = _run(files, "--json", f"{files}/a.json", "--html", f"{files}/docs")
    assert code == 1
    assert "LEAK: 1 critical finding" in output
    assert f"{files}/pairs.jsonl row 2: declaration {WIDTH}" in output
    assert json.loads((files / "a.json").read_text())["critical"] == 1
    assert (files / "docs" / "index.html").is_file()
    code, output = _run(files, "--explain", "2")
    assert code == 1
    assert "critical test_target" in output
    assert "why it matters" in output
    assert "nothing is held against it" in _run(files, "--explain", "1")[1]


def test_a_report_replaces_an_earlier_one_and_says_what_it_did_not_read(files: Path) -> None:
    (files / "other").mkdir()
    rows = [{"question": "growing regions", "name": WIDTH.split("."), "source_book": "x"}]
    (files / "other" / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    both = ["--pairs", f"{files}/other/pairs.jsonl", "--html", f"{files}/docs"]
    for _ in range(2):
        code, output = _run(files, *both, corpus=False)
        assert code == 1
        # A name written as the list of its components is one name.
        assert f"{files}/other/pairs.jsonl row 1: declaration {WIDTH}" in output
        assert f"not checked: {files}/other/pairs.jsonl: columns source_book (--map names them)" in output
    assert sorted(item.name for item in (files / "docs").iterdir()) == sorted(DOCS_ENTRIES)


def test_without_a_library_names_and_queries_are_still_checked(files: Path) -> None:
    _pairs(files, [(QUERIES["T1"][0].upper(), "Some.other"), ("growing regions", WIDTH)])
    code, output = _run(files, corpus=False)
    assert code == 1
    assert "LEAK: 2 critical findings" in output
    assert "not checked: manifest" in output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--role", "lunch"], "unknown role"),
        (["--explain", "99"], "no set has a row 99"),
        (["--corpus", "nowhere.parquet"], "nowhere.parquet"),
        (["--benchmark", "nowhere.json"], "nowhere.json: no such file"),
        (["--map", "query=nothing"], "no column 'nothing'"),
        (["--json", "{folder}/library"], "library is a folder"),
        (["--html", "{folder}/pairs.jsonl"], "pairs.jsonl is a file"),
        (["--html", "{folder}/library"], "holds 'Plane.lean', no earlier report"),
    ],
)
def test_bad_input_leaves_no_report(files: Path, more: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        places = [word.format(folder=files) for word in more]
        _run(files, "--json", f"{files}/a.json", "--html", f"{files}/docs", *places)
    assert not (files / "a.json").exists()
    assert not (files / "docs").exists()
    assert (files / "library" / "Plane.lean").is_file()


def test_wrong_type_found_late_leaves_no_report(files: Path) -> None:
    (files / "pairs.jsonl").write_text('{"question": "a", "name": "b"}\n{"question": "a", "name": 3}\n')
    with pytest.raises(InputError, match="row 2: column 'declaration' holds int"):
        _run(files, "--json", f"{files}/a.json")
    assert sorted(path.name for path in files.iterdir()) == ["benchmark.json", "library", "pairs.jsonl"]


def test_pairs_without_benchmark() -> None:
    result = CliRunner().invoke(app, ["--pairs", "x.jsonl"])
    assert isinstance(result.exception, InputError)
