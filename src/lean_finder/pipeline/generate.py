"""The short queries of one arm: sampled for every training declaration, judged, ranked, filtered.

Reads: the arm's generator, the judge, the previous arm's index, benchmarks (to leave out what says a test query's
words). Writes: `artifacts/queries/<arm>.parquet` and `<arm>-dropped.parquet`, each dropped row with its reason.
"""

from __future__ import annotations

import logging
import shutil

import pandas as pd

from lean_finder.audit.filter import drop_leaks
from lean_finder.errors import InputError
from lean_finder.generation.models import load_generator
from lean_finder.generation.sample import SamplingSettings, generate_queries
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.generators import generator_folder, load_ranker, prompts, query_decoding
from lean_finder.pipeline.hidden import hidden_side
from lean_finder.pipeline.judges import load_judge
from lean_finder.pipeline.provenance import model_name
from lean_finder.storage import write_table
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Sample with the arm's generator; finished shards survive a kill."""
    tracked.input(paths.generator(arm), "generator")
    corpus = load_corpus(params.corpus.renderer)
    generator = load_generator(generator_folder(arm), paths.BASE_GENERATOR)
    shards = paths.checkpoints("queries", arm)
    kept, counts, dropped = generate_queries(
        generator,
        prompts(params, corpus, generator.tokenizer),
        sampling_settings(params, arm),
        arm=arm,
        model=model_name(arm),
        seed=params.seed,
        judge=load_judge(params, corpus),
        ranker=load_ranker(params.arms[arm].prev, corpus.renderer),
        shard_dir=shards,
    )
    clean, leaks = drop_leaks(kept, hidden_side(params), role="generated_queries", name=arm)
    counts |= {"kept": len(clean), "leak": len(leaks)}
    dropped = pd.concat(
        [dropped, leaks.assign(reason=[f"leak: {check}" for check in leaks["check"]])], ignore_index=True
    )
    told = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
    if clean.empty:
        raise InputError(f"queries of {arm}", f"none was kept: {told}", "look at generator.sampling and the judge")
    write_table(paths.queries(arm), clean)
    write_table(paths.dropped(arm), dropped)
    shutil.rmtree(shards, ignore_errors=True)
    tracked.metrics(counts)
    tracked.metrics({"rank_prev.median": clean["rank_prev"].median(), "tokens.median": clean["n_tokens"].median()})
    tracked.output(paths.queries(arm))
    logger.info("%s", told)


def sampling_settings(params: Params, arm: str) -> SamplingSettings:
    """How the queries of an arm are drawn and which are kept."""
    sampling = params.generator.sampling
    return SamplingSettings(
        decoding=query_decoding(params),
        samples=sampling.samples,
        keep=sampling.keep,
        batch_size=sampling.batch_size,
        # An arm without a consistency reward must show what queries without a judge do to a retriever.
        require_consistent=params.arms[arm].reward != "difficulty",
    )
