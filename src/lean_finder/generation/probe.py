"""What a generator writes for the same declarations with the same random numbers, before, during and after training.

The mean reward of a training step moves with the declarations that the step happens to see, more than with what was
learned. A probe holds declarations and random numbers fixed, so that two of them differ by the weights alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lean_finder.generation.decoding import DecodingSettings
from lean_finder.generation.models import Generator
from lean_finder.generation.reward import RankReward
from lean_finder.generation.sample import SamplingSettings, sample_shard


@dataclass(frozen=True)
class ProbeSettings:
    """When and on what a probe is taken.

    Attributes:
        every: steps between probes; the first is taken before training, the last after it.
        declarations: drawn by seed from those that are trained on.
        samples: queries per declaration.
        decoding: how they are drawn: as an arm's queries are, not as in training, whose temperature is for exploring.
    """

    every: int
    declarations: int
    samples: int
    decoding: DecodingSettings


class Probe:
    """One run's probe.

    Args:
        prompts: columns declaration, style and prompt, see `prompts.prompt_frame`.
        settings: when and on what.
        reward: the run's own.
        seed: of the declarations and of the samples.
    """

    def __init__(self, prompts: pd.DataFrame, settings: ProbeSettings, reward: RankReward, seed: int) -> None:
        drawn = np.random.default_rng(seed).permutation(len(prompts))[: settings.declarations]
        self._every = settings.every
        self._prompts = prompts.iloc[sorted(drawn.tolist())]
        self._sampling = SamplingSettings(settings.decoding, samples=settings.samples)
        self._reward = reward
        self._seed = seed

    def is_due(self, step: int) -> bool:
        """Whether a probe is taken after `step` steps, 0 being before training; one after the last is taken anyway."""
        return step % self._every == 0

    def take(self, generator: Generator, step: int) -> dict[str, Any]:
        """The samples after `step` steps, JSON-ready: for each its declaration, rank, verdict and reward.

        A rank is null for an empty query; verdict and reward are null where the judge failed.
        """
        frame = sample_shard(generator, self._prompts, self._sampling, self._seed)
        names = frame["declaration"].tolist()
        scored = self._reward.score(frame["query"].tolist(), names, frame["n_tokens"].tolist())
        samples = [
            {
                "declaration": name,
                "rank": item.rank,
                "consistent": item.verdict.consistent if item.verdict else None,
                "reward": item.reward,
            }
            for name, item in zip(names, scored, strict=True)
        ]
        return {"step": step, "samples": samples}
