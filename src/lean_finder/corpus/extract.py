"""A folder of Lean files to declarations: which files, in which order, by how many workers, with which cache."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from lean_finder.corpus.cache import ParseCache
from lean_finder.corpus.columns import declaration_table, table_declarations
from lean_finder.corpus.facts import FileFacts, Problem
from lean_finder.corpus.incremental import updated
from lean_finder.corpus.memory import no_collection
from lean_finder.corpus.parse import parse_file
from lean_finder.corpus.resolve import Resolver
from lean_finder.corpus.state import FileEntry, State, remove_outdated, state_folder
from lean_finder.corpus.uses import UseIndex
from lean_finder.errors import InputError
from lean_finder.records import Declaration, columns, from_frame
from lean_finder.storage import read_table

_LOG = logging.getLogger(__name__)
_IGNORED = frozenset({".lake", ".git", "build", "lake-packages", "node_modules"})
_FATAL = ("never closed", "cut off", "not UTF-8", "unreadable")
_SERIAL_BELOW = 64
#: A clock can give two writes the same time; this much is surely more than its step (ns).
_CLOCK_GRAIN = 2_000_000_000
#: More changed files than this are read by all processes.
_FEW = 200


@dataclass(frozen=True)
class Extraction:
    """What a Lean library contains: declarations by module, line and name; problems by file and line; files read."""

    declarations: list[Declaration]
    problems: list[Problem]
    files: int


@dataclass(frozen=True)
class TableExtraction:
    """An extraction whose declarations are a table (`columns.SCHEMA`)."""

    table: pa.Table
    problems: list[Problem]
    files: int


def extract_library(
    root: Path, *, roots: Sequence[str] = (), workers: int = 0, cache: Path | None = None, strict: bool = False
) -> Extraction:
    """Extract every user-facing declaration of the Lean files below `root`.

    Args:
        root: folder that holds the module roots, e.g. a Lake project.
        roots: module roots to read, e.g. ("Mathlib",); () finds them: every folder `X` beside a file `X.lean`,
            or all files if there is none.
        workers: processes; 0 takes one for each core, 1 none beside the caller. The result does not depend on it.
        cache: folder for what a later run can use again, None for none.
        strict: raise on a file that cannot be read whole instead of listing it as a problem.

    Raises:
        InputError: the root is missing or holds no Lean file or no declaration; with `strict` also a file
            that is not UTF-8, ends inside a comment, string or declaration, or cannot be read.
    """
    if cache is not None:
        found = extract_table(root, roots=roots, workers=workers, cache=cache, strict=strict)
        with no_collection():
            return Extraction(table_declarations(found.table), found.problems, found.files)
    root = Path(root)
    files = lean_files(root, roots)
    with no_collection():
        parsed = [facts for _, facts in _parse_all(root, files, workers, None)]
        resolver = Resolver(parsed, workers=workers or os.cpu_count() or 1)
        declarations = resolver.run()
    problems = sorted(resolver.problems)
    _check(root, problems, len(declarations), len(files), strict)
    return Extraction(declarations, problems, len(files))


def read_corpus(path: Path) -> Extraction:
    """A library that was extracted or imported before.

    Args:
        path: Parquet table of `records.Declaration`.

    Raises:
        InputError: missing, damaged or empty, a column absent, or a name twice.
    """
    declarations = from_frame(Declaration, read_table(path, columns(Declaration)))
    if not declarations:
        raise InputError(path, "has no declaration", "build or import it again: lean-finder corpus")
    seen: set[str] = set()
    for item in declarations:
        if item.name in seen:
            raise InputError(path, f"{item.name} stands in it twice", "build or import it again: lean-finder corpus")
        seen.add(item.name)
    return Extraction(declarations, [], 1)


def extract_table(
    root: Path, *, roots: Sequence[str] = (), workers: int = 0, cache: Path | None = None, strict: bool = False
) -> TableExtraction:
    """`extract_library` with a table for its result; with a cache only what a change reaches is resolved anew.

    Raises:
        InputError: as `extract_library`.
    """
    root = Path(root)
    if cache is None:
        found = extract_library(root, roots=roots, workers=workers, strict=strict)
        return TableExtraction(declaration_table(found.declarations), found.problems, found.files)
    files = lean_files(root, roots)
    with no_collection():
        state = _state(root, files, workers, cache)
    problems = sorted(problem for items in state.problems.values() for problem in items)
    _check(root, problems, state.table.num_rows, len(files), strict)
    return TableExtraction(state.table, problems, len(files))


def _check(root: Path, problems: Sequence[Problem], declarations: int, files: int, strict: bool) -> None:
    if strict:
        for problem in problems:
            if any(word in problem.reason for word in _FATAL):
                raise InputError(f"{root / problem.file}:{problem.line}", problem.reason, "repair or restore the file")
    if not declarations:
        raise InputError(root, "no declaration in its Lean files", "check the folder")
    _LOG.info("%d declarations in %d files, %d problems", declarations, files, len(problems))


def _state(root: Path, files: Sequence[Path], workers: int, cache: Path) -> State:
    """The resolved library: the stored one if nothing changed, brought up to date if little did, else made anew."""
    written = time.time_ns()
    start = len(root.parts)
    folder = state_folder(cache, sorted({path.parts[start] for path in files}))
    stored = State.load(folder)
    if stored is not None:
        changed = _changed(root, files, stored, cache)
        if changed == {}:
            return stored
        state = updated(stored, changed, ParseCache(cache).facts_of, written) if changed is not None else None
        if state is not None:
            state.store(folder)
            return state
    parsed = list(_parse_all(root, files, workers, cache))
    resolver = Resolver([facts for _, facts in parsed], workers=workers or os.cpu_count() or 1)
    declarations = resolver.run()
    problems: dict[int, list[Problem]] = {}
    numbers = {entry.file: number for number, (entry, _) in enumerate(parsed)}
    for problem in resolver.problems:
        problems.setdefault(numbers[problem.file], []).append(problem)
    state = State(
        files=[entry for entry, _ in parsed],
        written=written,
        table=declaration_table(declarations),
        stages=np.array([resolver.stages[item.name] for item in declarations], dtype=np.int8),
        uses=UseIndex.build(resolver.uses),
        tables=resolver.tables,
        problems=problems,
        notations={number: facts.notations for number, (_, facts) in enumerate(parsed) if facts.notations},
        translations={number: facts.translations for number, (_, facts) in enumerate(parsed) if facts.translations},
    )
    remove_outdated(cache)
    state.store(folder)
    return state


def _changed(
    root: Path, files: Sequence[Path], stored: State, cache: Path
) -> dict[int, tuple[FileEntry, FileFacts]] | None:
    """Files whose content is another than the stored; None if files were added or removed, or very many changed.

    A file of equal size and time is not read, unless it was written so shortly before it was last looked at that a
    later change could bear the same time.
    """
    if len(files) != len(stored.files):
        return None
    changed: dict[int, tuple[FileEntry, FileFacts]] = {}
    prefix = len(str(root)) + 1
    for number, (path, entry) in enumerate(zip(files, stored.files, strict=True)):
        if str(path)[prefix:] != entry.file:
            return None
        size, modified = _size_and_time(path)
        if (size, modified) == (entry.size, entry.time) and modified < stored.written - _CLOCK_GRAIN:
            continue
        now, facts = read_facts(root, path, cache)
        if now.digest != entry.digest or not now.digest:
            changed[number] = (now, facts)
            if len(changed) > _FEW:
                return None
    return changed


def lean_files(root: Path, roots: Sequence[str] = ()) -> list[Path]:
    """Lean files of the module roots, sorted, without build folders and without following links to folders.

    Raises:
        InputError: the root or a named module root is missing, or there is no Lean file.
    """
    if not root.is_dir():
        raise InputError(root, "no such folder", "give the folder of a Lean project")
    chosen = list(roots)
    if not chosen:
        chosen = sorted(item.stem for item in root.glob("*.lean") if (root / item.stem).is_dir())
    tops = []
    for name in chosen:
        path = root.joinpath(*name.split("."))
        found = [item for item in (path, path.with_name(path.name + ".lean")) if item.exists()]
        if not found:
            raise InputError(path, "no such module root", "name folders below the project, e.g. --roots Mathlib")
        tops.extend(found)
    # Compared by folder, as paths are: `A/B.lean` comes before `A-C.lean`.
    files = [Path(name) for name in sorted(set(_walk(tops or [root])), key=lambda name: name.split(os.sep))]
    if not files:
        raise InputError(root, "no .lean file", "give the folder of a Lean project")
    return files


def _walk(tops: Sequence[Path]) -> Iterator[str]:
    for top in tops:
        if top.is_file():
            yield str(top)
            continue
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in _IGNORED and not name.startswith("."))
            for name in names:
                if name.endswith(".lean") and name not in {"lakefile.lean"}:
                    yield os.path.join(folder, name)


def module_name(root: Path, path: Path) -> str:
    """Dotted module name of a file below the root."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def read_facts(root: Path, path: Path, cache: Path | None = None) -> tuple[FileEntry, FileFacts]:
    """Entry and facts of one file, from the cache if it has them.

    A file that cannot be opened gives a problem and nothing else, and its entry has no digest.
    """
    module = module_name(root, path)
    file = path.relative_to(root).as_posix()
    size, modified = _size_and_time(path) if cache else (0, 0)
    entry = FileEntry(file, module, size, modified, "")
    try:
        content = path.read_bytes()
        place = ParseCache(cache).path(content, module, file) if cache else None
        if place is not None:
            entry = entry._replace(digest=place.stem)
            known = ParseCache(place.parents[1]).load(place)
            if known is not None:
                return entry, known
        facts = _parse(content, module, file)
    except OSError as error:
        return entry, _unread(module, file, f"unreadable: {error.strerror}")
    if cache and place:
        ParseCache(cache).store(place, facts)
    return entry, facts


