"""Guards the name guesser of to_additive and to_dual. Run: pytest tests/corpus/test_translate.py"""

from __future__ import annotations

import pytest

from lean_finder.corpus.syntax import split_commas
from lean_finder.corpus.translate import NameTranslator, Translation, guess_part, parse_translation, split_case


def test_words_of_a_name() -> None:
    assert split_case("InvHMulLEConjugate₂SMul_ne_top") == [
        "Inv",
        "HMul",
        "LE",
        "Conjugate₂",
        "SMul",
        "_",
        "ne",
        "_",
        "top",
    ]


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("mul_comm'", "add_comm'"),
        ("one_le_mul", "nonneg_add"),
        ("MonoidHom", "AddMonoidHom"),
        ("prod_mul_distrib", "sum_add_distrib"),
        ("mulSupport", "support"),
        ("instSMul", "instVAdd"),
        ("orderOf_pow", "addOrderOf_nsmul"),
        ("isOfFinOrder_inv_iff", "isOfFinAddOrder_neg_iff"),
        ("mul_lt_one", "add_neg"),
        ("CancelCommMonoid", "AddCancelCommMonoid"),
        ("eventuallyLE_one", "eventuallyLE_zero"),
    ],
)
def test_additive_names(name: str, twin: str) -> None:
    assert guess_part(name, "to_additive") == twin


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("le_sup_left", "le_inf_left"),
        ("bddAbove_Ici", "bddBelow_Iic"),
        ("WellFoundedLT", "WellFoundedGT"),
        ("isGLB", "isLUB"),
    ],
)
def test_dual_names_go_both_ways(name: str, twin: str) -> None:
    assert guess_part(name, "to_dual") == twin
    assert guess_part(twin, "to_dual") == name


def test_parts_of_an_attribute() -> None:
    found = parse_translation(
        "to_additive (attr := simp, norm_cast) (reorder := 1 2) existing foo /-- Doc. -/", split_commas
    )
    assert found == Translation("to_additive", "foo", "existing", "Doc.", ("simp", "norm_cast"))
    dated = parse_translation(
        'to_additive (attr := deprecated A.b (since := "2026-01-15"), simps (config := (rhs := (no)))) "Doc (of it)."',
        split_commas,
    )
    passed = ('deprecated A.b (since := "2026-01-15")', "simps (config := (rhs := (no)))")
    assert dated == Translation("to_additive", "", "", "Doc (of it).", passed)
    assert parse_translation("to_additive_ignore_args 1", split_commas) is None
    assert parse_translation("simp", split_commas) is None


def test_prefixes_are_translated_by_what_is_known() -> None:
    own = {"Group": Translation("to_additive"), "Group.inv_mul": Translation("to_additive")}
    translator = NameTranslator("to_additive", own, {"Coset": "AddCoset"})
    assert translator.target("Group.inv_mul", own["Group.inv_mul"]) == "AddGroup.neg_add"
    assert translator.target("Coset.one", Translation("to_additive")) == "AddCoset.zero"
    assert translator.target("Coset.one'", Translation("to_additive", "A.b")) == "A.b"
    assert translator.target("Other.mul", Translation("to_additive", "plus")) == "Other.plus"
