"""Lean sources to declarations.

Reads: the library in `data.library`, a folder of Lean files or a table that `lean-finder corpus` built or imported.
Writes: `artifacts/corpus/extracted.parquet` and `extraction.json` (counts, and every place that was not understood).
"""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

from lean_finder.corpus.extract import Extraction, extract_library, read_corpus
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import write_json, write_table
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Extract every declaration; a file that cannot be read whole stops a strict run."""
    library = Path(params.data.library)
    tracked.input(library, "library")
    found = read_corpus(library) if library.is_file() else _extract(library, params)
    kinds = Counter(item.kind for item in found.declarations)
    documented = sum(bool(item.docstring) for item in found.declarations)
    counts = {
        "declarations": len(found.declarations),
        "documented": documented,
        "files": found.files,
        "problems": len(found.problems),
    }
    write_table(paths.EXTRACTED, to_frame(Declaration, found.declarations))
    write_json(
        paths.EXTRACTION,
        {"counts": counts, "kinds": dict(kinds), "problems": [problem._asdict() for problem in found.problems]},
    )
    tracked.metrics(counts | {f"kind.{kind}": count for kind, count in kinds.items()})
    tracked.output(paths.EXTRACTED)
    logger.info("%(declarations)d declarations from %(files)d files, %(problems)d problems", counts)


def _extract(library: Path, params: Params) -> Extraction:
    return extract_library(library, roots=params.data.roots, workers=params.threads, strict=params.corpus.strict)
