"""Files are whole or absent, and damage is one clear error. Run alone: pytest tests/test_storage.py"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lean_finder.errors import InputError
from lean_finder.storage import (
    atomic_path,
    dvc_md5,
    file_digest,
    read_json,
    read_jsonl,
    read_table,
    write_json,
    write_jsonl,
    write_table,
)

FRAME = pd.DataFrame({"name": ["a", "b"], "tags": [["x"], []]})


def test_an_interrupted_write_leaves_the_old_file_and_no_scratch(tmp_path: Path) -> None:
    target = tmp_path / "table.parquet"
    write_table(target, FRAME)
    before = target.read_bytes()
    with pytest.raises(RuntimeError), atomic_path(target) as scratch:
        scratch.write_bytes(before[:10])
        raise RuntimeError
    assert target.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["table.parquet"]


def test_a_folder_replaces_a_folder(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for text in ("old", "new"):
        with atomic_path(target) as scratch:
            scratch.mkdir()
            (scratch / text).write_text(text)
    assert [item.name for item in target.iterdir()] == ["new"]


def test_equal_frames_give_equal_bytes(tmp_path: Path) -> None:
    write_table(tmp_path / "a", FRAME)
    write_table(tmp_path / "b", FRAME.copy())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_parquet_file_cut_in_half_is_named(tmp_path: Path) -> None:
    target = tmp_path / "table.parquet"
    write_table(target, FRAME)
    target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])
    with pytest.raises(InputError, match=r"table\.parquet.*not a readable Parquet"):
        read_table(target)


def test_missing_columns_and_files_are_named(tmp_path: Path) -> None:
    write_table(tmp_path / "t", FRAME)
    with pytest.raises(InputError, match="missing column 'query'"):
        read_table(tmp_path / "t", ["name", "query"])
    with pytest.raises(InputError, match="no such file"):
        read_table(tmp_path / "absent")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"query": "a"}\n{"query"\n', r"rows\.jsonl:2: not JSON"),
        (b'{"query": "a"}\n["b"]\n', r"rows\.jsonl:2: expected a JSON object"),
        (b'{"other": "a"}\n', r"rows\.jsonl:1: missing key 'query'"),
        (b'{"query": "\xe9"}\n', r"rows\.jsonl: not UTF-8 \(byte 11\)"),
    ],
)
def test_a_bad_json_line_is_named(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        read_jsonl(tmp_path / "rows.jsonl", required=["query"])


def test_json_round_trip_refuses_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": "∑"})
    assert read_json(tmp_path / "a.json") == {"a": "∑", "b": 1}
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"b": float("nan")})
    assert read_json(tmp_path / "a.json") == {"a": "∑", "b": 1}


def test_jsonl_round_trip(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"query": "x y"}, {"query": "z"}])
    assert [row["query"] for row in read_jsonl(tmp_path / "a.jsonl")] == ["x y", "z"]


def test_digests_see_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    first = file_digest(tmp_path / "a")
    (tmp_path / "a" / "x").rename(tmp_path / "a" / "y")
    assert file_digest(tmp_path / "a") != first
    assert dvc_md5(tmp_path / "a" / "y") == "c4ca4238a0b923820dcc509a6f75849b"
    assert dvc_md5(tmp_path / "a").endswith(".dir")
