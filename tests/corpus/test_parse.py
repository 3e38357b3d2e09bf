"""Guards what one file yields: names, kinds, lines, scopes, members. Run: pytest tests/corpus/test_parse.py"""

from __future__ import annotations

import pytest

from lean_finder.corpus.facts import FileFacts, RawDeclaration
from lean_finder.corpus.parse import TRUNCATED, parse_file


def parse(text: str) -> FileFacts:
    return parse_file(text, "Lib.File", "Lib/File.lean")


def one(text: str) -> RawDeclaration:
    found = parse(text).declarations
    assert len(found) == 1, found
    return found[0]


def names(text: str) -> list[tuple[str, str, int]]:
    return [(item.name, item.kind, item.line) for item in parse(text).declarations]


def test_name_kind_line_signature_and_doc() -> None:
    item = one(
        "/-- Doubling is even. -/\n@[simp, grind =]\nprotected theorem Nat.even_double\n"
        "    (n : Nat) : Even (n + n) := by\n  omega\n"
    )
    assert (item.name, item.kind, item.line) == ("Nat.even_double", "theorem", 3)
    assert item.signature == "(n : Nat) : Even (n + n)"
    assert item.docstring == "Doubling is even."
    assert item.attributes == ("simp", "grind =")
    assert item.visibility == "protected"


def test_attributes_on_their_own_lines_stay_with_the_declaration() -> None:
    item = one("@[simp]\n@[to_additive\n  (attr := ext) foo /-- Sum. -/]\nnoncomputable def bar : Nat := 1\n")
    assert item.attributes == ("simp", "to_additive (attr := ext) foo /-- Sum. -/")


def test_attribute_text_at_column_zero_is_no_command() -> None:
    item = one('@[to_additive (attr := simp,\ndeprecated other (since := "2025-01-01"))]\ndef bar : Nat := 1\n')
    assert item.name == "bar"
    assert len(item.attributes) == 1


def test_namespaces_sections_and_root() -> None:
    text = (
        "namespace A.B\nsection S\ntheorem x : True := trivial\nend S\ntheorem _root_.y : True := trivial\nend A.B\n"
        "noncomputable section\ndef z : Nat := 0\nend\ndef w : Nat := 0\n"
    )
    assert [name for name, _, _ in names(text)] == ["A.B.x", "y", "z", "w"]
    assert parse(text).problems == []


def test_wrong_and_missing_ends_are_reported_and_cost_nothing() -> None:
    facts = parse("namespace A\nend B\ntheorem x : True := trivial\n")
    assert [item.name for item in facts.declarations] == ["A.x"]
    assert [problem.line for problem in facts.problems] == [2, 4]
    assert "never closed" in facts.problems[1].reason


@pytest.mark.parametrize(
    ("conclusion", "end"),
    [
        ("|x| ≤ 1", " := by simp"),
        ("let y := 2; y = 2", " := rfl"),
        ("∀ s : Set α, s = {z | z ∈ s}", " := by rfl"),
        ("(fun n : Nat => n) = id", "\n  | by_cases => rfl"),
        ("f = g", " where\n  aux := 1"),
    ],
)
def test_where_a_signature_ends(conclusion: str, end: str) -> None:
    item = one(f"theorem t (h : p := by trivial) :\n    {conclusion}{end}\n")
    assert item.signature == f"(h : p := by trivial) : {conclusion}"


def test_equations_end_a_signature_but_absolute_values_do_not() -> None:
    assert one("def f : Nat → Nat\n  | 0 => 1\n  | n + 1 => f n\n").signature == ": Nat → Nat"
    assert one("theorem t :\n    |a + b|\n    ≤ |a| + |b| := foo\n").signature == ": |a + b| ≤ |a| + |b|"


def test_variables_that_are_used_come_along() -> None:
    text = (
        "variable {G H : Type*} [Group G] [Group H] (f : G → H) (unused : Nat)\n"
        "theorem t : f 1 = f 1 := rfl\nvariable (G) in\ntheorem u : (1 : G) = 1 := rfl\n"
        "theorem v (x : G) : x = x := rfl\n"
        "omit [Group G] in\ntheorem w (x : G) : x = x := rfl\n"
    )
    t, u, v, w = parse(text).declarations
    assert t.variables == "{G H : Type*} [Group G] [Group H] (f : G → H)"
    assert u.variables == "(G : Type*) [Group G]"
    assert v.variables == "{G : Type*} [Group G]"
    assert w.variables == "{G : Type*}"


def test_include_forces_a_variable_until_its_section_ends() -> None:
    text = "section\nvariable (h : p)\ninclude h\ntheorem a : q := r\nend\nvariable (h : p)\ntheorem b : q := r\n"
    a, b = parse(text).declarations
    assert a.variables == "(h : p)"
    assert b.variables == ""


