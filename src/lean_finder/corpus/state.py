"""A resolved library on disk, so that a change of one file costs that file and the files that asked for what changed.

A folder with: `files.json` (path, size, time, digest of every file), `tables.json` (what files add to shared tables,
problems, notations), `declarations.arrow` (read without copying), `stages.npy`, `uses.npy`. It is written whole or not
at all, and its name holds the digest of the package's source, so no other version reads it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lean_finder.corpus.columns import SCHEMA
from lean_finder.corpus.facts import FileFacts, Problem, RawDeclaration
from lean_finder.corpus.resolve import SOURCE, FileTables, Row, Target
from lean_finder.corpus.uses import UseIndex
from lean_finder.storage import atomic_path


class FileEntry(NamedTuple):
    """A file as it was read: path below the root, module, size in bytes, time of change in ns, name in the cache."""

    file: str
    module: str
    size: int
    time: int
    digest: str


@dataclass(frozen=True)
class State:
    """What a run leaves for the next.

    Attributes:
        files: in the order of resolution; a file's place is its number.
        written: when the files were looked at, in ns since the epoch.
        table: declarations, sorted by module, line and name.
        stages: for each row of the table, when its name became known (`resolve`).
        uses: who asked for what.
        tables: file → what it adds to shared tables.
        problems: file → its problems.
        notations: file → its notations.
        translations: file → its inserted translations.
    """

    files: list[FileEntry]
    written: int
    table: pa.Table
    stages: npt.NDArray[np.int8]
    uses: UseIndex
    tables: dict[int, FileTables]
    problems: dict[int, list[Problem]]
    notations: dict[int, list[tuple[str, str]]]
    translations: dict[int, list[tuple[str, str]]]

    @cached_property
    def blocks(self) -> dict[str, tuple[int, int]]:
        """Module → first row and row after the last."""
        runs = self.table.column("module").combine_chunks().cast(pa.string()).dictionary_encode()
        codes = runs.indices.to_numpy()
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        ends = np.append(starts[1:], len(codes))
        names = runs.dictionary.to_pylist()
        return {names[codes[a]]: (int(a), int(b)) for a, b in zip(starts, ends, strict=True)}

    def store(self, folder: Path) -> None:
        """Write the state."""
        with atomic_path(folder) as scratch:
            scratch.mkdir()
            _dump(scratch / "files.json", {"written": self.written, "files": self.files})
            tables = {number: table.lists() for number, table in self.tables.items() if any(table.lists())}
            rest = {"problems": self.problems, "notations": self.notations, "translations": self.translations}
            shared = {name: {n: v for n, v in part.items() if v} for name, part in rest.items()}  # type: ignore[attr-defined]
            _dump(scratch / "tables.json", {"tables": tables, **shared})
            with pa.OSFile(str(scratch / "declarations.arrow"), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
                writer.write_table(self.table)
            np.save(scratch / "stages.npy", self.stages, allow_pickle=False)
            np.save(scratch / "uses.npy", self.uses.packed, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> State | None:
        """The state in a folder; None if there is none or it is damaged."""
        try:
            listing = json.loads((folder / "files.json").read_bytes())
            shared = json.loads((folder / "tables.json").read_bytes())
            with pa.memory_map(str(folder / "declarations.arrow")) as source:
                table = pa.ipc.open_file(source).read_all()
            state = cls(
                files=[FileEntry(*item) for item in listing["files"]],
                written=listing["written"],
                table=table,
                stages=np.load(folder / "stages.npy", allow_pickle=False),
                uses=UseIndex(np.load(folder / "uses.npy", mmap_mode="r", allow_pickle=False)),
                tables={int(number): _tables(item) for number, item in shared["tables"].items()},
                problems={int(n): [Problem(*item) for item in items] for n, items in shared["problems"].items()},
                notations={int(n): [(a, b) for a, b in items] for n, items in shared["notations"].items()},
                translations={int(n): [(a, b) for a, b in items] for n, items in shared["translations"].items()},
            )
        except (OSError, ValueError, TypeError, KeyError, pa.ArrowInvalid):
            return None
        return state if table.schema == SCHEMA and len(state.stages) == table.num_rows else None


@lru_cache(maxsize=1)
def package_version() -> str:
    """Digest of the source of this package: any of its modules may decide what a declaration is."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def state_folder(cache: Path, tops: Sequence[str]) -> Path:
    """Where the state of a library with these top folders and files belongs."""
    key = hashlib.sha256("\0".join(tops).encode()).hexdigest()[:16]
    return cache / f"state-{package_version()}-{key}"


