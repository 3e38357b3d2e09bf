"""The hidden side of every audit: the test queries, their golds, families and the library, as one object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lean_finder.audit.inputs import AuditInputs, AuditSettings, Provenance, TrainingSet, empty_frame
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.benchmarks import load_benchmarks
from lean_finder.pipeline.sets import style_queries
from lean_finder.records import BenchmarkQuery, Declaration, SplitRow, columns, to_frame
from lean_finder.storage import read_table


def audit_inputs(params: Params, sets: Sequence[TrainingSet], expected: Provenance | None = None) -> AuditInputs:
    """What an audit of `sets` reads, from this pipeline's own files."""
    benchmark = [query for queries in load_benchmarks(params).values() for query in queries]
    style = style_queries(Path(params.data.style))
    return AuditInputs(
        sets=list(sets),
        manifest=read_table(paths.SPLITS, columns(SplitRow)),
        joins=read_table(paths.JOINS, ["left", "right", "reason"]),
        declarations=read_table(paths.DECLARATIONS, columns(Declaration)),
        benchmark=to_frame(BenchmarkQuery, benchmark),
        real_lengths=pd.DataFrame({"words": [len(str(query).split()) for query in style["query"]]}),
        expected=expected,
        settings=AuditSettings(seed=params.seed, **params.audit.model_dump()),
    )


def hidden_side(params: Params) -> AuditInputs:
    """The same without sets of its own, for dropping leaks while a set is made."""
    nothing = TrainingSet("none", "long_queries", empty_frame(("query", "declaration")), "")
    return audit_inputs(params, [nothing])
