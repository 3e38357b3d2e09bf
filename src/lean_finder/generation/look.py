"""What became of an arm's queries, row by row: reward, rank, verdict, and why a query was not kept."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from lean_finder.errors import InputError
from lean_finder.generation.reward import RewardSettings, query_reward
from lean_finder.generation.sample import EXTRA_COLUMNS
from lean_finder.records import Pair, columns

#: Sort key -> (column, whether the largest come first).
SORTS = {
    "reward": ("reward", True),
    "rank": ("rank_prev", True),
    "score": ("judge_score", True),
    "length": ("n_tokens", True),
}
#: Reasons that say nothing against a query's meaning.
_STILL_CONSISTENT = ("", "surplus", "duplicate")


def judged_queries(kept: pd.DataFrame, dropped: pd.DataFrame, settings: RewardSettings) -> pd.DataFrame:
    """Kept and dropped queries in one table with a column `reason` ("" = kept) and a column `reward`.

    A query that was never judged (empty, over length, judge failed) has no reward (NaN). A duplicate stands for
    its twin, whatever became of it.

    Args:
        kept: columns of `records.Pair` and `sample.EXTRA_COLUMNS`.
        dropped: the same and `reason`.
        settings: of the arm's reward.
    """
    wanted = [*columns(Pair), *EXTRA_COLUMNS, "reason"]
    table = pd.concat([kept.assign(reason="")[wanted], dropped[wanted]], ignore_index=True)
    rewards = []
    for reason, rank, n_tokens in zip(table["reason"], table["rank_prev"], table["n_tokens"], strict=True):
        consistent = reason in _STILL_CONSISTENT or str(reason).startswith("leak")
        was_judged = rank > 0 and reason != "judge_failed"
        rewards.append(query_reward(consistent, int(rank), int(n_tokens), settings) if was_judged else float("nan"))
    return table.assign(reward=rewards)


def pick(table: pd.DataFrame, *, sort: str, which: str, reverse: bool, n: int) -> pd.DataFrame:
    """The first n rows by a key; rows without the key's value come last, ties are broken by query id.

    Args:
        table: of `judged_queries`.
        sort: a key of `SORTS`.
        which: "kept", "dropped", "all", or one drop reason.
        reverse: the worst first.
        n: rows at most.

    Raises:
        InputError: an unknown key or reason.
    """
    if sort not in SORTS:
        raise InputError("--sort", f"unknown key {sort!r}", f"one of {', '.join(SORTS)}")
    reasons = table["reason"].str.split(":").str[0]
    choices: dict[str, Callable[[], pd.Series]] = {
        "all": lambda: pd.Series(True, index=table.index),
        "kept": lambda: reasons == "",
        "dropped": lambda: reasons != "",
    }
    known = sorted(set(reasons) - {""})
    if which not in choices and which not in known:
        raise InputError("--which", f"unknown choice {which!r}", f"kept, dropped, all, {', '.join(known)}")
    mask = choices[which]() if which in choices else reasons == which
    column, largest_first = SORTS[sort]
    ascending = largest_first == reverse
    ordered = table[mask].sort_values([column, "query_id"], ascending=[ascending, True], na_position="last")
    return ordered.head(n).reset_index(drop=True)