def remove_outdated(cache: Path) -> None:
    """Delete states that other versions of this package left; nobody will read them."""
    for folder in cache.glob("state-*"):
        if not folder.name.startswith(f"state-{package_version()}-"):
            shutil.rmtree(folder, ignore_errors=True)


class StoredFiles:
    """The files of a state but for those left out (see `resolve.Stored`).

    Args:
        state: the stored library.
        facts_of: facts of a file of the library by its number.
    """

    def __init__(self, state: State, facts_of: Callable[[int], FileFacts]) -> None:
        self.state = state
        self.facts_of = facts_of
        self.numbers = {entry.module: number for number, entry in enumerate(state.files)}
        self.rows: dict[str, int] = dict(
            zip(state.table.column("name").to_pylist(), range(len(state.stages)), strict=True)
        )
        self.file_of_row = np.zeros(len(state.stages), dtype=np.int64)
        for module, (start, end) in state.blocks.items():
            self.file_of_row[start:end] = self.numbers[module]

    def leave_out(self, numbers: Sequence[int]) -> None:
        """These files are resolved anew, so nothing of them is known."""
        for number in numbers:
            start, end = self.state.blocks.get(self.state.files[number].module, (0, 0))
            for name in self.state.table.column("name").slice(start, end - start).to_pylist():
                self.rows.pop(name, None)

    def visible(self, name: str, stage: int, file: int) -> bool:
        row = self.rows.get(name)
        return row is not None and (int(self.state.stages[row]), int(self.file_of_row[row])) < (stage, file)

    def is_source(self, name: str) -> bool:
        row = self.rows.get(name)
        return row is not None and int(self.state.stages[row]) == SOURCE

    def is_public(self, name: str) -> bool:
        return self.is_source(name) and self._cell("visibility", self.rows[name]) != "private"

    def row(self, name: str) -> Row:
        row = self.rows[name]
        raw = RawDeclaration(
            name=name,
            kind=self._cell("kind", row),
            line=0,
            signature=self._cell("signature", row),
            variables=self._cell("variables", row),
            docstring="",
            attributes=(),
            namespace=self._cell("namespace", row),
            visibility=self._cell("visibility", row),
            opens="",
            origin=self._cell("origin", row),
            generated_by=self._cell("generated_by", row),
        )
        return int(self.file_of_row[row]), raw

    def _cell(self, column: str, row: int) -> str:
        return str(self.state.table.column(column)[row].as_py())

    def fields(self, owner: str) -> list[tuple[str, RawDeclaration]]:
        if owner not in self.rows:
            return []
        number = int(self.file_of_row[self.rows[owner]])
        return [
            (raw.name, raw)
            for raw in self.facts_of(number).declarations
            if raw.kind == "field" and raw.generated_by == owner and self.is_source(raw.name)
        ]

    def notations(self) -> Sequence[tuple[str, str]]:
        return [pair for _, pairs in sorted(self.state.notations.items()) for pair in pairs]

    def translations(self) -> Mapping[str, str]:
        return dict(pair for _, pairs in sorted(self.state.translations.items()) for pair in pairs)

    def tables(self) -> Mapping[int, FileTables]:
        return self.state.tables

    def module(self, file: int) -> str:
        return self.state.files[file].module


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _tables(item: list[list[Any]]) -> FileTables:
    edges, set_like, carriers, applied, documented, targets = item
    return FileTables(
        [(a, b) for a, b in edges],
        list(map(str, set_like)),
        list(map(str, carriers)),
        [(name, tuple(given)) for name, given in applied],
        [(name, doc) for name, doc in documented],
        [Target(*row) for row in targets],
    )
