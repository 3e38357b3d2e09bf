"""Which tool wrote this: from the files' names and first bytes, never from a guess that could be two things."""

from __future__ import annotations

from pathlib import Path

from lean_finder.corpus.importers import docgen_json, docgen_sqlite, jixia
from lean_finder.corpus.importers.reading import Row, first_bytes, iter_jsonl
from lean_finder.errors import InputError

_DATABASE = "api-docs.db"


def detect(path: Path) -> tuple[str, Path]:
    """Format of a file or folder, and the path to hand to its importer.

    Raises:
        InputError: nothing is there, nothing is recognised, or a folder holds several formats.
    """
    if path.is_dir():
        return _detect_folder(path)
    head = first_bytes(path, 16)
    if not head.strip():
        raise InputError(path, "the file is empty", "run the tool that writes it again")
    if head.startswith(docgen_sqlite.MAGIC):
        return "docgen4-sqlite", path
    if path.name.endswith(jixia.SYMBOLS):
        return "jixia", path
    if ".bmp" in path.suffixes:
        return "docgen4", path
    return _detect_rows(next(iter(iter_jsonl(path)))), path


def _detect_folder(path: Path) -> tuple[str, Path]:
    lines = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")])
    database = sorted(path.rglob(_DATABASE))
    found: list[tuple[str, Path]] = []
    if jixia.symbol_files(path)[1]:
        found.append(("jixia", path))
    if any(path.rglob(docgen_json.PATTERN)):
        found.append(("docgen4", path))
    found += [("docgen4-sqlite", item) for item in database]
    found += [(item.name, item) for item in lines]
    if not found:
        raise InputError(
            path, "no corpus in this folder", f"expected *.sym.json, {docgen_json.PATTERN}, {_DATABASE} or one *.jsonl"
        )
    if len(found) > 1:
        raise InputError(path, f"several corpora: {', '.join(name for name, _ in found)}", "name one, or give --format")
    format_, chosen = found[0]
    return detect(chosen) if chosen.is_file() else (format_, chosen)


def _detect_rows(row: Row) -> str:
    keys = set(row.values)
    if "formal_name" in keys:
        return "lean-finder"
    if {"moduleName", "kindFlags"} <= keys:
        return "lean-extract"
    if {"name", "module_name"} <= keys:
        return "frenzymath" if "docstring" in keys else "lsv2"
    raise InputError(row.where, f"no known format has the keys {', '.join(sorted(keys))[:120]}", "give --format")
