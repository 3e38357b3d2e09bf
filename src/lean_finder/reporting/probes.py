"""What training did to a generator: its probes, which differ by the weights alone (see `generation/probe.py`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lean_finder.evaluation.statistics import bootstrap_means
from lean_finder.generation.reward import RewardSettings
from lean_finder.reporting.formatting import GAP, interval, number, signed_interval

#: Measures of a sample, each 0 where it cannot be: see `_measures`.
MEASURES = ("reward", "consistent", "hard_and_consistent")

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ProbeTable:
    """The probes of all arms in words: `rows` under `header`, and a note that says what they are."""

    note: str
    header: list[str]
    rows: list[list[str]]


def describe_probes(probes: Sequence[Mapping[str, Any]], reward: RewardSettings, seed: int) -> dict[str, Any] | None:
    """Every measure at every probe, its slope per step and its gain from first to last, with 95 % intervals.

    Intervals are bootstrapped by declaration over the same samples, so slopes and gains are paired. `log2_rank` is of
    the consistent queries alone, which are others at each probe: its intervals are not paired.

    Args:
        probes: of `history.json`, in order of their steps.
        reward: names the rank up to which a query is easy.
        seed: of the bootstrap.

    Returns:
        None if fewer than two probes were taken.
    """
    if len(probes) < 2:
        return None
    steps = np.array([probe["step"] for probe in probes], dtype=np.float64)
    names = [sample["declaration"] for sample in probes[0]["samples"]]
    values = np.stack([_measures(probe["samples"], reward) for probe in probes])  # (probes, samples, measures)
    centred = steps - steps.mean()
    slopes = np.einsum("p,psm->sm", centred / (centred**2).sum(), values)  # least squares, sample by sample
    made = {
        "slope": bootstrap_means(slopes, names, seed=seed),
        "gained": bootstrap_means(values[-1] - values[0], names, seed=seed),
    }
    return {
        "steps": [int(step) for step in steps],
        "samples": len(names),
        "declarations": len(set(names)),
        "means": {name: values[:, :, at].mean(axis=1).tolist() for at, name in enumerate(MEASURES)},
        "log2_rank": [_log2_rank(probe["samples"], seed) for probe in probes],
        **{key: {name: found[at].to_json() for at, name in enumerate(MEASURES)} for key, found in made.items()},
    }


def probe_table(results: Mapping[str, Any]) -> ProbeTable | None:
    """First and last probe of every arm with what training gained; None if no arm has probes."""
    probes = {row["arm"]: row["probes"] for row in results["generators"] if row.get("probes")}
    if not probes:
        return None
    about = next(iter(probes.values()))
    note = (
        f"Before and after training, on the same {about['declarations']} training declarations with the same random "
        f"numbers: {about['samples']} queries, ranks by the previous retriever, 95 % intervals by declaration. Hard is "
        "a rank that the reward does not call easy."
    )
    header = ["arm", "reward", "gained", "slope a step", "consistent", "gained", "consistent and hard", "gained"]
    header.append("log2 rank of the consistent")
    return ProbeTable(note, header, [_row(arm, found) for arm, found in probes.items()])


def _row(arm: str, probes: Mapping[str, Any]) -> list[str]:
    cells = [arm]
    for measure, means in probes["means"].items():
        cells += [f"{number(means[0])} → {number(means[-1])}", signed_interval(probes["gained"][measure])]
        if measure == "reward":
            cells.append(signed_interval(probes["slope"][measure], 4))
    ends = [probes["log2_rank"][0], probes["log2_rank"][-1]]
    cells.append(" → ".join(interval(end, 2) if end else GAP for end in ends))
    return cells


def _measures(samples: Sequence[Mapping[str, Any]], reward: RewardSettings) -> Matrix:
    """Per sample (n, measures): its reward, whether it was judged consistent, and whether it is hard as well."""
    rows = []
    for sample in samples:
        consistent = bool(sample["consistent"])
        hard = sample["rank"] is not None and sample["rank"] > reward.easy_rank
        rows.append([sample["reward"] or 0.0, consistent, consistent and hard])
    return np.array(rows, dtype=np.float64)


def _log2_rank(samples: Sequence[Mapping[str, Any]], seed: int) -> dict[str, float] | None:
    """Mean log2 rank of the consistent queries, with its interval; None if there are none."""
    kept = [sample for sample in samples if sample["consistent"] and sample["rank"]]
    if not kept:
        return None
    ranks = np.array([[math.log2(sample["rank"])] for sample in kept])
    [interval] = bootstrap_means(ranks, [sample["declaration"] for sample in kept], seed=seed)
    return interval.to_json()
