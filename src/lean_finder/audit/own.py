"""The pipeline's own data, found where the pipeline puts it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lean_finder.audit.inputs import JOIN_COLUMNS, AuditInputs, AuditSettings, TrainingSet
from lean_finder.audit.reading import read_benchmark, read_training_set
from lean_finder.errors import InputError
from lean_finder.records import Declaration, SplitRow, columns
from lean_finder.storage import read_table

_QUERIES = Path("artifacts/queries")
_CORPUS = Path("artifacts/corpus")
_STYLE = Path("data/queries/style.jsonl")
_JUDGE = Path("data/judge/pairs.jsonl")
_BENCHMARK = Path("data/benchmark")


def own_inputs(root: Path, settings: AuditSettings) -> AuditInputs:
    """Every set that a run of the pipeline has left under `root`, with its manifest, library and benchmarks.

    Raises:
        InputError: a part is missing or damaged.
    """
    sets = []
    for path in sorted((root / _QUERIES).glob("*.parquet")):
        if not path.stem.endswith("-dropped"):
            sets.append(_set(root, path, "long_queries" if path.stem == "r0" else "generated_queries"))
    if not sets:
        raise InputError(root / _QUERIES, "no query sets", "run the pipeline, or give --pairs and --benchmark")
    style = _set(root, root / _STYLE, "generator_sft")
    sets.extend([style, _set(root, root / _JUDGE, "judge_pairs")])
    files = sorted(path for path in (root / _BENCHMARK).glob("*") if path.suffix in (".json", ".jsonl"))
    if not files:
        raise InputError(root / _BENCHMARK, "no benchmark files", "dvc pull")
    return AuditInputs(
        sets=sets,
        manifest=read_table(root / _CORPUS / "splits.parquet", columns(SplitRow)),
        joins=read_table(root / _CORPUS / "joins.parquet", JOIN_COLUMNS),
        declarations=read_table(root / _CORPUS / "declarations.parquet", columns(Declaration)),
        benchmark=pd.concat([read_benchmark(path) for path in files], ignore_index=True),
        real_lengths=pd.DataFrame({"words": [len(str(query).split()) for query in style.frame["query"]]}),
        settings=settings,
    )


def _set(root: Path, path: Path, role: str) -> TrainingSet:
    made = read_training_set(path, role=role)
    return TrainingSet(made.name, role, made.frame, path.relative_to(root).as_posix())
