"""Guards document and query texts: both sides meet in one written form. Run: pytest tests/corpus/test_render.py"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lean_finder.corpus.names import split_name, spoken_name
from lean_finder.corpus.render import RENDERERS, VIEWS, render, render_query
from lean_finder.corpus.symbols import latex_to_unicode, symbols_to_words, written_form
from lean_finder.errors import InputError
from lean_finder.records import Declaration

ITEM = Declaration(
    "Nat.sum_le_iSup",
    "lemma",
    "L.A",
    1,
    "(s : Finset ι) : ∑ i ∈ s, f i ≤ ⨆ i, g i",
    variables="{f : ι → ℕ}",
    docstring="The sum $\\sum f$ is small.",
    informal="Sums are bounded.",
)


@pytest.mark.parametrize("renderer", list(RENDERERS))
def test_the_formal_view_has_no_prose_and_the_full_view_has_all(renderer: str) -> None:
    full, formal = render(ITEM, renderer), render(ITEM, renderer, view="formal")
    assert "bounded" in full and "small" in full
    assert "bounded" not in formal and "small" not in formal
    assert "Finset" in formal


@pytest.mark.parametrize("renderer", list(RENDERERS))
def test_the_nameless_view_keeps_the_statement_alone(renderer: str) -> None:
    text = render(ITEM, renderer, view="nameless").lower()
    assert "finset" in text
    assert not any(word in text for word in ("nat.sum", "nat sum", "small", "bounded"))


def test_plain_text_is_fixed() -> None:
    assert render(ITEM, "plain-v1") == (
        "theorem nat sum le i sup\nThe sum sum f is small.\nSums are bounded.\n"
        "{f : iota to nat} (s : Finset iota) : sum i mem s, f i le iSup i, g i"
    )


def test_the_claim_comes_first_and_instances_last() -> None:
    assert render(ITEM, "claim-v1", "formal") == (
        "theorem nat sum le i sup\nsum i mem s, f i le iSup i, g i (s : Finset iota) {f : iota to nat}"
    )
    monoid = Declaration("M.mul_one", "theorem", "L.A", 1, "[Monoid M] {n : ℕ} (a : M) : a * 1 = a", "{M : Type*}")
    assert render(monoid, "claim-v1").split("\n")[1] == "a * 1 = a (a : M) {n : nat} [Monoid M]"


@pytest.mark.parametrize(
    ("signature", "written"),
    [
        ("(M : Type u) extends Semigroup M, One M", "extends Semigroup M, One M"),
        (": 1 + 1 = 2", "1 + 1 = 2"),
        ("(f : α → Type*) (s : Set α)", "(f : alpha to Type*) (s : Set alpha)"),
        ("", ""),
        ("(h : p", "(h : p"),
    ],
)
def test_a_claim_is_found_in_every_kind_of_signature(signature: str, written: str) -> None:
    assert render(Declaration("A", "class", "L.A", 1, signature), "claim-v1") == f"class a\n{written}"


def test_unknown_renderers_and_views_are_refused() -> None:
    with pytest.raises(InputError, match="plain-v1"):
        render(ITEM, "plain-v0")
    with pytest.raises(InputError, match="formal"):
        render(ITEM, "plain-v1", view="half")
    assert VIEWS == ("full", "formal", "nameless")


def test_compatibility_queries_are_left_as_typed() -> None:
    text = "$\\sum_i a_i$ is ≤ 1"
    assert render_query(text, "leanfinder-v1") == text
    assert render_query(text, "leansearch-v2").endswith(f"Query: {text}")
    assert render(ITEM, "leansearch-v2").startswith("Represent the following mathematical theorem in lean repository")


@pytest.mark.parametrize(
    ("latex", "unicode"),
    [
        ("$\\forall x \\in \\mathbb{R}, x^2 \\geq 0$", "∀ x ∈ ℝ, x² ≥ 0"),
        ("\\frac{a}{b} \\to \\infty", "(a) / (b) → ∞"),
        ("$A \\subseteq B \\cup C$", "A ⊆ B ∪ C"),
        ("$\\lVert f \\rVert \\le \\varepsilon$", "‖f‖ ≤ ε"),
        ("$x^{-1} \\cdot y \\neq 1$", "x⁻¹ · y ≠ 1"),
        ("$\\sup_{i} \\alpha_i$", "sup _ i α_i"),
        ("$f \\circ g \\iff \\neg p \\land q$", "f ∘ g ↔ ¬ p ∧ q"),
        ("$A^{\\top}$", "Aᵀ"),
        ("$\\mathcal{F} \\otimes \\operatorname{Hom}(V)$", "F ⊗ Hom(V)"),
    ],
)
def test_latex_and_unicode_meet(latex: str, unicode: str) -> None:
    def bare(text: str) -> list[str]:
        return (
            written_form(text)
            .replace("(", " ")
            .replace(")", " ")
            .replace("_", " ")
            .replace("^", " ")
            .replace("{", " ")
            .replace("}", " ")
            .split()
        )

    assert bare(latex) == bare(unicode)


@given(st.text(max_size=100))
def test_the_written_form_is_stable_and_single_spaced(text: str) -> None:
    once = symbols_to_words(text)
    assert "  " not in once and once == once.strip()


def test_prose_is_left_alone() -> None:
    text = "every bounded sequence has a convergent subsequence"
    assert written_form(text) == text == latex_to_unicode(text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Nat.add_comm", "nat add comm"),
        ("IsCompact.exists_isMinOn", "is compact exists is min on"),
        ("MeasureTheory.L2", "measure theory l 2"),
        ("iSup_le_iff", "i sup le iff"),
        ("CategoryTheory.HasLimits", "category theory has limits"),
        ("ENNReal.toReal", "enn real to real"),
        ("α.β", "α β"),
    ],
)
def test_names_as_words(name: str, words: str) -> None:
    assert " ".join(split_name(name)) == words


def test_short_forms_are_spoken() -> None:
    assert spoken_name("mul_le_iff") == "multiply less or equal if and only if"
