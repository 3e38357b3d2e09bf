"""Families and the one manifest of who may train on what.

Reads: declarations, benchmarks. Writes: `artifacts/corpus/splits.parquet`, `artifacts/corpus/joins.parquet`. Stops when
fewer golds than `split.min_gold_share` are in the corpus, and lists them.
"""

from __future__ import annotations

import logging
from collections import Counter

from lean_finder.corpus.check import check_names, share_found
from lean_finder.corpus.families import Join, find_families
from lean_finder.corpus.splits import make_manifest
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.benchmarks import held_out_queries
from lean_finder.records import Declaration, SplitRow, columns, from_frame, to_frame
from lean_finder.storage import read_table, write_table
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Group the declarations into families and give each family a split."""
    tracked.input(paths.DECLARATIONS, "corpus")
    declarations = from_frame(Declaration, read_table(paths.DECLARATIONS, columns(Declaration)))
    golds = {name: sorted({query.gold for query in queries}) for name, queries in held_out_queries(params).items()}
    for name, wanted in golds.items():
        _check_golds(name, wanted, declarations, params.split.min_gold_share)
    families = find_families(declarations)
    manifest = make_manifest(
        declarations, families, golds, validation_share=params.split.validation_share, seed=params.seed
    )
    write_table(paths.JOINS, to_frame(Join, families.joins))
    write_table(paths.SPLITS, to_frame(SplitRow, manifest))
    sizes = Counter(row.split for row in manifest)
    tracked.metrics({f"split.{name}": size for name, size in sizes.items()})
    tracked.metrics({"families": len({row.family for row in manifest}), "joins": len(families.joins)})
    tracked.output(paths.SPLITS)
    logger.info("%s", ", ".join(f"{size} {name}" for name, size in sorted(sizes.items())))


def _check_golds(benchmark: str, golds: list[str], declarations: list[Declaration], least: float) -> None:
    checks = check_names(golds, declarations)
    share = share_found(checks)
    missing = [f"{item.name} ({item.reason})" for item in checks if not item.found]
    if missing:
        logger.warning("%s: %d of %d golds are not in the corpus: %s", benchmark, len(missing), len(golds), missing)
    if share < least:
        listed = ", ".join(missing[:20]) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
        raise InputError(
            f"benchmark {benchmark}",
            f"{share:.1%} of {len(golds)} golds are in the corpus, min_gold_share is {least:.1%}; missing: {listed}",
            "use the benchmark's own library revision, or lower split.min_gold_share",
        )
