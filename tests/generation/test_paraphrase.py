"""Guards the rule-made long queries of round 0. Alone: pytest tests/generation/test_paraphrase.py"""

from __future__ import annotations

import pandas as pd
import pytest

from lean_finder.corpus.symbols import written_form
from lean_finder.errors import InputError
from lean_finder.generation.paraphrase import first_sentence, paraphrases, verbalise
from lean_finder.generation.rewording import claim_in_latex, rename_variables
from lean_finder.records import Declaration, Pair, columns, to_frame

VIEWS = ["docstring", "first_sentence", "informal", "name", "verbal"]


def rows(*declarations: Declaration) -> pd.DataFrame:
    return paraphrases(to_frame(Declaration, declarations), VIEWS)


def test_every_view_meets_the_right_document() -> None:
    frame = rows(
        Declaration(
            "Nat.add_comm", "theorem", "M", 1, "(a b : ℕ) : a + b = b + a", docstring="Sums commute.\nEven of naturals."
        )
    )
    assert list(frame.columns) == columns(Pair)
    views = frame.set_index("style")
    assert views["document_view"].to_dict() == {
        "docstring": "formal",
        "first_sentence": "formal",
        "name": "nameless",
        "verbal": "full",
    }
    assert views.loc["docstring", "query"] == "Sums commute. Even of naturals."
    assert views.loc["first_sentence", "query"] == "Sums commute."
    assert views.loc["name", "query"] == "nat add comm"
    assert views.loc["verbal", "query"] == "a b of type natural numbers : a plus b equals b plus a"
    assert set(frame["arm"]) == {"r0"} and set(frame["source"]) == {"paraphrase"} and frame["query_id"].is_unique
    assert views.loc["name", "model"] == "rule:name"


def test_a_view_that_repeats_or_says_nothing_gives_no_row() -> None:
    frame = rows(Declaration("foo", "def", "M", 1, "", docstring="Foo", informal="foo"))
    assert frame["style"].tolist() == ["docstring"]
    bare = rows(Declaration("fooBar", "def", "M", 1, ": ℕ"))
    assert bare["style"].tolist() == ["name", "verbal"]


def test_statements_in_other_words() -> None:
    item = Declaration(
        "foo", "theorem", "M", 1, "{x₁ y : ℕ} (hs : x₁ ∈ s) : ∑ i ∈ s, f i = x₁⁻¹ * y ^ 2 ∧ Finset.card s ≤ 3"
    )
    frame = paraphrases(to_frame(Declaration, [item]), ["renamed", "latex"]).set_index("style")
    renamed = "{y₁ z : ℕ} (hs : y₁ ∈ t) : ∑ j ∈ t, g j = y₁⁻¹ * z ^ 2 ∧ Finset.card t ≤ 3"
    assert frame.loc["renamed", "query"] == renamed
    assert frame.loc["latex", "query"] == (r"$\sum i \in s, f i = x_1^{-1} * y ^ 2 \land \mathrm{Finset.card} s \le 3$")
    assert frame["document_view"].to_dict() == {"renamed": "formal", "latex": "full"}
    # In the written form of documents and queries the LaTeX query is the claim itself.
    assert written_form(r"$\sum i \in s, x^{-1} \land s \le 3$") == written_form("∑ i ∈ s, x⁻¹ ∧ s ≤ 3")
    assert rename_variables(": True") == claim_in_latex("(h : 1 ≤ 2) : True") == ""
    assert rename_variables("(f : Nat.succ n → ofNat) : f.comp g'") == "(g : Nat.succ i → ofNat) : g.comp h'"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("Only one.", ""),
        ("See e.g. the below. Next.", "See e.g. the below."),
        ("Is it? Yes.", "Is it?"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("signature", "spoken"),
    [
        ("a ≤ b ↔ ¬b < a", "a is at most b if and only if not b is less than a"),
        ("∃! x, f x = 0", "there is exactly one x f x equals 0"),
        ("(f : R →+* S)", "f of type R ring homomorphism to S"),
        ("Set.Finite s", "set finite s"),
        ("s ∪ tᶜ ⊆ u", "s union t complement is a subset of u"),
    ],
)
def test_verbalise(signature: str, spoken: str) -> None:
    assert verbalise(signature) == spoken


def test_longer_symbols_win_over_their_parts() -> None:
    assert "implies" not in verbalise("f : R →+* S") and "plus" not in verbalise("f : R →+* S")


def test_unusable_input_is_refused() -> None:
    with pytest.raises(InputError, match="unknown view 'poem'"):
        paraphrases(to_frame(Declaration, [Declaration("a", "def", "M", 1, "")]), ["poem"])
    with pytest.raises(InputError, match="any text"):
        paraphrases(to_frame(Declaration, []), VIEWS)
