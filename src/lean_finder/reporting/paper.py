"""The published figures of Lean Finder V2 for the arms that it reports, found by what an arm is, not by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Claim:
    """One published figure.

    Attributes:
        queries: "short" or "long".
        metric: key of `evaluation.metrics.METRICS`.
        value: as printed.
        source: where in the paper.
        setting: model and test set behind it.
    """

    queries: str
    metric: str
    value: float
    source: str
    setting: str


_SHORT = "8B, MathlibQR-810"
_LONG = "8B, 2,526 long queries"


def _short(source: str, ndcg_at_1: float, recall_at_10: float | None = None) -> tuple[Claim, ...]:
    claims = (Claim("short", "ndcg_at_1", ndcg_at_1, source, _SHORT),)
    if recall_at_10 is None:
        return claims
    return (*claims, Claim("short", "recall_at_10", recall_at_10, source, _SHORT))


#: (round, reward, generator) -> its figures, for arms whose earlier rounds are the paper's main line.
_CLAIMS = {
    (0, "", ""): _short("round 0", 0.463, 0.760),
    (1, "difficulty", "rl"): _short("Table 7", 0.453),
    (1, "consistency", "rl"): _short("Table 7", 0.463, 0.780),
    (1, "both", "rl"): _short("Table 7", 0.520, 0.842),
    (2, "both", "base"): _short("Table 9", 0.469),
    (2, "both", "sft"): _short("Table 9", 0.473),
    (2, "both", "reuse"): _short("Table 9", 0.515),
    (2, "both", "rl"): (
        *_short("Tables 1 and 9", 0.558, 0.893),
        Claim("long", "ndcg_at_10", 0.749, "Table 2", _LONG),
        Claim("long", "recall_at_10", 0.919, "Table 2", _LONG),
    ),
}


def claims_of(name: str, arms: Mapping[str, Mapping[str, Any]]) -> tuple[Claim, ...]:
    """The paper's figures for an arm; none if the paper has no such arm.

    Args:
        name: r0 or an arm.
        arms: name -> prev, reward, generator, of all arms.
    """
    chain = lineage(name, arms)
    if chain[0] != "r0":
        return ()
    earlier = chain[1:-1]
    if any((arms[item]["reward"], arms[item]["generator"]) != ("both", "rl") for item in earlier):
        return ()
    own = arms.get(name, {"reward": "", "generator": ""})
    return _CLAIMS.get((len(chain) - 1, own["reward"], own["generator"]), ())


def lineage(name: str, arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """An arm with its predecessors, first first; a circle ends where it closes."""
    chain = [name]
    while chain[0] in arms and arms[chain[0]]["prev"] not in chain:
        chain.insert(0, str(arms[chain[0]]["prev"]))
    return chain
