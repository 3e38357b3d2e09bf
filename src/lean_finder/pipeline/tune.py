"""A search over settings of the retriever or the generator, judged on validation alone. No stage: it changes nothing.

Reads: what the stage it searches for reads, behind the same audit, and the validation queries (audited as a search
set). Writes: the study `artifacts/tuning/studies.sqlite`, which a killed or second process goes on with, and
`artifacts/tuning/<study>.json`. The winner is a change of parameters that a person applies.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from lean_finder.errors import InputError
from lean_finder.evaluation.metrics import METRICS, metric_matrix
from lean_finder.generation.grpo import train_generator
from lean_finder.generation.models import load_generator
from lean_finder.generation.prompts import prompt_frame
from lean_finder.generation.reward import RankReward, query_reward
from lean_finder.generation.sample import complete_shard
from lean_finder.params import ChoiceParams, Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.generate import sampling_settings
from lean_finder.pipeline.generators import (
    generator_folder,
    load_ranker,
    prompts,
    reward_settings,
    style_mix,
    supervised,
)
from lean_finder.pipeline.judges import load_judge
from lean_finder.pipeline.negatives import usable_negatives
from lean_finder.pipeline.sets import validation_names
from lean_finder.pipeline.train_generator import grpo_settings
from lean_finder.pipeline.train_retriever import training_settings
from lean_finder.pipeline.training_pairs import query_files, require_passed, training_pairs
from lean_finder.pipeline.validation import training_validation
from lean_finder.records import Declaration, to_frame
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.exact import exact_ranks
from lean_finder.retrieval.training import train_retriever
from lean_finder.storage import dvc_md5, write_json
from lean_finder.tracking import StageRun, nested_run
from lean_finder.tuning import Dimension, Pruned, Report, Setting, Study, report, search, summarise, trials_of

logger = logging.getLogger(__name__)

Subject = Literal["retriever", "generator"]

#: Preliminary values per trial, the final one included.
_LOOKS = 4


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Search for the settings of `arm`: "retriever" or "generator"."""
    if arm not in ("retriever", "generator"):
        raise InputError(arm or "tune", "nothing to search for", "retriever or generator")
    subject: Subject = "retriever" if arm == "retriever" else "generator"
    require_passed(params.tuning.arm)
    for path in _inputs(params, subject):
        tracked.input(path, "search")
    study = make_study(params, subject)
    logger.info("study %s in %s", study.name, study.file)
    jobs = [_Job(params, subject, study, tracked.run_id, number) for number in range(params.tuning.workers)]
    if len(jobs) == 1:
        _work(jobs[0])
    else:
        context = multiprocessing.get_context("spawn")  # forking a process that has run torch may deadlock
        with ProcessPoolExecutor(len(jobs), mp_context=context) as pool:
            list(pool.map(_work, jobs))
    trials = trials_of(study)
    summary = summarise(study, trials, params.seed)
    write_json(paths.tuning(study.name), summary)
    tracked.metrics({"trials": len(trials), "best": summary["best"]["value"], "present": summary["present"]["value"]})
    tracked.artifact(paths.tuning(study.name))
    logger.info("%s", report(summary))


def make_study(params: Params, subject: Subject) -> Study:
    """The study that the parameters describe; its name changes with everything that a trial's value rests on."""
    space = {item.key: _dimension(item) for item in getattr(params.tuning, subject)}
    # Negatives are mined before the search: a trial with another window or renderer would train on the same ones.
    mining = subject == "retriever" and params.retriever.hard_negatives is not None
    fixed_keys = [key for key in space if key.startswith("retriever.hard_negatives")]
    fixed_keys += [key for key in space if mining and not key.startswith("retriever.")]
    if fixed_keys:
        raise InputError("tuning", f"{fixed_keys[0]} does not change what was mined", "take it out of tuning.retriever")
    values = params.model_dump()
    present = {key: _value(values, key) for key in space}
    fixed = with_settings(params, dict.fromkeys(space, 0), checked=False)
    for name in ("trials", "workers"):
        fixed["tuning"].pop(name)
    rests_on = [fixed, *(dvc_md5(path) for path in _inputs(params, subject))]
    digest = hashlib.sha256(json.dumps(rests_on, sort_keys=True).encode()).hexdigest()[:8]
    name = f"{subject}-{params.tuning.arm}-{params.scale}-{digest}"
    return Study(name, paths.STUDIES, space, present, params.tuning.trials, params.seed)


def with_settings(params: Params, settings: Mapping[str, Setting], *, checked: bool = True) -> Any:
    """The parameters with some values replaced, as `Params`; as a plain mapping if not `checked`.

    Raises:
        InputError: no such parameter, or a value that it may not have.
    """
    values = params.model_dump()
    for key, value in settings.items():
        _value(values, key)
        *parents, last = key.split(".")
        section = values
        for parent in parents:
            section = section[parent]
        section[last] = value
    if not checked:
        return values
    try:
        return Params.model_validate(values)
    except ValueError as error:
        raise InputError("tuning", " ".join(str(error).split())[:300], "narrow the space") from error


@dataclass(frozen=True)
class _Job:
    """One worker's part of a search: plain values, because workers are processes of their own."""

    params: Params
    subject: Subject
    study: Study
    parent_run: str
    number: int


