"""Guards the encoder judge and the vote. Alone: pytest tests/judging/test_consistency.py"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lean_finder.judging.consistency import EncoderJudge, Judge, Verdict, VoteJudge

_WORDS = ["sum", "product", "continuous", "monotone"]


def encode(texts: list[str]) -> np.ndarray:
    """Unit vectors of word counts over four words."""
    counts = np.array([[text.count(word) for word in _WORDS] for text in texts], dtype=np.float32) + 1e-6
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_threshold_separates_and_documents_are_encoded_once() -> None:
    documents = {"a": "sum of continuous", "b": "product of monotone"}
    encoded: list[str] = []

    def encode_documents(texts: list[str]) -> np.ndarray:
        encoded.extend(texts)
        return encode(texts)

    judge = EncoderJudge(encode, encode_documents, documents.__getitem__, threshold=0.9)
    queries = ["continuous sum", "monotone sum", "monotone product"]
    verdicts = judge.judge(queries, ["a", "a", "b"])
    assert [verdict.consistent for verdict in verdicts if verdict] == [True, False, True]
    assert [verdict.score for verdict in verdicts if verdict] == pytest.approx([1.0, 0.5, 1.0], abs=1e-4)
    judge.judge(["sum"], ["a"])
    assert encoded == ["sum of continuous", "product of monotone"]
    assert judge.judge([], []) == []


class Fixed:
    """A judge that gives the same answer to every pair."""

    cost = 1.0

    def __init__(self, answer: bool | None) -> None:
        self._answer = answer

    def judge(self, queries: Sequence[str], declarations: Sequence[str]) -> list[Verdict | None]:
        return [None if self._answer is None else Verdict(self._answer, float(self._answer)) for _ in queries]


@pytest.mark.parametrize(
    ("votes", "needed", "expected"),
    [
        ([True, True], 2, True),
        ([True, False], 2, False),
        ([True, False], 1, True),
        ([True, None], 2, None),
        ([False, None], 2, False),
        ([True, None], 1, True),
        ([None, None], 1, None),
    ],
)
def test_vote_counts_and_never_guesses_a_missing_vote(
    votes: list[bool | None], needed: int, expected: bool | None
) -> None:
    judges: list[Judge] = [Fixed(vote) for vote in votes]
    jury = VoteJudge(judges, needed)
    [verdict] = jury.judge(["q"], ["d"])
    assert (verdict.consistent if verdict else None) is expected
    assert jury.cost == len(votes)


def test_vote_needs_a_possible_majority() -> None:
    with pytest.raises(ValueError, match="needed must be 1 to 1"):
        VoteJudge([Fixed(True)], 2)