def _parse(content: bytes, module: str, file: str) -> FileFacts:
    """The facts of a file's bytes; those that are no UTF-8 become U+FFFD, so that the declarations around them stay."""
    try:
        return parse_file(content.decode("utf-8"), module, file)
    except UnicodeDecodeError as error:
        facts = parse_file(content.decode("utf-8", errors="replace"), module, file)
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(file, line, f"not UTF-8 (byte {error.start} of the file), read with the bytes replaced")
        return facts._replace(problems=[problem, *facts.problems])


def _size_and_time(path: Path) -> tuple[int, int]:
    """Size in bytes and time of change in ns; -1 for a file that is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def _unread(module: str, file: str, reason: str) -> FileFacts:
    return FileFacts(module, file, [], [], [], [], [], [], [], [Problem(file, 1, reason)])


def _parse_all(
    root: Path, files: Sequence[Path], workers: int, cache: Path | None
) -> Iterator[tuple[FileEntry, FileFacts]]:
    count = workers or os.cpu_count() or 1
    with tqdm(total=len(files), desc="reading Lean files", unit="file", disable=None, leave=False) as bar:
        if count == 1 or len(files) < _SERIAL_BELOW:
            for path in files:
                yield read_facts(root, path, cache)
                bar.update()
            return
        with ProcessPoolExecutor(count, initializer=gc.disable) as pool:
            for found in pool.map(partial(read_facts, root, cache=cache), files, chunksize=32):
                yield found
                bar.update()
