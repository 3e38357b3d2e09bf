"""Guards the robustness slices. Run: pytest tests/evaluation/test_robustness.py"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from lean_finder.evaluation.evaluate import rank_benchmark
from lean_finder.evaluation.robustness import (
    CHANGES,
    add_question_mark,
    add_typo,
    change_queries,
    measure_robustness,
    rename_variables,
    swap_notation,
    swap_spelling,
)
from lean_finder.records import BenchmarkQuery
from lean_finder.retrieval.lexical import LexicalRetriever


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (rename_variables, "a pair `f a ≤ b ↔ a ≤ g b`", "a pair `g b ≤ c ↔ b ≤ h c`"),
        (rename_variables, r"$\le a \cdot x_n$ for a", r"$\le b \cdot y_p$ for a"),
        (rename_variables, "`IsCompact s` and `Nat.add n m`", "`IsCompact t` and `Nat.add p n`"),
        (rename_variables, "`x_n = n`", "`x_n = p`"),
        (rename_variables, "a lemma about sums", "a lemma about sums"),
        (swap_notation, r"$a \sqcup b \le c$", "$a ⊔ b ≤ c$"),
        (swap_notation, "a ⊔ b ≤ c", r"a \sqcup b \le c"),
        (swap_notation, r"\mathbb{R} stays", r"\mathbb{R} stays"),
        (swap_notation, "no symbols", "no symbols"),
        (swap_spelling, "Neighbourhood of the center", "Neighborhood of the centre"),
        (swap_spelling, "normalised stabilizer", "normalized stabiliser"),
        (swap_spelling, "compact set", "compact set"),
        (add_question_mark, "is it compact ", "is it compact?"),
        (add_question_mark, "is it compact?", "is it compact?"),
        (add_typo, "`IsCompact image` of a set", "`IsCompact image` of a set"),
    ],
)
def test_changes(change: Callable[[str], str], text: str, expected: str) -> None:
    assert change(text) == expected


def test_a_typo_exchanges_two_inner_letters() -> None:
    text = "image of a compact set"
    changed = add_typo(text)
    differing = [at for at, (old, new) in enumerate(zip(text, changed, strict=True)) if old != new]
    assert len(differing) == 2 and differing[1] == differing[0] + 1
    assert sorted(changed) == sorted(text) and add_typo(text) == changed
    word = changed.split()[[old != new for old, new in zip(text.split(), changed.split(), strict=True)].index(True)]
    assert word[0] in "ic" and word[-1] in "et"


def test_only_changed_queries_are_measured_against_their_own_answers() -> None:
    names = ["closure", "sup", "other"]
    texts = ["the neighborhood of a center", "a ⊔ b", "nothing alike"]
    retriever = LexicalRetriever.build(names, texts, corpus="")
    queries = [
        BenchmarkQuery("1", "neighborhood center", "closure", "natural"),
        BenchmarkQuery("2", "⊔", "sup", "lean"),
        BenchmarkQuery("3", "nothing alike?", "other", "natural"),
    ]
    rankings = rank_benchmark(retriever, queries, {})
    slices = measure_robustness(retriever, queries, rankings, {})
    assert slices.keys() == CHANGES.keys()
    assert slices["variables_renamed"] == {"queries": 0}
    # BM25 over these texts knows neither the British spelling nor the LaTeX command.
    for change, count in (("spelling_swapped", 1), ("notation_swapped", 1)):
        assert slices[change]["queries"] == count
        assert slices[change]["metrics"]["ndcg_at_10"]["a"] == 1.0
        assert slices[change]["metrics"]["ndcg_at_10"]["effect"]["value"] < -0.3
    assert slices["question_mark"]["queries"] == 2
    assert slices["question_mark"]["metrics"]["ndcg_at_10"]["effect"]["value"] == 0.0


def test_ids_are_kept() -> None:
    queries: Sequence[BenchmarkQuery] = [BenchmarkQuery("7", "compact", "x", "natural", "Hard", "def")]
    assert change_queries(queries, "question_mark") == [BenchmarkQuery("7", "compact?", "x", "natural", "Hard", "def")]
