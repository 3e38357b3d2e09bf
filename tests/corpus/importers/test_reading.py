"""Foreign files read whole or name their fault. Run: pytest tests/corpus/importers/test_reading.py"""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from lean_finder.corpus.importers.reading import iter_jsonl, read_document
from lean_finder.errors import InputError


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", r"rows: the file has no row"),
        (b"\n \n", r"rows: the file has no row"),
        (b'{"a": 1}\n\n{"b": 1}\n', r"rows:3: missing key 'a' \(every row needs: a\)"),
        (b'{"a": 1}\n{"a"', r"rows:2: not JSON: .*, the file may be cut off"),
        (b'{"a": 1}\n{"a"\n', r"rows:2: not JSON: [^,]*delimiter"),
        (b'{"a": "\xe9"}\n', r"rows:1: not UTF-8 \(byte 7 of the line\)"),
        (b"[1]\n", r"rows:1: expected a JSON object"),
        (b"SQLite format 3\0", r"rows:1: not JSON"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: bytes, complaint: str, packed: bool) -> None:
    file = tmp_path / "rows"
    file.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError, match=complaint):
        list(iter_jsonl(file, ["a"]))


def test_rows_come_with_their_place_and_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": "x"}\r\n\r\n{"a": null}\r\n')
    rows = list(iter_jsonl(file, ["a"]))
    assert [(row.where, row.text("a", "-")) for row in rows] == [(f"{file}:1", "x"), (f"{file}:3", "-")]
    with pytest.raises(InputError, match=r"rows\.jsonl:3: missing key 'a'"):
        rows[1].text("a")


def test_a_large_file_is_streamed(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=1) as stream:
        for number in range(8_000):
            stream.write(f'{{"a": {number}, "text": "{"x" * 1000}"}}\n')
    tracemalloc.start()
    total = sum(row.number("a") for row in iter_jsonl(file, ["a"]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 8_000 * 7_999 // 2
    assert peak < 3_000_000  # 8 MB of rows


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent: no such file"):
        read_document(tmp_path / "absent")
    with pytest.raises(InputError, match=r"is a folder"):
        read_document(tmp_path)