def test_structure_members() -> None:
    text = (
        "structure Pt (α : Type*) extends A α, B.C α, α ≃ α where\n  mk' ::\n  /-- Abscissa. -/\n  x : α\n"
        "/-- Far left. -/\n  y {n : Nat} (m) : x = x\n  protected z : α := x\n  x := 3\n  (u v : α)\n"
    )
    found = [(item.name, item.kind, item.line, item.signature) for item in parse(text).declarations[1:]]
    assert found[:3] == [
        ("Pt.toA", "projection", 1, ": A α"),
        ("Pt.toC", "projection", 1, ": B.C α"),
        ("Pt.to", "projection", 1, ": α ≃ α"),
    ]
    assert found[3:] == [
        ("Pt.mk'", "constructor", 2, ""),
        ("Pt.x", "field", 4, ": α"),
        ("Pt.y", "field", 6, "{n : Nat} (m) : x = x"),
        ("Pt.z", "field", 7, ": α"),
        ("Pt.u", "field", 9, ": α"),
        ("Pt.v", "field", 9, ": α"),
    ]
    docs = {item.name: item.docstring for item in parse(text).declarations}
    assert docs["Pt.x"] == "Abscissa."
    assert docs["Pt.y"] == "Far left."


def test_inductive_members_and_deriving() -> None:
    facts = parse(
        "inductive T (α) : Type\n  | leaf\n  | /-- Two. -/ node (l r : T α) : T α\nderiving DecidableEq, Repr\n"
    )
    assert [(item.name, item.kind) for item in facts.declarations] == [
        ("T", "inductive"),
        ("T.leaf", "constructor"),
        ("T.node", "constructor"),
        ("", "instance"),
        ("", "instance"),
    ]
    assert facts.declarations[2].docstring == "Two."


def test_an_inductive_type_without_constructors() -> None:
    assert names("inductive Empty' : Type\n\ntheorem t : True := trivial\n") == [
        ("Empty'", "inductive", 1),
        ("t", "theorem", 3),
    ]


def test_class_forms() -> None:
    assert names("class abbrev Foo (α) := A α, B α\n")[0] == ("Foo", "class", 1)
    assert names("class inductive Bar : Prop\n  | a\n") == [("Bar", "class", 1), ("Bar.a", "constructor", 2)]


def test_instances_with_and_without_a_name() -> None:
    text = "instance : A B := x\ninstance (priority := low) foo : A C := x\ninstance {α} [D α] : A α where\n  f := 1\n"
    assert [(item.name, item.signature) for item in parse(text).declarations] == [
        ("", ": A B"),
        ("foo", ": A C"),
        ("", "{α} [D α] : A α"),
    ]


def test_aliases_in_all_forms() -> None:
    text = (
        'namespace N\nalias a := X.b\n@[deprecated (since := "2024-01-02")] alias ⟨c, d⟩ :=\n  X.iff\n'
        "alias ⟨_, e⟩ := f\n"
    )
    found = [(item.declaration.name, item.target, item.side, item.declaration.line) for item in parse(text).aliases]
    assert found == [
        ("N.a", "X.b", "", 2),
        ("N.c", "X.iff", "mp", 3),
        ("N.d", "X.iff", "mpr", 3),
        ("N.e", "f", "mpr", 5),
    ]


def test_quoted_and_unicode_names() -> None:
    assert one("theorem «my name».«in» : True := trivial\n").name == "my name.in"
    assert one("theorem ℓ₂.norm_σ' : True := trivial\n").name == "ℓ₂.norm_σ'"


def test_text_of_macros_is_no_declaration() -> None:
    facts = parse(
        'macro "x" : command => `(\n  theorem $n : True := trivial\n  namespace $n\n  end $n)\ndef y : Nat := 1\n'
    )
    assert [item.name for item in facts.declarations] == ["y"]
    assert facts.problems == []


def test_indented_declarations_are_found() -> None:
    assert [
        name for name, _, _ in names("namespace A\n  theorem x : True := by\n    trivial\n  def y : Nat := 1\nend A\n")
    ] == ["A.x", "A.y"]


def test_a_cut_declaration_is_reported() -> None:
    facts = parse("theorem a : True := trivial\ntheorem b (x : Nat) : x =\n")
    assert [(problem.line, problem.reason) for problem in facts.problems] == [(2, TRUNCATED)]


def test_scoped_notation_and_mutual_blocks() -> None:
    facts = parse(
        'scoped[N] notation "ℝ∞" => Ext\nmutual\ninductive A\n  | a\ninductive B\n  | b\nend\ndef c : Nat := 1\n'
    )
    assert facts.notations == [('0 "ℝ∞"', "Ext")]
    assert [item.name for item in facts.declarations] == ["A", "A.a", "B", "B.b", "c"]
    assert facts.problems == []
