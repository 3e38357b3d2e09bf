"""Guards names that only the whole library decides: instances, twins, aliases, attributes' lemmas.

Run: pytest tests/corpus/test_resolve.py"""

from __future__ import annotations

import pytest

from lean_finder.corpus.parse import parse_file
from lean_finder.corpus.resolve import Resolver
from lean_finder.records import Declaration


def resolve(*texts: str) -> dict[str, Declaration]:
    files = [parse_file(text, f"Lib.F{at}", f"Lib/F{at}.lean") for at, text in enumerate(texts)]
    return {item.name: item for item in Resolver(files).run()}


BASE = (
    "class Magma (α : Type*) where\n  op : α → α → α\nclass Monoid (α : Type*) extends Magma α where\n  e : α\n"
    "class Act (M α : Type*) [Monoid M] where\n  act : M → α → α\n"
    "structure Map (σ : R → S) (A B : Type*) where\n  toFun : A → B\n"
    'def Ident.id (R : Type*) : R → R := fun x => x\nnotation:25 A " ⟹[" R "] " B => Map (Ident.id R) A B\n'
    "structure Sub (G : Type*) where\n  carrier : Set G\ninstance : SetLike (Sub G) G where\n"
    "  coe := Sub.carrier\nabbrev IsNice (α : Type*) : Prop := True\n"
)


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        ("instance : Magma Nat := x", "instMagmaNat"),
        ("namespace Map\ninstance {A : Type*} : Magma (A ⟹[A] A) := x", "Map.instMagmaId"),
        ("instance {A : Type*} : Magma (A ⟹[A] A) := x", "instMagmaMapId"),
        ("instance {α : Type*} [Monoid α] [IsNice α] : Magma (List α) := x", "instMagmaListOfMonoidOfIsNice"),
        ("instance {M α : Type*} [Monoid M] [Act M α] [IsNice α] : Act M (α × α) := x", "instActProdOfIsNice"),
        ("instance {ι : Type*} {f : ι → Type*} [∀ i, Monoid (f i)] : Magma (∀ i, f i) := x", "instMagmaForallOfMonoid"),
        ("instance {α β : Type*} : Magma (α → β) := x", "instMagmaForall"),
        ("instance {G : Type*} (H : Sub G) : Magma H := x", "instMagmaSubtypeMemSub"),
        ("instance : Magma (Fin 2) := x", "instMagmaFinOfNatNat"),
        ("instance (n : Nat) : Magma Int := x", "instMagmaIntOfNat"),
        ("def Foo (α : Type*) := α\nderiving Magma", "instMagmaFoo"),
        ("variable (R : Type*)\ndef Baz := R\n  deriving Magma, Act R", "instActBaz"),
        ("instance : Inhabited Nat := x", "instInhabitedNat_lib"),
    ],
)
def test_anonymous_instances_get_leans_name(declaration: str, name: str) -> None:
    found = resolve(BASE, declaration)
    assert name in found, sorted(item for item in found if "inst" in item)
    assert found[name].is_instance


def test_two_instances_of_one_name_are_numbered() -> None:
    found = resolve(BASE, "instance : Magma Nat := x\n", "instance : Magma Nat := y\n")
    assert found["instMagmaNat"].module == "Lib.F1"
    assert found["instMagmaNat_1"].module == "Lib.F2"


def test_parents_in_notation() -> None:
    found = resolve('infixr:25 " ≃≃ " => Match\nstructure Iso (A B : Type*) extends A ≃≃ B where\n  h : True\n')
    assert found["Iso.toMatch"].generated_by == "Iso"


def test_twins_have_translated_name_statement_and_own_doc() -> None:
    text = (
        "class Mul (α) where\n  mul : α → α → α\nnamespace MulThing\n/-- Product. -/\n"
        "@[to_additive (attr := simp) /-- Sum. -/]\n"
        "theorem mul_inv_one {G : Type*} (a b : G) : (a * b)⁻¹ = a ^ 2 * 1 := x\n"
        "@[to_additive existing]\ntheorem mul_old : p := x\n"
        "theorem _root_.AddThing.add_old : p := x\n@[to_additive self]\ntheorem both : p := x\nend MulThing\n"
        "insert_to_additive_translation MulThing AddThing\n"
    )
    found = resolve(text)
    twin = found["AddThing.add_neg_zero"]
    assert twin.signature == "{G : Type*} (a b : G) : -(a + b) = 2 • a + 0"
    assert (twin.docstring, twin.origin, twin.generated_by) == ("Sum.", "to_additive", "MulThing.mul_inv_one")
    assert twin.attributes == ("simp",)
    assert sum("both" in name for name in found) == 1
    assert found["AddThing.add_old"].origin == "source"


