"""Query generators as stages use them: prompts, the reward's parts, and the name that a generator's queries carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lean_finder.corpus.render import render_query
from lean_finder.generation.decoding import DecodingSettings
from lean_finder.generation.prompts import prompt_frame, style_pair_frame, style_weights
from lean_finder.generation.ranker import IndexRanker
from lean_finder.generation.reward import RewardSettings
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus
from lean_finder.pipeline.sets import prompt_declarations, style_queries, supervised_pairs
from lean_finder.records import Declaration, StyleQuery, from_frame, to_frame
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.storage import atomic_path, dvc_md5, read_json, write_json

_POINTER = "same_as.json"


def prompts(params: Params, corpus: Corpus, tokenizer: Any) -> pd.DataFrame:
    """One prompt for each training target: columns declaration, style, prompt."""
    chosen = prompt_declarations(corpus, params.generator.declarations, params.seed)
    declarations = to_frame(Declaration, [corpus.by_name[name] for name in chosen])
    return prompt_frame(
        declarations, style_mix(params, corpus), tokenizer, params.generator.max_prompt_tokens, params.seed
    )


def style_mix(params: Params, corpus: Corpus) -> dict[str, float]:
    """How often each style occurs among the real queries that a generator learns from."""
    return style_weights(_supervised(params, corpus))


def supervised(params: Params, corpus: Corpus, tokenizer: Any) -> pd.DataFrame:
    """Real queries with their prompts: columns declaration, style, prompt, query."""
    declarations = to_frame(Declaration, corpus.declarations)
    return style_pair_frame(_supervised(params, corpus), declarations, tokenizer, params.generator.max_prompt_tokens)


def reward_settings(params: Params, mode: str) -> RewardSettings:
    """The reward of an arm."""
    return RewardSettings(mode=mode, **params.generator.reward.model_dump())  # type: ignore[arg-type]


def query_decoding(params: Params) -> DecodingSettings:
    """How the queries of an arm are drawn."""
    sampling = params.generator.sampling
    return DecodingSettings(
        temperature=sampling.temperature, top_p=sampling.top_p, max_new_tokens=params.generator.max_new_tokens
    )


def generator_folder(arm: str) -> Path:
    """The folder of an arm's generator, pointers followed."""
    folder = paths.generator(arm)
    while (folder / _POINTER).is_file():
        folder = Path(read_json(folder / _POINTER)["same_as"])
    return folder


def point_to(source: Path, out: Path) -> None:
    """Write a generator folder that says "the same as `source`", with the hash of what that was."""
    with atomic_path(out) as scratch:
        scratch.mkdir()
        write_json(scratch / _POINTER, {"same_as": str(source), "md5": dvc_md5(source)})


def inputs_digest(prev: str) -> str:
    """What a reward rests on: a checkpoint of another reward must not be resumed."""
    return " ".join(dvc_md5(path) for path in (paths.retriever(prev), paths.index(prev), paths.JUDGE))


def load_ranker(arm: str, renderer: str) -> IndexRanker:
    """Ranks by an arm's retriever over the whole corpus."""
    return IndexRanker(load_retriever(arm, renderer))


def load_retriever(arm: str, renderer: str) -> DenseRetriever:
    """An arm's retriever over its index, queries brought to the renderer's written form."""
    return DenseRetriever(
        Encoder.load(paths.retriever(arm)), DenseIndex.load(paths.index(arm)), QueryRendering(renderer)
    )


class QueryRendering:
    """`render_query` with its renderer fixed; a class, because rewards are pickled."""

    def __init__(self, renderer: str) -> None:
        self._renderer = renderer

    def __call__(self, text: str) -> str:
        return render_query(text, self._renderer)


def _supervised(params: Params, corpus: Corpus) -> list[StyleQuery]:
    return from_frame(StyleQuery, supervised_pairs(style_queries(Path(params.data.style)), corpus))
