"""The consistency judge that params.yaml names: made once, used by calibration, reward and sampling."""

from __future__ import annotations

import numpy as np

from lean_finder.corpus.render import render_query
from lean_finder.errors import InputError
from lean_finder.judging.client import ChatClient, ClientSettings
from lean_finder.judging.consistency import EncoderJudge, Judge, VoteJudge
from lean_finder.judging.llm import LlmJudge
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus
from lean_finder.retrieval.encoder import Encoder
from lean_finder.storage import read_json


def load_judge(params: Params, corpus: Corpus) -> Judge:
    """The calibrated judge: a frozen encoder, a model behind an endpoint, or both together.

    Raises:
        InputError: not calibrated yet; or an LLM judge without `judge.base_url`.
    """
    if params.judge.kind == "llm":
        return llm_judge(params, corpus)
    encoder = encoder_judge(corpus, read_json(paths.JUDGE)["encoder"]["threshold"])
    return encoder if params.judge.kind == "encoder" else VoteJudge([encoder, llm_judge(params, corpus)], needed=2)


def encoder_judge(corpus: Corpus, threshold: float) -> EncoderJudge:
    """The frozen base encoder with a threshold; it has never seen a training pair of ours."""
    encoder = Encoder.load(paths.BASE_RETRIEVER)
    return EncoderJudge(RenderedQueries(encoder, corpus.renderer), encoder.encode_documents, corpus.text, threshold)


class RenderedQueries:
    """Queries -> vectors (n, dim), rendered first; a class, because judges are pickled."""

    def __init__(self, encoder: Encoder, renderer: str) -> None:
        self._encoder = encoder
        self._renderer = renderer

    def __call__(self, queries: list[str]) -> np.ndarray:
        return self._encoder.encode_queries([render_query(text, self._renderer) for text in queries])


def llm_judge(params: Params, corpus: Corpus) -> LlmJudge:
    """The judge behind the endpoint in params; the key comes from the environment."""
    judge = params.judge
    if not judge.base_url or not judge.model:
        raise InputError(
            "judge.base_url", f"judge.kind {judge.kind!r} needs an endpoint and a model", "name them in conf/"
        )
    settings = ClientSettings(
        base_url=judge.base_url,
        model=judge.model,
        key_variable=judge.key_variable,
        concurrency=judge.concurrency,
        budget_tokens=judge.budget_tokens,
    )
    return LlmJudge(ChatClient(settings, paths.JUDGE_CACHE), corpus.text)
