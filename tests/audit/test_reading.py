"""Corrupt input gets one clear error. Just this file: pytest tests/audit/test_reading.py"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from lean_finder.audit.reading import (
    PAIR_COLUMNS,
    derive_manifest,
    parse_mapping,
    read_benchmark,
    read_rows,
    read_training_set,
)
from lean_finder.errors import InputError
from tests.audit.world import WIDTH, benchmark, library

ROWS = [{"query": "width of a region", "declaration": "A.b"}, {"query": "größer ≤", "declaration": "A.c"}]


def _write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    path, frame = tmp_path / f"pairs.{suffix}", pd.DataFrame(ROWS)
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if suffix == "csv" else "\t")
    else:
        path.write_text(_lines(ROWS) if suffix == "jsonl" else json.dumps(ROWS))
    assert read_rows(path).to_dict("records") == ROWS


def test_blank_lines_do_not_shift_the_row_numbers(tmp_path: Path) -> None:
    path = _write(tmp_path, "pairs.jsonl", "\n" + _lines(ROWS[:1]) + "\n\n" + _lines(ROWS[1:]))
    assert (read_rows(path).index + 1).tolist() == [2, 5]


def test_mapping_renames_columns(tmp_path: Path) -> None:
    path = _write(tmp_path, "pairs.jsonl", _lines([{"question": "q", "pos": ["A.b", "A.c"]}]))
    made = read_training_set(path, parse_mapping("query=question, declaration=pos", ("query", "declaration")))
    assert made.frame.to_dict("records") == [{"query": "q", "declaration": ["A.b", "A.c"]}]


def test_parquet_cut_in_half(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    pd.DataFrame(ROWS * 500).to_parquet(whole)
    content = whole.read_bytes()
    path = _write(tmp_path, "half.parquet", content[: len(content) // 2])
    with pytest.raises(InputError, match=r"half\.parquet: not a readable Parquet"):
        read_training_set(path)


_DOUBLED = [
    {"query_id": "a", "query": "x", "declaration": "A.b"},
    {"query_id": "a", "query": "y", "declaration": "A.c"},
]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.jsonl", _lines([{"text": "x"}]), "no column to audit"),
        ("latin.jsonl", _lines(ROWS).encode() + '{"query": "é"}'.encode("latin-1"), "not UTF-8 .byte 1"),
        ("long.jsonl", json.dumps({"query": "x" * 10_000_000, "declaration": "A.b"}), "long.jsonl:1.*10,000,0"),
        ("long.json", json.dumps([{"query": "x" * 10_000_000, "declaration": "A.b"}]), "row 1.*10,000,000 characters"),
        ("long.csv", "query,declaration\n" + "x" * 10_000_000 + ",A.b\n", "long.csv:2: not CSV"),
        ("doubled.jsonl", _lines(_DOUBLED), "row 2: id 'a' already stands in row 1"),
        ("keys.jsonl", _lines([ROWS[0], {"query": "x"}]), "keys.jsonl:2: key 'declaration' is not in every row"),
        ("list.jsonl", "[1]\n", "expected a JSON object"),
        ("deep.jsonl", '{"query": ' + "[" * 90_000 + "\n", "deep.jsonl:1: not JSON"),
        ("cut.jsonl", _lines(ROWS)[:-20], "cut.jsonl:2: not JSON"),
        ("cells.csv", "query,declaration\na,b\nc\n", "row 2: 1 cells, the header has 2"),
        ("empty.csv", "", "no header line"),
        ("pairs.txt", "x", "unknown format"),
        ("object.json", "{}", "expected a JSON list"),
    ],
)
def test_corrupt_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_training_set(_write(tmp_path, name, content))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query", "not OURS=THEIRS"),
        ("colour=x", "unknown column 'colour'"),
        ("query=text,declaration=text", "maps a column a second time"),
        ("query=a,query=b", "maps a column a second time"),
    ],
)
def test_bad_mappings(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mapping(text, ("query", "declaration"))


def test_a_key_that_nothing_is_held_against_may_be_absent(tmp_path: Path) -> None:
    path = _write(tmp_path, "pairs.jsonl", _lines([ROWS[0], {**ROWS[1], "negatives": ["A.d"], "note": 1}]))
    assert read_training_set(path).frame["negatives"].notna().tolist() == [False, True]


def test_nested_keys_and_conversations(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "where is it"}, {"role": "assistant", "content": "A.b"}]
    path = _write(
        tmp_path, "pairs.jsonl", _lines([{"views": {"nl": "q", "lean": ": p"}, "id": "A.b", "chat": messages}])
    )
    mapping = parse_mapping("query=views.nl,statement=views.lean,declaration=id,prompt=chat", PAIR_COLUMNS)
    row = read_training_set(path, mapping).frame.iloc[0]
    assert (row["query"], row["statement"], row["declaration"]) == ("q", ": p", "A.b")
    assert row["prompt"] == ["where is it", "A.b"]
    with pytest.raises(InputError, match=r"no key 'views\.french'"):
        read_training_set(path, {"query": "views.french"})


def test_mapped_column_that_is_not_there(tmp_path: Path) -> None:
    path = _write(tmp_path, "pairs.jsonl", _lines(ROWS))
    with pytest.raises(InputError, match="no column 'question' for 'query'"):
        read_training_set(path, {"query": "question"})


def test_benchmark_in_mathlibqr_fields(tmp_path: Path) -> None:
    entry = {"id": "X1", "full_name": "A.b", "q1a_lean": "`a`", "q1b_latex": "", "q3_nickname": "nick", "kind": "lemma"}
    frame = read_benchmark(_write(tmp_path, "b.json", json.dumps([entry])))
    assert frame[["query_id", "query", "gold", "style"]].values.tolist() == [
        ["X1/q1a_lean", "`a`", "A.b", "lean"],
        ["X1/q3_nickname", "nick", "A.b", "nickname"],
    ]


def test_benchmark_as_a_table_with_several_golds(tmp_path: Path) -> None:
    path = _write(tmp_path, "b.jsonl", _lines([{"q": "text", "golds": ["A.b", "A.c"]}]))
    frame = read_benchmark(path, {"query": "q", "gold": "golds"})
    assert frame[["query_id", "query", "gold"]].values.tolist() == [["row 1", "text", "A.b"], ["row 1", "text", "A.c"]]


def test_benchmark_without_gold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'gold'"):
        read_benchmark(_write(tmp_path, "b.jsonl", _lines([{"query": "x"}])))


def test_derived_manifest_holds_out_families() -> None:
    manifest, joins = derive_manifest(library().declarations, benchmark(), "made-up")
    split = dict(zip(manifest["declaration"], manifest["split"], strict=True))
    assert split[WIDTH] == "test"
    assert split["Plane.stretch_add_apply"] == "test"
    assert split["Plane.circle_mirror"] == "train"
    assert set(joins.columns) == {"left", "right", "reason"}
