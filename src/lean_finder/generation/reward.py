"""The reward of a generated query: hard for the retriever, true to the declaration, short.

    r = max(0, j(q, d) * f_rank(k) - lambda * p_len(L))

(Lean Finder V2, section 2.2.) It is a product clipped at zero, so it must be one reward function: trl adds
several functions up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from lean_finder.judging.consistency import Judge, Verdict

Mode = Literal["both", "difficulty", "consistency"]


class Ranker(Protocol):
    """Where a retriever puts the target of a query among the whole corpus. Deterministic."""

    @property
    def cost(self) -> float:
        """Rough seconds per ranked query; the reward asks the cheaper of judge and ranker first."""

    def ranks(self, queries: list[str], targets: list[str]) -> list[int]:
        """1-based exact ranks, ties counted against the target; one per query, in order."""


@dataclass(frozen=True)
class RewardSettings:
    """Constants of the reward; the defaults are the paper's (section 2.2), for a corpus of Mathlib's size.

    Attributes:
        mode: "both" = the formula; "difficulty" puts j = 1, "consistency" puts f_rank = 1 (Table 7's arms).
        easy_rank: ranks up to this one earn nothing: the retriever knows the query already.
        full_rank: ranks beyond this one earn 1.
        lost_rank: ranks beyond this one earn nothing: the query is probably wrong.
        length_weight: lambda.
        length_start: tokens of the generator from which on a query loses points.
        length_full: tokens at which the penalty is complete.
        measure_all: judge and rank every query, also where the reward is settled without, so that consistency share and
            rank histogram speak of all queries. Costs time, changes no reward.
    """

    mode: Mode = "both"
    easy_rank: int = 5
    full_rank: int = 30
    lost_rank: int = 100
    length_weight: float = 0.15
    length_start: int = 40
    length_full: int = 50
    measure_all: bool = True


def rank_difficulty(rank: int | None, easy_rank: int = 5, full_rank: int = 30, lost_rank: int = 100) -> float:
    """f_rank(k): 0 for k <= easy, ln(k/easy)/ln(full/easy) up to full, 1 up to lost, 0 beyond or if absent.

    Example: rank_difficulty(15) = ln 3 / ln 6 = 0.613.
    """
    if rank is None or rank <= easy_rank or rank > lost_rank:
        return 0.0
    if rank > full_rank:
        return 1.0
    return math.log(rank / easy_rank) / math.log(full_rank / easy_rank)


def length_penalty(n_tokens: int, start: int = 40, full: int = 50) -> float:
    """p_len(L): 0 for L <= start, 1 for L >= full, linear between. Example: length_penalty(45) = 0.5."""
    return min(1.0, max(0.0, (n_tokens - start) / (full - start)))


def query_reward(consistent: bool, rank: int | None, n_tokens: int, settings: RewardSettings) -> float:
    """r = max(0, j f_rank(k) - lambda p_len(L)), with j or f_rank replaced by 1 in the one-sided modes."""
    gain = 1.0
    if settings.mode != "difficulty":
        gain *= float(consistent)
    if settings.mode != "consistency":
        gain *= rank_difficulty(rank, settings.easy_rank, settings.full_rank, settings.lost_rank)
    penalty = length_penalty(n_tokens, settings.length_start, settings.length_full)
    return max(0.0, gain - settings.length_weight * penalty)


def clean_query(text: str) -> str:
    """A completion as the query it stands for: on one line, without surrounding space."""
    return " ".join(text.split())


def count_tokens(token_ids: Sequence[int], end_token_ids: Sequence[int]) -> int:
    """L: tokens of a completion before its end token."""
    for position, token in enumerate(token_ids):
        if token in end_token_ids:
            return position
    return len(token_ids)


@dataclass(frozen=True)
class ScoredQuery:
    """All parts of one query's reward. None = not computed (skipped or, for `verdict`, failed).

    Attributes:
        rank: of the target, 1-based.
        verdict: the judge's.
        judge_failed: the judge was asked and could not decide.
        n_tokens: L.
        reward: r; None if it would need the verdict that failed.
    """

    rank: int | None
    verdict: Verdict | None
    judge_failed: bool
    n_tokens: int
    reward: float | None


class RankReward:
    """The reward as trl wants it: one picklable callable over a batch of completions.

    Needs the dataset column `declaration` (the target's full name). The part that costs less per query (`cost` of the
    judge and of the ranker) is computed first; where it already makes the reward zero the other is skipped and counted,
    unless `measure_all`. A failed judge gives None: trl leaves that row out of its group's statistics.
    An empty query is inconsistent by definition; nobody is asked.
    """

    def __init__(self, ranker: Ranker, judge: Judge, settings: RewardSettings, end_token_ids: Sequence[int]) -> None:
        self.__name__ = "rank_reward"
        self.ranker = ranker
        self.judge = judge
        self.settings = settings
        self.end_token_ids = tuple(end_token_ids)

    def __call__(
        self,
        *,
        completions: Sequence[str],
        completion_ids: Sequence[Sequence[int]],
        declaration: Sequence[str],
        log_metric: Callable[[str, float], None] | None = None,
        **_columns: Any,
    ) -> list[float | None]:
        """One reward per completion, or None where the judge failed. Parts go to `log_metric`."""
        queries = [clean_query(text) for text in completions]
        lengths = [count_tokens(ids, self.end_token_ids) for ids in completion_ids]
        scored = self.score(queries, list(declaration), lengths)
        if log_metric is not None:
            for name, value in reward_parts(queries, scored, self.settings).items():
                log_metric(name, value)
        return [item.reward for item in scored]

    def score(self, queries: list[str], targets: list[str], lengths: list[int]) -> list[ScoredQuery]:
        """Score queries against their targets; all lists have the same length."""
        asked = [index for index, query in enumerate(queries) if query]
        verdicts: dict[int, Verdict | None] = {}
        ranks: dict[int, int] = {}
        need_verdict = self.settings.measure_all or self.settings.mode != "difficulty"
        need_rank = self.settings.measure_all or self.settings.mode != "consistency"
        judge_first = self.judge.cost <= self.ranker.cost
        for step in ("judge", "rank") if judge_first else ("rank", "judge"):
            open_ = [index for index in asked if not self._settled(index, verdicts, ranks)]
            if step == "judge" and need_verdict:
                found = self.judge.judge([queries[i] for i in open_], [targets[i] for i in open_])
                verdicts.update(zip(open_, found, strict=True))
            if step == "rank" and need_rank:
                places = self.ranker.ranks([queries[i] for i in open_], [targets[i] for i in open_])
                ranks.update(zip(open_, places, strict=True))
        return [self._scored(index, queries[index], lengths[index], verdicts, ranks) for index in range(len(queries))]

    def _settled(self, index: int, verdicts: Mapping[int, Verdict | None], ranks: Mapping[int, int]) -> bool:
        """The reward of `index` is known to be zero, or lost, so that nothing more need be asked about it."""
        if self.settings.measure_all:
            return False
        if index in verdicts:
            verdict = verdicts[index]
            return verdict is None or not verdict.consistent
        return index in ranks and self._difficulty(ranks[index]) == 0.0

    def _difficulty(self, rank: int | None) -> float:
        return rank_difficulty(rank, self.settings.easy_rank, self.settings.full_rank, self.settings.lost_rank)

    def _scored(
        self, index: int, query: str, n_tokens: int, verdicts: Mapping[int, Verdict | None], ranks: Mapping[int, int]
    ) -> ScoredQuery:
        verdict, rank = verdicts.get(index), ranks.get(index)
        failed = index in verdicts and verdict is None
        if not query:
            return ScoredQuery(None, Verdict(False, 0.0), False, n_tokens, 0.0)
        if failed and self.settings.mode != "difficulty":
            return ScoredQuery(rank, None, True, n_tokens, None)
        consistent = verdict.consistent if verdict is not None else False
        return ScoredQuery(rank, verdict, failed, n_tokens, query_reward(consistent, rank, n_tokens, self.settings))


def rank_bands(settings: RewardSettings) -> dict[str, tuple[int, float]]:
    """The reward's rank bands as name -> (first rank, last rank), in order; the names are fixed."""
    return {
        "easy": (1, settings.easy_rank),
        "rising": (settings.easy_rank + 1, settings.full_rank),
        "full": (settings.full_rank + 1, settings.lost_rank),
        "lost": (settings.lost_rank + 1, math.inf),
    }


def reward_parts(queries: Sequence[str], scored: Sequence[ScoredQuery], settings: RewardSettings) -> dict[str, float]:
    """What a batch's reward is made of, for the log: counts are per batch, means are over what was computed.

    A mean over nothing is left out rather than reported as 0.
    """
    judged = [item.verdict.consistent for item in scored if item.verdict is not None]
    ranks = [item.rank for item in scored if item.rank is not None]
    rewards = [item.reward for item in scored if item.reward is not None]
    lengths = [item.n_tokens for item in scored]
    filled = [query for query in queries if query]
    parts: dict[str, float] = {
        "count/queries": len(scored),
        "count/empty": len(queries) - len(filled),
        "count/repeated": len(filled) - len(set(filled)),
        "count/judge_failed": sum(item.judge_failed for item in scored),
        "count/judge_skipped": sum(item.verdict is None and not item.judge_failed for item in scored),
        "count/rank_skipped": sum(item.rank is None for item in scored) - (len(queries) - len(filled)),
    }
    for band, (low, high) in rank_bands(settings).items():
        parts[f"ranks/{band}"] = sum(low <= rank <= high for rank in ranks)
    difficulty = [rank_difficulty(r, settings.easy_rank, settings.full_rank, settings.lost_rank) for r in ranks]
    penalty = [length_penalty(length, settings.length_start, settings.length_full) for length in lengths]
    means: dict[str, Sequence[float]] = {
        "part/consistency": judged,
        "part/difficulty": difficulty,
        "part/length": lengths,
        "part/length_penalty": penalty,
        "part/reward": rewards,
        "part/log2_rank": [math.log2(rank) for rank in ranks],
    }
    return parts | {name: float(sum(values)) / len(values) for name, values in means.items() if values}
