"""Guards the normal form of statements: what it must identify, what it must keep apart.

Run: pytest tests/corpus/test_statements.py"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lean_finder.corpus.statements import normal_form, shape, shingles, statement_key

SAME = [
    ("(a b : Nat) : a + b = b + a", "", "(x : Nat) (y : Nat) : x + y = y + x", ""),
    ("(a b : Nat) : a + b = b + a", "", ": ∀ x y : Nat, x + y = y + x", ""),
    ("(a b : Nat) : a + b = b + a", "", ": ∀ (x : ℕ) (y : ℕ), x + y = y + x", ""),
    ("(h : 0 < a) (k : a ∣ b) : b = b", "{a b : ℤ}", "{x y : Int} (d : x ∣ y) (p : 0 < x) : y = y", ""),
    ("(s : Finset α) : s = s", "{α : Type u}", "{β : Type*} {t : Finset β} : t = t", ""),
    ("(a b : ℕ) : a ≥ b", "", "(a b : ℕ) : b <= a", ""),
    ("(p q : Prop) : p -> q", "", "(p q : Prop) : p → q", ""),
    ("[Group G] (x : G) : x = x", "{G : Type*}", "{H : Type v} (y : H) [inst : Group H] : y = y", ""),
    ("(f : Nat → Nat) : (fun n => f n) = f", "", "(g : ℕ → ℕ) : (λ k ↦ g k) = g", ""),
    ("(s : Set α) : ∃ x ∈ s, x = x", "", "(u : Set α) : ∃ y ∈ u, y = y", ""),
]
DIFFERENT = [
    ("(a b : ℕ) : a < b", "(a b : ℕ) : a ≤ b"),
    ("(a b : ℕ) : a - b = a", "(a b : ℕ) : b - a = a"),
    ("(a : ℕ) : a = a", "(a : ℤ) : a = a"),
    ("(a b : ℕ) (h : a = b) : p a", "(a b : ℕ) (h : a ≠ b) : p a"),
    ("(f : ℕ → ℕ) : Injective f", "(f : ℕ → ℕ) : Surjective f"),
    (": ∀ x, ∃ y, r x y", ": ∃ y, ∀ x, r x y"),
]


@pytest.mark.parametrize(("left", "left_variables", "right", "right_variables"), SAME)
def test_one_statement_written_twice(left: str, left_variables: str, right: str, right_variables: str) -> None:
    assert normal_form(left, left_variables) == normal_form(right, right_variables)
    assert statement_key(left, left_variables) == statement_key(right, right_variables)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_neighbours_stay_apart(left: str, right: str) -> None:
    assert normal_form(left) != normal_form(right)


@given(st.permutations(["(h₁ : p a)", "(h₂ : q b a)", "(h₃ : r c)"]), st.permutations(["a", "b", "c"]))
def test_order_of_hypotheses_and_of_names_does_not_matter(hypotheses: list[str], names: list[str]) -> None:
    base = normal_form("(a b c : T) (h₁ : p a) (h₂ : q b a) (h₃ : r c) : s a b c")
    assert normal_form(f"({' '.join(names)} : T) {' '.join(hypotheses)} : s a b c") == base


@given(st.text(max_size=120))
def test_any_text_has_a_normal_form(text: str) -> None:
    assert normal_form(text, text) == normal_form(text, text)


def test_constants_can_be_resolved() -> None:
    assert "Set.Nonempty" in normal_form(
        "(s : Set α) : Nonempty s", resolve=lambda name: f"Set.{name}" if name == "Nonempty" else name
    )


def test_shape_forgets_constants_and_shingles_overlap() -> None:
    assert shape(normal_form("(a b : M) : mul a b = mul b a")) == shape(normal_form("(x y : A) : add x y = add y x"))
    assert shape(normal_form("(a b : M) : mul a b = mul b a")) != shape(normal_form("(x y : A) : add x y = add x y"))
    left, right = shingles(normal_form("(a b : ℕ) : a + b = b + a")), shingles(normal_form("(a b : ℕ) : a + b ≤ b + a"))
    assert 0.2 < len(left & right) / len(left | right) < 1
    assert shingles("a b") == {"a b"}
