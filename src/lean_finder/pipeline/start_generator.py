"""Round 0's generator: the base model, supervised on queries in real users' style.

Reads: base generator, style queries, declarations, the audit of round 0. Writes: `artifacts/generator/r0`.
"""

from __future__ import annotations

from collections.abc import Mapping

from lean_finder.generation.models import LoraSettings, load_generator
from lean_finder.generation.sft import SftSettings, supervised_start
from lean_finder.params import LoraParams, Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.generators import supervised
from lean_finder.pipeline.training_pairs import require_passed
from lean_finder.storage import atomic_path, write_json
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Train on (prompt, real query) pairs of training declarations."""
    require_passed("r0")
    corpus = load_corpus(params.corpus.renderer)
    tokenizer = load_generator(paths.BASE_GENERATOR, paths.BASE_GENERATOR).tokenizer
    pairs = supervised(params, corpus, tokenizer)
    curve: list[dict[str, float]] = []

    def log(figures: Mapping[str, float], step: int) -> None:
        tracked.metrics(figures, step)
        curve.append({"step": step, **figures})

    sft = params.generator.sft
    settings = SftSettings(
        seed=params.seed,
        max_query_tokens=params.generator.max_new_tokens,
        lora=lora(params.generator.lora),
        **sft.model_dump(),
    )
    with atomic_path(paths.generator("r0")) as out:
        summary = supervised_start(paths.BASE_GENERATOR, pairs, settings, out, log)
        write_json(out / "curve.json", curve)
    tracked.metrics({"pairs": len(pairs), **summary})
    tracked.output(paths.generator("r0"))


def lora(params: LoraParams) -> LoraSettings:
    """The adapter's shape as the generation package takes it."""
    return LoraSettings(rank=params.rank, alpha=params.alpha, target_modules=tuple(params.targets))
