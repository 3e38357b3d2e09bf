"""Early stop of a policy that has stopped exploring or writing, with a message that says what collapsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CollapseSettings:
    """When a run counts as collapsed.

    Attributes:
        entropy_floor: nats per token; below it the policy repeats itself.
        max_zero_variance_share: share of groups whose rewards are all equal: nothing is learned from them.
        max_empty_share: share of empty queries.
        max_repeated_share: share of queries that repeat another one of the same step.
        patience: consecutive steps beyond a bound before training stops.
    """

    entropy_floor: float = 0.05
    max_zero_variance_share: float = 1.0
    max_empty_share: float = 0.5
    max_repeated_share: float = 0.8
    patience: int = 10


class CollapseWatch:
    """Counts, measure by measure, for how many steps in a row a bound has been broken."""

    def __init__(self, settings: CollapseSettings) -> None:
        self._settings = settings
        self._streaks: dict[str, int] = {}

    def update(self, row: Mapping[str, float]) -> str | None:
        """Take in one step's history row; the reason to stop, or None."""
        limits = self._settings
        queries = row.get("count_queries", 0)
        shares = {name: row.get(f"count_{name}", 0) / queries if queries else 0.0 for name in ("empty", "repeated")}
        groups = row.get("frac_reward_zero_std", 0.0)
        broken = {
            f"entropy {row.get('entropy', 0):.3f} nats is below {limits.entropy_floor}": row.get("entropy", 1e9)
            < limits.entropy_floor,
            f"{groups:.0%} of the groups have equal rewards": groups > limits.max_zero_variance_share,
            f"{shares['empty']:.0%} of the queries are empty": shares["empty"] > limits.max_empty_share,
            f"{shares['repeated']:.0%} of the queries are repeated": shares["repeated"] > limits.max_repeated_share,
        }
        for measure, (message, bad) in zip(("entropy", "groups", "empty", "repeated"), broken.items(), strict=True):
            self._streaks[measure] = self._streaks.get(measure, 0) + 1 if bad else 0
            if self._streaks[measure] >= limits.patience:
                return f"collapsed: {message}, for {self._streaks[measure]} steps in a row"
        return None
