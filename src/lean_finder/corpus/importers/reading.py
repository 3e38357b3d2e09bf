"""Files of other tools, plain or gzipped: whole JSON documents, and JSON lines that never stand in memory at once."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from lean_finder.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_WORDS = {str: "text", int: "a number", list: "a list", dict: "an object", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object with its place, read key by key with checks.

    Absent and null are the same: `default`, or an error if there is none.
    """

    values: dict[str, Any]
    where: str

    def text(self, key: str, default: str | None = None) -> str:
        """Text under a key."""
        return self._get(key, str, default)

    def number(self, key: str, default: int | None = None) -> int:
        """Whole number under a key."""
        return self._get(key, int, default)

    def items(self, key: str, default: list[Any] | None = None) -> list[Any]:
        """List under a key."""
        return self._get(key, list, default)

    def inner(self, key: str) -> Row:
        """Object under a key as a row of its own, empty if absent."""
        return Row(self._get(key, dict, {}), f"{self.where}: {key}")

    def rows(self, key: str) -> list[Row]:
        """List of objects under a key, empty if absent."""
        return as_rows(self.items(key, []), f"{self.where}: {key}")

    def dotted(self, key: str) -> str:
        """A name under a key, as a list of parts or dotted text; "" if absent."""
        value = self.values.get(key)
        if isinstance(value, list):
            return ".".join(str(part) for part in value)
        return self.text(key, "")

    def _get(self, key: str, type_: type, default: Any) -> Any:
        value = self.values.get(key)
        if value is None:
            if default is None:
                raise InputError(self.where, f"missing key {key!r}", "is this the format? see --format")
            return default
        if not isinstance(value, type_):
            raise InputError(self.where, f"{key!r} is {value!r:.40}, expected {_WORDS[type_]}", "is this the format?")
        return value


def as_rows(values: object, where: str) -> list[Row]:
    """A JSON list of objects as rows.

    Raises:
        InputError: it is no list, or an element is no object.
    """
    if not isinstance(values, list):
        raise InputError(where, "expected a JSON list of objects", "is this the format? see --format")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise InputError(f"{where}[{number}]", "expected a JSON object", "is this the format? see --format")
    return [Row(value, f"{where}[{number}]") for number, value in enumerate(values, start=1)]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The file's plain bytes, and the file as it lies on disk (for progress). Compression is seen from the content."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            yield (gzip.GzipFile(fileobj=raw) if compressed else raw), raw  # type: ignore[misc]
    except FileNotFoundError as error:
        raise InputError(path, "no such file", "check the path") from error
    except IsADirectoryError as error:
        raise InputError(path, "is a folder, a file was expected", "check the path") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(path, "the gzip data is cut off or damaged", "fetch the file again") from error


def first_bytes(path: Path, size: int) -> bytes:
    """The first plain bytes of a file, fewer if it is shorter."""
    with _opened(path) as (stream, _):
        return stream.read(size)


def read_document(path: Path) -> Any:
    """One JSON document.

    Raises:
        InputError: missing, damaged, empty, not UTF-8, not JSON, or JSON that ends too early.
    """
    with _opened(path) as (stream, _):
        data = stream.read()
    if not data.strip():
        raise InputError(path, "the file is empty", "run the tool that writes it again")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(path, f"not UTF-8 (byte {error.start})", "convert the file to UTF-8") from error
    except json.JSONDecodeError as error:
        ended = error.pos >= len(data.decode("utf-8-sig").rstrip())
        problem = "the JSON ends too early" if ended else f"not JSON: {error.msg}"
        raise InputError(f"{path}:{error.lineno}", problem, "run the tool that writes it again") from error


def iter_jsonl(path: Path, required: Sequence[str] = ()) -> Iterator[Row]:
    """Rows of a JSON-lines file one at a time, with progress by bytes; blank lines are skipped.

    Raises:
        InputError: names the file, the 1-based row and what is wrong; also when there is no row.
    """
    found = False
    with (
        _opened(path) as (stream, raw),
        tqdm(total=path.stat().st_size, desc=f"reading {path.name}", unit="B", unit_scale=True, disable=None) as bar,
    ):
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            found = True
            yield _row(line, f"{path}:{number}", required)
            if number % 1024 == 0:
                bar.update(raw.tell() - bar.n)
    if not found:
        raise InputError(path, "the file has no row", "one JSON object a line was expected")


def _row(line: bytes, where: str, required: Sequence[str]) -> Row:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(where, f"not UTF-8 (byte {error.start} of the line)", "convert the file to UTF-8") from error
    except json.JSONDecodeError as error:
        hint = "" if line.endswith(b"\n") else ", the file may be cut off"
        raise InputError(where, f"not JSON: {error.msg}{hint}", "repair or remove the line") from error
    if not isinstance(value, dict):
        raise InputError(where, "expected a JSON object", "one object a line")
    for key in required:
        if key not in value:
            raise InputError(where, f"missing key {key!r}", f"every row needs: {', '.join(required)}")
    return Row(value, where)
