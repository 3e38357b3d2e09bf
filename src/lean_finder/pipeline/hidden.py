"""What an audit of this pipeline reads: the sets on one side, what must stay hidden on the other.

The stage `audit`, the stages that drop leaks while they make a set, and `lean-finder audit` all ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lean_finder.audit.inputs import AuditInputs, AuditSettings, Provenance, TrainingSet, empty_frame
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.benchmarks import held_out_queries
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.provenance import recorded_model
from lean_finder.pipeline.sets import (
    prompt_declarations,
    style_queries,
    supervised_pairs,
    validation_names,
    validation_pairs,
)
from lean_finder.records import BenchmarkQuery, Declaration, JudgedPair, Pair, SplitRow, columns, to_frame
from lean_finder.storage import read_jsonl, read_table


def audit_inputs(params: Params, sets: Sequence[TrainingSet], expected: Provenance | None = None) -> AuditInputs:
    """What an audit of `sets` reads, from this pipeline's own files."""
    benchmark = [query for queries in held_out_queries(params).values() for query in queries]
    style = style_queries(Path(params.data.style))
    return AuditInputs(
        sets=list(sets),
        manifest=read_table(paths.SPLITS, columns(SplitRow)),
        joins=read_table(paths.JOINS, ["left", "right", "reason"]),
        declarations=read_table(paths.DECLARATIONS, columns(Declaration)),
        benchmark=to_frame(BenchmarkQuery, benchmark),
        real_lengths=pd.DataFrame({"words": [len(str(query).split()) for query in style["query"]]}),
        real_queries=tuple(str(query) for query in style["query"]),
        expected=expected,
        settings=AuditSettings(seed=params.seed, **params.audit.model_dump()),
    )


def hidden_side(params: Params) -> AuditInputs:
    """The same without sets of its own, for dropping leaks while a set is made."""
    nothing = TrainingSet("none", "long_queries", empty_frame(("query", "declaration")), "")
    return audit_inputs(params, [nothing])


def inputs_of_arms(params: Params, arms: Sequence[str]) -> AuditInputs:
    """Everything that the given arms learn from or are chosen by, with what the DAG recorded of its origin."""
    corpus = load_corpus(params.corpus.renderer)
    return audit_inputs(params, training_sets(params, arms, corpus), recorded_origin(params, arms))


def own_inputs(params: Params) -> AuditInputs:
    """The sets of every arm that has queries by now.

    Raises:
        InputError: not even round 0 has.
    """
    made = [arm for arm in params.retrievers if paths.queries(arm).is_file()]
    if not made:
        raise InputError(paths.queries("r0"), "no query sets", "run the pipeline, or give --pairs and --benchmark")
    return inputs_of_arms(params, made)


def set_files(params: Params, arms: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name of each set that the given arms see -> (role, file)."""
    files = {"r0": ("long_queries", str(paths.queries("r0")))}
    files |= {arm: ("generated_queries", str(paths.queries(arm))) for arm in arms if arm != "r0"}
    return files | {
        "style": ("generator_sft", params.data.style),
        "judge": ("judge_pairs", params.data.judge),
        "prompts": ("generator_prompts", str(paths.SPLITS)),
        "validation": ("search_set", params.data.style),
        "validation_prompts": ("search_set", str(paths.SPLITS)),
    }


def training_sets(params: Params, arms: Sequence[str], corpus: Corpus) -> list[TrainingSet]:
    """The sets of `set_files`, read as the stages that use them read them."""
    return [
        TrainingSet(name, role, _frame(params, name, corpus), path)
        for name, (role, path) in set_files(params, arms).items()
    ]


def recorded_origin(params: Params, arms: Sequence[str]) -> Provenance:
    """Which generator may have written which arm's queries: the one in `dvc.lock`."""
    generated = [arm for arm in arms if arm != "r0"]
    return Provenance(
        arms=frozenset({"r0", *params.arms}),
        models={arm: frozenset({recorded_model(arm)}) for arm in generated},
        rounds={"r0": "r0", **{arm: arm for arm in generated}},
    )


def _frame(params: Params, name: str, corpus: Corpus) -> pd.DataFrame:
    if name == "style":
        return supervised_pairs(style_queries(Path(params.data.style)), corpus)
    if name == "judge":
        return pd.DataFrame(read_jsonl(Path(params.data.judge), columns(JudgedPair)))
    if name == "validation":
        return validation_pairs(style_queries(Path(params.data.style)), corpus)
    if name == "validation_prompts":
        return pd.DataFrame({"declaration": validation_names(corpus, params.tuning.declarations, params.seed)})
    if name == "prompts":
        return pd.DataFrame({"declaration": prompt_declarations(corpus, params.generator.declarations, params.seed)})
    return read_table(paths.queries(name), columns(Pair))
