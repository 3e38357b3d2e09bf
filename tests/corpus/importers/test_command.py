"""`corpus import` writes a table and a report. Run: pytest tests/corpus/importers/test_command.py"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from lean_finder.cli.corpus_import import import_
from lean_finder.corpus.importers import import_corpus
from lean_finder.errors import InputError
from lean_finder.records import Declaration, columns, from_frame, to_frame
from lean_finder.storage import read_json, read_table, write_table


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command("import")(import_)
    return app


def test_import_and_merge(app: typer.Typer, write_jixia: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_jixia(lean=False)
    ours = [replace(item, line=40, docstring="Ours.") for item in import_corpus(folder).declarations]
    extra = Declaration("Demo.only_here", "lemma", "Demo.Basic", 41, ": True")
    source, out = tmp_path / "source.parquet", tmp_path / "out" / "exact.parquet"
    write_table(source, to_frame(Declaration, [*ours, extra]))
    done = CliRunner().invoke(app, [str(folder), "--source", str(source), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "disagreements about docstring: 2" in done.output
    found = {item.name: item for item in from_frame(Declaration, read_table(out, columns(Declaration)))}
    assert len(found) == len(ours) + 1
    assert found["Demo.op_self"].line == 40
    report = read_json(tmp_path / "out" / "exact.import.json")
    assert report["merge"]["only_source"] == ["Demo.only_here"]
    assert report["left_out"]["counts"]["private"] == 1


def test_the_same_input_gives_the_same_bytes(
    app: typer.Typer, write_jixia: Callable[..., Path], tmp_path: Path
) -> None:
    folder = write_jixia()
    files = []
    for name in ("a", "b"):
        CliRunner().invoke(app, [str(folder), "--out", str(tmp_path / f"{name}.parquet")], catch_exceptions=False)
        files.append(((tmp_path / f"{name}.parquet").read_bytes(), (tmp_path / f"{name}.import.json").read_bytes()))
    assert files[0] == files[1]


def test_bad_input_leaves_no_output(app: typer.Typer, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b'{"name": ["a"], "module_name": [], "kind"')
    with pytest.raises(InputError, match=r"bad\.jsonl:1: not JSON"):
        CliRunner().invoke(app, [str(bad), "--out", str(tmp_path / "o.parquet")], catch_exceptions=False)
    assert [item.name for item in tmp_path.iterdir()] == ["bad.jsonl"]
