"""Guards the benchmark readers and their row sets. Run: pytest tests/evaluation/test_benchmarks.py"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lean_finder.errors import InputError
from lean_finder.evaluation.benchmarks import load_benchmark
from lean_finder.records import BENCHMARK_STYLES, BenchmarkQuery


def _entry(number: int, **changes: Any) -> dict[str, Any]:
    texts = {slot: f"{style} query {number}" for slot, style in BENCHMARK_STYLES.items()}
    base = {"id": f"A{number}", "full_name": f"Name.n{number}", "file": "x:1", "difficulty": "Hard", "kind": "def"}
    return base | texts | changes


def _write(path: Path, value: Any) -> Path:
    lines = "\n".join(map(json.dumps, value)) if path.suffix == ".jsonl" else json.dumps(value)
    path.write_text(lines, encoding="utf-8")
    return path


def test_mathlibqr_fields(tmp_path: Path) -> None:
    path = _write(tmp_path / "b.json", [_entry(1, q3_nickname="", q4_special_case=" "), _entry(2)])
    queries = load_benchmark(path, name="embedded")
    assert len(queries) == 4 + 6
    assert queries[0] == BenchmarkQuery("A1/q1a_lean", "lean query 1", "Name.n1", "lean", "Hard", "def")
    assert {query.style for query in queries if query.gold == "Name.n1"} == {"lean", "latex", "natural", "slogan"}


def test_long_and_plain_lines(tmp_path: Path) -> None:
    long = _write(tmp_path / "long.jsonl", [{"id": "A1", "full_name": "Name.n1", "query": "a long description"}])
    assert load_benchmark(long, name="long") == [BenchmarkQuery("A1/long", "a long description", "Name.n1", "long")]
    plain = _write(tmp_path / "mine.jsonl", [{"query": "x", "gold": "N"}, {"query": "y", "gold": "N", "style": "lean"}])
    queries = load_benchmark(plain, name="mine")
    assert [(query.query_id, query.gold, query.style) for query in queries] == [
        ("mine-1", "N", ""),
        ("mine-2", "N", "lean"),
    ]


def test_row_sets(tmp_path: Path) -> None:
    """A file of the published size: 135 × 6 rows shared, 14 × 6 in one corpus only, 8 × 6 + 4 missing."""
    entries = [*map(_entry, range(157)), _entry(157, q1a_lean="", q1b_latex="")]
    path = _write(tmp_path / "qr.json", entries)
    names = [entry["full_name"] for entry in entries]
    lists = {"shared_declarations": names[:135], "missing_in_4280": names[149:]}
    shared = _write(tmp_path / "shared.json", lists)
    assert len(load_benchmark(path, name="mathlibqr", rows=946)) == 946
    for rows, golds in ((894, names[:149]), (810, names[:135])):
        queries = load_benchmark(path, name="mathlibqr", rows=rows, shared=shared)
        assert len(queries) == rows
        assert {query.gold for query in queries} == set(golds)
    with pytest.raises(InputError, match="needs the shared"):
        load_benchmark(path, name="mathlibqr", rows=810)
    with pytest.raises(InputError, match="unknown row set"):
        load_benchmark(path, name="mathlibqr", rows=811, shared=shared)
    with pytest.raises(InputError, match="945 rows here"):
        load_benchmark(_write(path, [*entries[:-1], entries[-1] | {"q2_slogan": ""}]), name="mathlibqr", rows=946)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("a.json", {}, "expected a JSON list"),
        ("b.json", [], "no query"),
        ("c.json", [_entry(1), _entry(1)], "occurs twice"),
        ("d.json", [_entry(1), _entry(2, full_name="")], "entry 2: 'full_name' is empty"),
        ("e.json", [_entry(1, q1a_lean=7)], "not a text"),
        ("f.json", ["text"], "entry 1: expected a JSON object"),
        ("g.jsonl", [{"query": "x", "gold": "N"}, {"query": "x"}], "g.jsonl:2: 'gold' is missing"),
        ("h.jsonl", [{"query": "", "gold": "N"}], "'query' is empty"),
        ("i.jsonl", [{"gold": "N"}], "query"),
        ("j.jsonl", [{"id": "A", "full_name": "N", "query": "x"}] * 2, "occurs twice"),
    ],
)
def test_bad_files_are_refused_by_place(name: str, value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_benchmark(_write(tmp_path / name, value), name="x")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_benchmark(tmp_path / "absent.json", name="x")
