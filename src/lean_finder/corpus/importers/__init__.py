"""Exact corpora that other tools extracted where Lean was at hand, as the same records as ours."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from lean_finder.corpus.importers.contract import Imported, ImportProblem
from lean_finder.corpus.importers.detect import detect
from lean_finder.corpus.importers.docgen_json import import_docgen_json
from lean_finder.corpus.importers.docgen_sqlite import import_docgen_sqlite
from lean_finder.corpus.importers.jixia import import_jixia
from lean_finder.corpus.importers.lean_extract import import_lean_extract
from lean_finder.corpus.importers.lean_finder_jsonl import import_lean_finder
from lean_finder.corpus.importers.leansearch import import_frenzymath, import_lsv2
from lean_finder.errors import InputError

__all__ = ["FORMATS", "ImportProblem", "Imported", "import_corpus"]

logger = logging.getLogger(__name__)

FORMATS: dict[str, Callable[[Path], Imported]] = {
    "docgen4": import_docgen_json,
    "docgen4-sqlite": import_docgen_sqlite,
    "frenzymath": import_frenzymath,
    "jixia": import_jixia,
    "lean-extract": import_lean_extract,
    "lean-finder": import_lean_finder,
    "lsv2": import_lsv2,
}


def import_corpus(path: Path, format: str = "auto") -> Imported:
    """Read an exact corpus.

    Args:
        path: a file, plain or gzipped, or a folder of jixia's or doc-gen4's files.
        format: a key of `FORMATS`, or "auto" to find out.

    Raises:
        InputError: unknown format, nothing there, or bad content: names the file, the row and what to do.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(path, "no such file or folder", "check the path")
    if format != "auto" and format not in FORMATS:
        raise InputError(format, "unknown corpus format", f"known: auto, {', '.join(FORMATS)}")
    chosen, source = detect(path) if format == "auto" else (format, path)
    imported = FORMATS[chosen](source)
    if not imported.declarations:
        raise InputError(path, "no declaration in it", "check the path and --format")
    logger.info("%d declarations from %s (%s), left out: %s", len(imported.declarations), path, chosen, imported.counts)
    return imported