def _work(job: _Job) -> None:
    params = job.params
    torch.set_num_threads(max(1, params.threads // params.tuning.workers))
    corpus = load_corpus(params.corpus.renderer)
    value = {"retriever": _try_retriever, "generator": _try_generator}[job.subject]

    def objective(settings: Mapping[str, Setting], number: int, tell: Report) -> Sequence[float]:
        tags = {"study": job.study.name, "stage": "tune", "scale": params.scale}
        with nested_run(job.parent_run, f"{job.study.name}/{number}", tags, settings) as tracked:

            def told(preliminary: float, step: int) -> None:
                tracked.metrics({"preliminary": preliminary}, step)
                tell(preliminary, step)

            pruned: Pruned | None = None
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    values = value(with_settings(params, settings), corpus, Path(scratch) / "model", told)
                tracked.metrics({"value": sum(values) / len(values)})
            except Pruned as reason:  # a run that ended well, but early
                tracked.tag("pruned", str(reason))
                pruned = reason
        if pruned is not None:
            raise pruned
        return values

    search(job.study, objective, job.number)


def _try_retriever(params: Params, corpus: Corpus, out: Path, tell: Report) -> list[float]:
    """nDCG@10 of each validation query after training on the arm's pairs."""
    settings = replace(training_settings(params), validate_every=max(1, -(-params.retriever.steps // _LOOKS)))
    validation = training_validation(params, corpus, params.tuning.documents or len(corpus.names))

    def log(figures: Mapping[str, float], step: int) -> None:
        if step and "validation_ndcg_at_10" in figures:
            tell(figures["validation_ndcg_at_10"], step)

    pairs = training_pairs(params.tuning.arm, corpus)
    train_retriever(
        paths.BASE_RETRIEVER,
        pairs,
        corpus.text,
        corpus.family_of,
        settings,
        out,
        log,
        validation=validation,
        hard_negatives=usable_negatives(params.tuning.arm, pairs, corpus),
    )
    encoder = Encoder.load(out)
    ranks = exact_ranks(
        encoder.encode_queries(validation.queries),
        encoder.encode_documents(validation.documents),
        np.asarray(validation.golds, dtype=np.int64),
    )
    return [float(value) for value in metric_matrix(ranks.tolist())[:, METRICS.index("ndcg_at_10")]]


def _try_generator(params: Params, corpus: Corpus, out: Path, tell: Report) -> list[float]:
    """Mean reward of the queries that the trained generator writes for each of some validation declarations."""
    arm = params.tuning.arm
    if arm not in params.arms:
        raise InputError("tuning.arm", f"{arm!r} has no generator to train", f"one of {', '.join(params.arms)}")
    prev = params.arms[arm].prev
    start = generator_folder(prev)
    generator = load_generator(start, paths.BASE_GENERATOR)
    ranker, judge = load_ranker(prev, corpus.renderer), load_judge(params, corpus)
    settings = reward_settings(params, params.arms[arm].reward)
    rewards: list[float] = []

    def log(figures: Mapping[str, float], step: int) -> None:
        rewards.append(figures["reward"])
        if step % max(1, params.generator.grpo.steps // _LOOKS) == 0:
            tell(sum(rewards) / len(rewards), step)

    train_generator(
        start,
        paths.BASE_GENERATOR,
        prompts(params, corpus, generator.tokenizer),
        supervised(params, corpus, generator.tokenizer),
        RankReward(ranker, judge, settings, generator.end_token_ids),
        replace(grpo_settings(params), probe=None),  # the trial's value is measured below, on validation
        out,
        log,
    )
    trained = load_generator(out, paths.BASE_GENERATOR)
    names = validation_names(corpus, params.tuning.declarations, params.seed)
    asked = prompt_frame(
        to_frame(Declaration, [corpus.by_name[name] for name in names]),
        style_mix(params, corpus),
        trained.tokenizer,
        params.generator.max_prompt_tokens,
        params.seed,
    )
    rows = complete_shard(trained, asked, sampling_settings(params, arm), params.seed, judge, ranker)
    scored = zip(rows["consistent"].tolist(), rows["rank_prev"].tolist(), rows["n_tokens"].tolist(), strict=True)
    rows["reward"] = [query_reward(bool(judged), rank or None, tokens, settings) for judged, rank, tokens in scored]
    return [float(value) for value in rows.groupby("declaration", sort=True)["reward"].mean()]


def _inputs(params: Params, subject: str) -> list[Path]:
    """What a study's values rest on, beside the parameters."""
    shared = [paths.DECLARATIONS, paths.SPLITS, Path(params.data.style)]
    arm = params.tuning.arm
    if subject == "retriever":
        return [*shared, paths.BASE_RETRIEVER, *query_files(arm), paths.negatives(arm)]
    if arm not in params.arms:
        raise InputError("tuning.arm", f"{arm!r} has no generator to train", f"one of {', '.join(params.arms)}")
    prev = params.arms[arm].prev
    return [*shared, paths.BASE_GENERATOR, paths.generator(prev), paths.retriever(prev), paths.index(prev), paths.JUDGE]


def _dimension(item: Any) -> Dimension:
    if isinstance(item, ChoiceParams):
        return Dimension(choices=tuple(item.choices))
    return Dimension(item.low, item.high, item.log)


def _value(values: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted parameter.

    Raises:
        InputError: there is no such parameter, or it is a whole section.
    """
    found: Any = values
    for part in key.split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise InputError("tuning", f"there is no parameter {key}", "see conf/ for the names")
        found = found[part]
    if isinstance(found, Mapping | list):
        raise InputError("tuning", f"{key} is no single value", "name one parameter")
    return found
