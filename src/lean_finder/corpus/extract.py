"""A folder of Lean files to declarations: which files, in which order, by how many workers, with which cache."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tqdm import tqdm

from lean_finder.corpus.cache import ParseCache
from lean_finder.corpus.facts import FileFacts, Problem
from lean_finder.corpus.memory import no_collection
from lean_finder.corpus.parse import parse_file
from lean_finder.corpus.resolve import Resolver
from lean_finder.errors import InputError
from lean_finder.records import Declaration

_LOG = logging.getLogger(__name__)
_IGNORED = frozenset({".lake", ".git", "build", "lake-packages", "node_modules"})
_FATAL = ("never closed", "cut off", "not UTF-8", "unreadable")
_SERIAL_BELOW = 64


@dataclass(frozen=True)
class Extraction:
    """What a Lean library contains: declarations by module, line and name; problems by file and line; files read."""

    declarations: list[Declaration]
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
        cache: folder for the parse cache, None for none.
        strict: raise on a file that cannot be read whole instead of listing it as a problem.

    Raises:
        InputError: the root is missing or holds no Lean file or no declaration; with `strict` also a file
            that is not UTF-8, ends inside a comment, string or declaration, or cannot be read.
    """
    root = Path(root)
    files = lean_files(root, roots)
    with no_collection():
        parsed = list(_parse_all(root, files, workers, cache))
        resolver = Resolver(parsed)
        declarations = resolver.run()
    problems = sorted(resolver.problems)
    if strict:
        for problem in problems:
            if any(word in problem.reason for word in _FATAL):
                raise InputError(f"{root / problem.file}:{problem.line}", problem.reason, "repair or restore the file")
    if not declarations:
        raise InputError(root, "no declaration in its Lean files", "check the folder")
    _LOG.info("%d declarations in %d files, %d problems", len(declarations), len(files), len(problems))
    return Extraction(declarations, problems, len(files))


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
    files = sorted(set(_walk(tops or [root])))
    if not files:
        raise InputError(root, "no .lean file", "give the folder of a Lean project")
    return files


def _walk(tops: Sequence[Path]) -> Iterator[Path]:
    for top in tops:
        if top.is_file():
            yield top
            continue
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in _IGNORED and not name.startswith("."))
            for name in names:
                if name.endswith(".lean") and name not in {"lakefile.lean"}:
                    yield Path(folder) / name


def module_name(root: Path, path: Path) -> str:
    """Dotted module name of a file below the root."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def read_facts(root: Path, path: Path, cache: Path | None = None) -> FileFacts:
    """Facts of one file, from the cache if it has them; a file that cannot be read gives a problem and nothing else."""
    module = module_name(root, path)
    file = path.relative_to(root).as_posix()
    try:
        content = path.read_bytes()
        entry = ParseCache(cache).path(content, module, file) if cache else None
        known = ParseCache(cache).load(entry) if cache and entry else None
        if known is not None:
            return known
        facts = parse_file(content.decode("utf-8"), module, file)
    except UnicodeDecodeError as error:
        return _unread(module, file, f"not UTF-8 (byte {error.start})")
    except OSError as error:
        return _unread(module, file, f"unreadable: {error.strerror}")
    if cache and entry:
        ParseCache(cache).store(entry, facts)
    return facts


def _unread(module: str, file: str, reason: str) -> FileFacts:
    return FileFacts(module, file, [], [], [], [], [], [], [], [Problem(file, 1, reason)])


def _parse_all(root: Path, files: Sequence[Path], workers: int, cache: Path | None) -> Iterator[FileFacts]:
    count = workers or os.cpu_count() or 1
    with tqdm(total=len(files), desc="reading Lean files", unit="file", disable=None, leave=False) as bar:
        if count == 1 or len(files) < _SERIAL_BELOW:
            for path in files:
                yield read_facts(root, path, cache)
                bar.update()
            return
        with ProcessPoolExecutor(count, initializer=gc.disable) as pool:
            for facts in pool.map(partial(read_facts, root, cache=cache), files, chunksize=32):
                yield facts
                bar.update()
