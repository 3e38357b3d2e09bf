"""Types read as signatures, without changing their meaning. Run: pytest tests/corpus/importers/test_signatures.py"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lean_finder.corpus.importers.signatures import binders_beyond, peel_binders, signature_of_type


@pytest.mark.parametrize(
    ("type_", "signature"),
    [
        ("∀ (n m : ℕ), n + m = m + n", "(n m : ℕ) : n + m = m + n"),
        ("∀ {α : Type u}\n  [inst : Mul α] (a : α), a = a", "{α : Type u} [inst : Mul α] (a : α) : a = a"),
        ("{α : Type u} → [self : Op α] → α → α", "{α : Type u} [self : Op α] : α → α"),
        ("(n : ℕ) → Fin n → ℕ", "(n : ℕ) : Fin n → ℕ"),
        ("∀ {a : ℕ}, 0 < a → ∀ (b : ℕ), b = b", "{a : ℕ} : 0 < a → ∀ (b : ℕ), b = b"),
        ("∀ n, n = n", ": ∀ n, n = n"),
        ("(a + b) = c", ": (a + b) = c"),
        ("(ℕ → ℕ) → ℕ", ": (ℕ → ℕ) → ℕ"),
        ("∀ ⦃x : α⦄ (f : (n : ℕ) → P n), Q", "⦃x : α⦄ (f : (n : ℕ) → P n) : Q"),
        ("ℕ", ": ℕ"),
        ("", ""),
        ("∀ (n : ℕ", ": ∀ (n : ℕ"),
    ],
)
def test_signatures(type_: str, signature: str) -> None:
    assert signature_of_type(type_) == signature


@pytest.mark.parametrize(
    ("type_", "written", "beyond"),
    [
        ("∀ {α : Type u} [inst : Mul α] (a : α), a = a", "(a : α) : a = a", "{α : Type u} [inst : Mul α]"),
        ("∀ {α : Type u} [inst : Mul α] (a : α), a = a", "{α} [Mul α] (a : α) : a = a", ""),
        ("∀ {α : Type u} (s : Set α), s = s", "(s : Set α) : s = s", "{α : Type u}"),
        ("ℕ", ": ℕ", ""),
    ],
)
def test_section_variables_are_what_the_signature_does_not_show(type_: str, written: str, beyond: str) -> None:
    assert binders_beyond(type_, written) == beyond


@settings(max_examples=300, deadline=None)
@given(st.text("∀(){}[]⦃⦄:→, ab", max_size=40))
def test_nothing_is_lost_whatever_the_text(text: str) -> None:
    binders, rest = peel_binders(text)
    kept = "".join([*binders, rest]).replace(" ", "").replace("∀", "").replace("→", "").replace(",", "")
    original = text.replace(" ", "").replace("∀", "").replace("→", "").replace(",", "")
    assert kept == original