def test_a_twin_can_be_translated_again() -> None:
    found = resolve("@[to_additive (attr := to_additive vadd_comp) smul_comp]\ntheorem pow_comp : a ^ n = b := x\n")
    assert {"pow_comp", "smul_comp", "vadd_comp"} <= found.keys()
    assert found["vadd_comp"].generated_by == "smul_comp"


def test_dual_twins_swap_order() -> None:
    found = resolve("@[to_dual]\ntheorem le_sup_left (a b : α) : a ≤ a ⊔ b := x\n")
    assert found["le_inf_left"].signature == "(a b : α) : a ≥ a ⊓ b"


def test_aliases_take_their_targets_statement() -> None:
    text = (
        "namespace N\ntheorem lt_iff (a b : Nat) : a < b ↔ a + 1 ≤ b := x\nalias ⟨succ_le, of_succ_le⟩ := lt_iff\n"
        '@[deprecated (since := "2025-03-04")] alias old := lt_iff\n'
        '@[deprecated lt_iff (since := "2025-03-05")]\ntheorem older : p := x\nend N\n'
    )
    found = resolve(text)
    assert found["N.succ_le"].signature == "(a b : Nat) : a < b → a + 1 ≤ b"
    assert found["N.of_succ_le"].signature == "(a b : Nat) : a + 1 ≤ b → a < b"
    assert (found["N.old"].deprecated, found["N.old"].deprecated_since, found["N.old"].replacement) == (
        True,
        "2025-03-04",
        "N.lt_iff",
    )
    assert found["N.older"].replacement == "N.lt_iff"


def test_lemmas_that_attributes_make() -> None:
    text = (
        "@[ext]\nstructure Pair (α : Type*) where\n  fst : α\n  snd : α\n@[mk_iff]\n"
        "class IsFine (n : Nat) : Prop where\n  pos : 0 < n\n  odd : Odd n\n"
        "@[reassoc (attr := simp), elementwise]\ntheorem w (f : X ⟶ Y) : f ≫ g = h := x\n"
        "@[simps! -isSimp apply coe_sub]\ndef eq : Nat := 0\n"
        "irreducible_def opq : Nat := 3\n@[ext]\ntheorem Fn.ext {f g : Fn} (h : ∀ x, f x = g x) : f = g := x\n"
    )
    found = resolve(text)
    assert (
        found["Pair.ext"].signature == "{α : Type*} {x y : Pair α} (fst : x.fst = y.fst) (snd : x.snd = y.snd) : x = y"
    )
    assert found["Pair.ext_iff"].signature.endswith(": x = y ↔ x.fst = y.fst ∧ x.snd = y.snd")
    assert found["isFine_iff"].signature == "{n : Nat} : IsFine n ↔ (0 < n) ∧ (Odd n)"
    assert found["w_assoc"].signature == "(f : X ⟶ Y) {Z : _} (h : _ ⟶ Z) : f ≫ g ≫ h = h ≫ h"
    assert {"w_apply", "eq_apply", "eq_coe_sub", "opq_def"} <= found.keys()
    assert found["Fn.ext_iff"].signature == "{f g : Fn} : f = g ↔ (∀ x, f x = g x)"
    assert found["eq_apply"].generated_by == "eq"


def test_later_attributes_docs_and_exports_reach_their_declaration() -> None:
    text = (
        "class C (α) where\n  pt : α\nexport C (pt)\ndef d : Nat := 1\n"
        "attribute [instance, simp] d\n/-- Added later. -/\nadd_decl_doc d\n"
    )
    found = resolve(text)
    assert found["d"].is_instance and found["d"].attributes == ("instance", "simp")
    assert found["d"].docstring == "Added later."
    assert (found["pt"].origin, found["pt"].generated_by) == ("export", "C.pt")


def test_a_name_declared_twice_keeps_the_first() -> None:
    files = [
        parse_file("theorem t : a := x\n", "L.A", "L/A.lean"),
        parse_file("theorem t : b := x\n", "L.B", "L/B.lean"),
    ]
    resolver = Resolver(files)
    assert [(item.name, item.module) for item in resolver.run()] == [("t", "L.A")]
    assert [(problem.file, problem.line) for problem in resolver.problems] == [("L/B.lean", 1)]
    assert "declared twice" in resolver.problems[0].reason
