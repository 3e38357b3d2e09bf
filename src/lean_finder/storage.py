"""Files that are either whole or absent: atomic writes and checked reads.

A stage may be killed at any moment. Everything here is written beside its final place
and moved there in one step, so a reader never meets half a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lean_finder.errors import InputError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a scratch path beside `path`; on success move it (file or folder) into place.

    On an exception the scratch is removed and `path` is left as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        yield scratch
        if scratch.is_dir() and path.exists():
            shutil.rmtree(path)
        os.replace(scratch, path)
    finally:
        if scratch.is_dir():
            shutil.rmtree(scratch)
        else:
            scratch.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, atomically."""
    with atomic_path(path) as scratch:
        scratch.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as sorted, indented JSON (NaN refused), atomically: equal values give equal bytes."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read one JSON document.

    Raises:
        InputError: the file is missing, not UTF-8 or not JSON.
    """
    try:
        return json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}", f"not JSON: {error.msg}", "repair or restore the file") from error


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line, atomically."""
    with atomic_path(path) as scratch, scratch.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_jsonl(path: Path, required: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Read JSON lines; every row must be an object that has the `required` keys.

    Raises:
        InputError: names the file, the line and the missing key.
    """
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}", f"not JSON: {error.msg}", "repair or remove the line") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}", "expected a JSON object", "one object a line")
        missing = [key for key in required if key not in row]
        if missing:
            raise InputError(f"{path}:{number}", f"missing key {missing[0]!r}", f"keys needed: {', '.join(required)}")
        rows.append(row)
    return rows


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as Parquet (zstd), atomically and without its index: equal frames give equal bytes."""
    with atomic_path(path) as scratch:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        pq.write_table(table, scratch, compression="zstd")


def read_table(path: Path, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Read a Parquet table that must have at least `columns`.

    Raises:
        InputError: the file is missing or damaged, or a column is absent.
    """
    if not Path(path).is_file():
        raise InputError(path, "no such file", "run the stage that makes it: dvc repro")
    try:
        frame = pq.read_table(path).to_pandas()
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(path, "not a readable Parquet file", "delete it and run its stage again") from error
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(path, f"missing column {missing[0]!r}", f"columns needed: {', '.join(columns)}")
    return frame


def file_digest(path: Path) -> str:
    """SHA-256 of a file, or of a folder's sorted relative names and contents, in hex."""
    path = Path(path)
    digest = hashlib.sha256()
    if path.is_dir():
        for item in sorted(item for item in path.rglob("*") if item.is_file()):
            digest.update(f"{item.relative_to(path).as_posix()}\0{file_digest(item)}\n".encode())
        return digest.hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def dvc_md5(path: Path) -> str:
    """The MD5 that DVC 3 records for a file or folder: the join key between `dvc.lock` and MLflow.

    A folder's is the MD5 of its JSON listing, with the suffix ".dir"; `__pycache__` is ignored as in `.dvcignore`.
    """
    path = Path(path)
    if not path.is_dir():
        return _file_md5(path)
    items = sorted(
        (item for item in path.rglob("*") if item.is_file() and "__pycache__" not in item.parts),
        key=lambda item: item.relative_to(path).parts,
    )
    listing = [{"md5": _file_md5(item), "relpath": item.relative_to(path).as_posix()} for item in items]
    return hashlib.md5(json.dumps(listing, sort_keys=True).encode(), usedforsecurity=False).hexdigest() + ".dir"


def _file_md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _read_text(path: Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(path, "no such file", "check the path, or restore it: dvc pull") from error
    except IsADirectoryError as error:
        raise InputError(path, "is a folder, a file was expected", "check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(path, f"not UTF-8 (byte {error.start})", "convert the file to UTF-8") from error
