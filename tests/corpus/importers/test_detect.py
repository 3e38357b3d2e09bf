"""Formats are found out, never guessed between two. Run: pytest tests/corpus/importers/test_detect.py"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lean_finder.corpus.importers import import_corpus
from lean_finder.corpus.importers.detect import detect
from lean_finder.errors import InputError


def test_content_counts_not_the_suffix(docgen_database: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "documentation"
    shutil.copy(docgen_database, renamed)
    assert detect(renamed) == ("docgen4-sqlite", renamed)


def test_a_folder_with_one_file_of_rows(write_rows: Callable[..., Path], lsv2_row: Callable[..., Any]) -> None:
    file = write_rows("data.jsonl.gz", [lsv2_row(["a"], "theorem", "True")])
    assert detect(file.parent) == ("lsv2", file)


def test_a_folder_with_two_corpora_is_refused(
    docgen_folder: Path, write_jixia: Callable[..., Path], tmp_path: Path
) -> None:
    write_jixia()
    with pytest.raises(InputError, match=r"several corpora: jixia, docgen4 \(name one, or give --format\)"):
        import_corpus(tmp_path)
    assert import_corpus(tmp_path, format="docgen4").format == "docgen4"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", r"thing: the file is empty"),
        (b"theorem a : True := trivial\n", r"thing:1: not JSON"),
        (b'{"id": 1, "text": "x"}\n', r"thing:1: no known format has the keys id, text \(give --format\)"),
    ],
)
def test_an_unknown_file_is_named(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "thing").write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        import_corpus(tmp_path / "thing")


def test_nothing_there_and_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent: no such file or folder"):
        import_corpus(tmp_path / "absent")
    with pytest.raises(InputError, match=r"no corpus in this folder"):
        import_corpus(tmp_path)
    with pytest.raises(InputError, match=r"csv: unknown corpus format \(known: auto, docgen4"):
        import_corpus(tmp_path, format="csv")
    with pytest.raises(InputError, match=r"no declaration in it"):
        import_corpus(tmp_path, format="jixia")
