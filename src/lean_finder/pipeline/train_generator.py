"""The generator of one arm, trained by GRPO against the previous arm's retriever (section 2.2).

Reads: the previous arm's generator, retriever and index, the judge, style queries. Writes: `artifacts/generator/<arm>`
with its history; for an ablation that trains nothing (Table 9: base, sft, reuse), a pointer to the generator it uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from lean_finder.generation.decoding import DecodingSettings
from lean_finder.generation.grpo import GrpoSettings, train_generator
from lean_finder.generation.models import load_generator
from lean_finder.generation.probe import ProbeSettings
from lean_finder.generation.reward import RankReward
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.generators import (
    generator_folder,
    inputs_digest,
    load_ranker,
    point_to,
    prompts,
    query_decoding,
    reward_settings,
    supervised,
)
from lean_finder.pipeline.judges import load_judge
from lean_finder.pipeline.start_generator import lora
from lean_finder.pipeline.training_pairs import require_passed
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Train against `prev`, or point to the generator that the ablation names."""
    require_passed("r0")
    kind, prev = params.arms[arm].generator, params.arms[arm].prev
    if kind != "rl":
        source = {"base": paths.BASE_GENERATOR, "sft": paths.generator("r0"), "reuse": paths.generator(prev)}[kind]
        point_to(source, paths.generator(arm))
        tracked.output(paths.generator(arm))
        return
    for path, context in ((paths.generator(prev), "generator"), (paths.index(prev), "reward"), (paths.JUDGE, "reward")):
        tracked.input(path, context)
    corpus = load_corpus(params.corpus.renderer)
    start = generator_folder(prev)
    generator = load_generator(start, paths.BASE_GENERATOR)
    reward = RankReward(
        load_ranker(prev, corpus.renderer),
        load_judge(params, corpus),
        reward_settings(params, params.arms[arm].reward),
        generator.end_token_ids,
    )

    def log(figures: Mapping[str, float], step: int) -> None:
        tracked.metrics(figures, step)

    summary = train_generator(
        start,
        paths.BASE_GENERATOR,
        prompts(params, corpus, generator.tokenizer),
        supervised(params, corpus, generator.tokenizer),
        reward,
        grpo_settings(params),
        paths.generator(arm),
        log,
        checkpoints=paths.checkpoints("generator", arm),
        inputs_digest=inputs_digest(prev),
    )
    tracked.tag("stopped", str(summary.get("stopped", "")))
    tracked.output(paths.generator(arm))


def grpo_settings(params: Params) -> GrpoSettings:
    """How the generators are trained."""
    values = params.generator.grpo.model_dump()
    decoding = DecodingSettings(
        temperature=values.pop("temperature"),
        top_p=values.pop("top_p"),
        max_new_tokens=params.generator.max_new_tokens,
    )
    probe = ProbeSettings(
        every=values.pop("probe_every"),
        declarations=values.pop("probe_declarations"),
        samples=values.pop("probe_samples"),
        decoding=query_decoding(params),
    )
    return GrpoSettings(
        probe=probe if probe.every else None,
        seed=params.seed,
        decoding=decoding,
        lora=lora(params.generator.lora),
        max_query_tokens=params.generator.max_new_tokens,
        **values,
    )
