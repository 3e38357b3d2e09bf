"""Queries for a whole corpus: sampled in shards, judged, ranked, filtered, and every drop counted by its reason.

A shard is a fixed run of prompts, whoever computes it, so one machine and many give the same rows; a finished
shard is a file that a restarted run does not compute again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from lean_finder.errors import InputError
from lean_finder.generation.decoding import DecodingSettings, sample_tokens, uniforms
from lean_finder.generation.models import Generator, merged_adapter
from lean_finder.generation.reward import Ranker, clean_query, count_tokens
from lean_finder.judging.consistency import Judge
from lean_finder.records import Pair, columns
from lean_finder.storage import read_json, read_table, write_json, write_table

logger = logging.getLogger(__name__)

#: Why a sampled query is not kept, in the order in which the reasons are tried.
DROP_REASONS = ("empty", "over_length", "name_inside", "duplicate", "judge_failed", "inconsistent", "surplus")
#: Columns beyond those of `records.Pair`: rank by the previous retriever, the judge's score, tokens of the generator.
EXTRA_COLUMNS = ("rank_prev", "judge_score", "n_tokens")


@dataclass(frozen=True)
class SamplingSettings:
    """How the queries of an arm are drawn and which are kept.

    Attributes:
        decoding: temperature, top_p, top_k, max_new_tokens.
        samples: queries drawn per declaration.
        keep: at most this many of them are kept, in the order drawn.
        batch_size: prompts per batch.
        shard_size: prompts per shard.
        require_consistent: drop what the judge calls inconsistent. Off for an arm that must show what happens
            without a judge: it is still asked, and its score stands in the table.
    """

    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    samples: int = 2
    keep: int = 2
    batch_size: int = 32
    shard_size: int = 256
    require_consistent: bool = True


def generate_queries(
    generator: Generator,
    prompts: pd.DataFrame,
    settings: SamplingSettings,
    *,
    arm: str,
    model: str,
    seed: int,
    judge: Judge,
    ranker: Ranker,
    shard_dir: Path,
) -> tuple[pd.DataFrame, dict[str, int], pd.DataFrame]:
    """Sample, judge, rank and filter the queries of one arm.

    Args:
        generator: the arm's.
        prompts: columns declaration, style and prompt, see `prompts.prompt_frame`.
        settings: how.
        arm: for the `arm` column and the ids.
        model: for the `model` column: first 12 hex digits of the generator's digest.
        seed: with the declaration's name and the sample's number it fixes a query.
        judge: decides what is consistent.
        ranker: of the previous retriever.
        shard_dir: finished shards; those of other inputs are discarded.

    Returns:
        The kept rows (columns of `records.Pair` and `EXTRA_COLUMNS`); counts: "sampled", "kept" and one per
        drop reason, which add up; and the dropped rows, with a column `reason` more.

    Raises:
        InputError: there are no prompts.
    """
    if prompts.empty:
        raise InputError("prompts", "there are no declarations to write queries for", "check the split")
    open_shards(shard_dir, prompts, settings, model, seed)
    starts = range(0, len(prompts), settings.shard_size)
    frames = []
    for number, start in enumerate(tqdm(starts, desc=f"queries of {arm}", unit="shard")):
        path = shard_path(shard_dir, number)
        if not path.is_file():
            rows = prompts.iloc[start : start + settings.shard_size]
            write_table(path, complete_shard(generator, rows, settings, seed, judge, ranker))
        frames.append(read_table(path))
    return filter_samples(pd.concat(frames, ignore_index=True), settings, arm=arm, model=model)


def shard_path(shard_dir: Path, number: int) -> Path:
    """The file of shard `number`."""
    return shard_dir / f"shard-{number:05d}.parquet"


def complete_shard(
    generator: Generator, prompts: pd.DataFrame, settings: SamplingSettings, seed: int, judge: Judge, ranker: Ranker
) -> pd.DataFrame:
    """All samples of a shard's prompts: declaration, style, sample, query, n_tokens, finished, consistent, judge_score,
    judge_failed, rank_prev. Queries that are empty or unfinished are neither judged nor ranked (rank 0, score NaN).
    """
    frame = sample_shard(generator, prompts, settings, seed)
    whole = frame.index[(frame["query"] != "") & frame["finished"]]
    queries, targets = frame.loc[whole, "query"].tolist(), frame.loc[whole, "declaration"].tolist()
    verdicts = judge.judge(queries, targets)
    frame["consistent"] = False
    frame["judge_score"] = float("nan")
    frame["judge_failed"] = False
    frame["rank_prev"] = 0
    frame.loc[whole, "consistent"] = [verdict is not None and verdict.consistent for verdict in verdicts]
    frame.loc[whole, "judge_score"] = [verdict.score if verdict else float("nan") for verdict in verdicts]
    frame.loc[whole, "judge_failed"] = [verdict is None for verdict in verdicts]
    frame.loc[whole, "rank_prev"] = ranker.ranks(queries, targets)
    return frame


def sample_shard(generator: Generator, prompts: pd.DataFrame, settings: SamplingSettings, seed: int) -> pd.DataFrame:
    """The raw samples: declaration, style, sample, query, n_tokens, finished; rows by prompt, then by sample."""
    token_ids = generator.tokenizer(prompts["prompt"].tolist(), add_special_tokens=False)["input_ids"]
    names, styles = prompts["declaration"].tolist(), prompts["style"].tolist()
    rows: dict[tuple[int, int], tuple[str, str, int, str, int, bool]] = {}
    end = generator.end_token_ids
    with merged_adapter(generator.model) as model:
        for batch in _batches([len(ids) for ids in token_ids], settings.batch_size):
            pairs = [(place, sample) for place in batch for sample in range(settings.samples)]
            completions = sample_tokens(
                model,
                [token_ids[place] for place in batch],
                [index for index in range(len(batch)) for _ in range(settings.samples)],
                uniforms(seed, [f"{names[p]}\0{sample}" for p, sample in pairs], settings.decoding.max_new_tokens),
                settings.decoding,
                end,
            )
            texts = generator.tokenizer.batch_decode(completions, skip_special_tokens=True)
            for (place, sample), ids, text in zip(pairs, completions, texts, strict=True):
                length = count_tokens(ids, end)
                query = clean_query(text)
                rows[place, sample] = (names[place], styles[place], sample, query, length, length < len(ids))
    ordered = [rows[key] for key in sorted(rows)]
    return pd.DataFrame(ordered, columns=["declaration", "style", "sample", "query", "n_tokens", "finished"])


def filter_samples(
    samples: pd.DataFrame, settings: SamplingSettings, *, arm: str, model: str
) -> tuple[pd.DataFrame, dict[str, int], pd.DataFrame]:
    """Keep or drop every sample of `complete_shard`; returns as `generate_queries` does."""
    seen: set[tuple[str, str]] = set()
    kept_of: dict[str, int] = {}
    reasons = []
    row: Any
    for row in samples.itertuples(index=False, name="Sample"):
        key = (row.declaration, row.query.casefold())
        reason = _drop_reason(row, key in seen, settings)
        if not reason and kept_of.get(row.declaration, 0) >= settings.keep:
            reason = "surplus"
        if not reason:
            kept_of[row.declaration] = kept_of.get(row.declaration, 0) + 1
        seen.add(key)
        reasons.append(reason)
    table = samples.assign(source="generated", arm=arm, model=model, document_view="full", reason=reasons)
    table["query_id"] = [f"{arm}-{number:06d}" for number in range(len(table))]
    order = [*columns(Pair), *EXTRA_COLUMNS]
    is_kept = table["reason"] == ""
    counts = {"sampled": len(table), "kept": int(is_kept.sum())}
    counts |= {reason: int((table["reason"] == reason).sum()) for reason in DROP_REASONS}
    kept = table.loc[is_kept, order].reset_index(drop=True)
    return kept, counts, table.loc[~is_kept, [*order, "reason"]].reset_index(drop=True)


def name_inside(name: str, query: str) -> bool:
    """The query gives the target away: it holds the full name, or a last component of two words or more, as a word."""
    last = name.rsplit(".", 1)[-1]
    telling = [name] + ([last] if re.search(r"_|[a-z][A-Z]", last) else [])
    return any(re.search(rf"(?<![\w.]){re.escape(word)}(?![\w'])", query, re.IGNORECASE) for word in telling)


def _drop_reason(row: Any, repeated: bool, settings: SamplingSettings) -> str:
    """The first reason in `DROP_REASONS` that applies to a row of `complete_shard`, "" if none but surplus might."""
    applies = {
        "empty": row.query == "",
        "over_length": not row.finished,
        "name_inside": name_inside(row.declaration, row.query),
        "duplicate": repeated,
        "judge_failed": row.judge_failed,
        "inconsistent": settings.require_consistent and not row.consistent,
    }
    return next((reason for reason in DROP_REASONS if applies.get(reason)), "")


def _batches(lengths: list[int], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of like length."""
    order = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def open_shards(shard_dir: Path, prompts: pd.DataFrame, settings: SamplingSettings, model: str, seed: int) -> None:
    """Make the shard folder this run's own: empty it if it belongs to other inputs."""
    fingerprint = _fingerprint(prompts, settings, model, seed)
    mark = shard_dir / "inputs.json"
    if mark.is_file():
        try:
            if read_json(mark) == {"fingerprint": fingerprint}:
                return
        except InputError:
            logger.warning("%s: damaged, the shards are made again", mark)
    if shard_dir.exists():
        logger.info("%s holds shards of other inputs; they are made again", shard_dir)
        shutil.rmtree(shard_dir)
    write_json(mark, {"fingerprint": fingerprint})


def _fingerprint(prompts: pd.DataFrame, settings: SamplingSettings, model: str, seed: int) -> str:
    digest = hashlib.sha256(prompts[["declaration", "style", "prompt"]].to_csv(index=False).encode())
    digest.update(json.dumps([asdict(settings), model, seed], sort_keys=True).encode())
    return digest.hexdigest()
