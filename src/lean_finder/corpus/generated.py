"""Lemmas that attributes make: `ext`, `mk_iff`, `reassoc`, `elementwise`, `to_app`, `to_fun`, `simps`, and their like.

Each gets its name by the attribute's rule (Lean core and Mathlib v4.28), the place of its source, and its
statement where the text of the source determines it ("" where only elaboration could tell). Of `simps` only
lemmas whose projections are listed in the attribute are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from lean_finder.corpus.facts import RawDeclaration
from lean_finder.corpus.syntax import Binder, plain_name, split_commas, split_signature, top_level
from lean_finder.corpus.translate import parse_translation

_HEAD = re.compile(r"[a-z_A-Z]\w*")
_PASSED = re.compile(r"\(\s*attr\s*:=\s*")
_ARGUMENTS = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")
_PARENT_KINDS = frozenset({"structure", "class"})

Rule = Callable[[RawDeclaration, str, Sequence[RawDeclaration]], Iterator[tuple[str, str]]]


def effective_attributes(raw: RawDeclaration) -> list[str]:
    """Attributes of a declaration, those passed on by `(attr := …)` included."""
    found = []
    for text in raw.attributes:
        found.append(text)
        translation = parse_translation(text, split_commas)
        if translation:
            found.extend(translation.passed)
        elif match := _PASSED.search(text):
            found.extend(split_commas(text[match.end() : text.rfind(")")]))
    return found


def generated_lemmas(raw: RawDeclaration, members: Sequence[RawDeclaration]) -> Iterator[RawDeclaration]:
    """Declarations that the attributes of `raw` make; `members` are its fields and projections if it is a structure."""
    if raw.kind == "irreducible_def":
        yield _made(raw, f"{raw.name}_def", "", "irreducible_def")
    for text in effective_attributes(raw):
        match = _HEAD.match(text)
        rule = _RULES.get(match.group()) if match else None
        if match and rule:
            for name, signature in rule(raw, text[match.end() :].strip(), members):
                yield _made(raw, name, signature, match.group())


def _made(raw: RawDeclaration, name: str, signature: str, origin: str) -> RawDeclaration:
    return raw._replace(
        name=name,
        kind="theorem",
        signature=signature,
        variables=raw.variables if signature else "",
        docstring="",
        attributes=(),
        origin=origin,
        generated_by=raw.name,
    )


def _beside(name: str, change: Callable[[str], str]) -> str:
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}{change(last)}"


def _ext(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    with_iff = "iff := false" not in text
    if raw.kind in _PARENT_KINDS:
        head, type_ = _binders_and_type(raw)
        own = [member for member in members if member.kind in {"field", "projection"}]
        lasts = [member.name.rsplit(".", 1)[-1] for member in own]
        goal = f"{{x y : {type_}}}"
        hypotheses = " ".join(f"({last} : x.{last} = y.{last})" for last in lasts)
        yield f"{raw.name}.ext", f"{head} {goal} {hypotheses} : x = y".strip()
        if with_iff:
            equal = " ∧ ".join(f"x.{last} = y.{last}" for last in lasts) or "True"
            yield f"{raw.name}.ext_iff", f"{head} {goal} : x = y ↔ {equal}".strip()
    elif with_iff and raw.kind in {"theorem", "lemma"}:
        binders, conclusion = split_signature(raw.signature)
        if binders and binders[-1].bracket == "(" and binders[-1].type and conclusion:
            head = " ".join(binder.text for binder in binders[:-1])
            yield _beside(raw.name, lambda last: f"{last}_iff"), f"{head} : {conclusion} ↔ ({binders[-1].type})".strip()


def _mk_iff(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    given = plain_name(text.split()[0]) if text else ""
    if given:
        name = f"{raw.namespace}.{given}" if raw.namespace and "." not in given else given
    else:
        name = _beside(raw.name, lambda last: f"{last[:1].lower()}{last[1:]}_iff")
    signature = ""
    fields = [split_signature(member.signature) for member in members if member.kind == "field"]
    if raw.kind in _PARENT_KINDS and fields:
        head, type_ = _binders_and_type(raw)
        parts = [
            f"∀ {' '.join(b.text for b in binders)}, {result}" if binders else result for binders, result in fields
        ]
        signature = (
            f"{head} : {type_} ↔ {' ∧ '.join(f'({part})' if len(parts) > 1 else part for part in parts)}".strip()
        )
    yield name, signature


def _binders_and_type(raw: RawDeclaration) -> tuple[str, str]:
    """Binders of a structure as one writes them before a statement about it, and its applied name."""
    head = raw.signature
    for mark, offset in top_level(head):
        if mark in {"extends", ":"}:
            head = head[:offset]
            break
    binders, _ = split_signature(head)
    names = [name for binder in binders if binder.bracket == "(" for name in binder.names]
    text = " ".join(_implicit(binder) for binder in binders)
    return text, " ".join([raw.name, *names])


def _implicit(binder: Binder) -> str:
    return f"{{{binder.text[1:-1]}}}" if binder.bracket == "(" and binder.text.startswith("(") else binder.text


def _equation(raw: RawDeclaration) -> tuple[str, str, str] | None:
    """Text before the conclusion, left side, right side, if the conclusion is an equation."""
    _, conclusion = split_signature(raw.signature)
    depth = 0
    for at, char in enumerate(conclusion):
        if char in "([{⟨":
            depth += 1
        elif char in ")]}⟩":
            depth -= 1
        elif char == "=" and depth == 0 and conclusion[at - 1 : at] == " " and conclusion[at + 1 : at + 2] == " ":
            head = raw.signature[: raw.signature.rindex(conclusion)].rstrip().removesuffix(":").rstrip()
            return head, conclusion[:at].strip(), conclusion[at + 1 :].strip()
    return None


def _reassoc(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    del text, members
    sides = _equation(raw)
    signature = f"{sides[0]} {{Z : _}} (h : _ ⟶ Z) : {sides[1]} ≫ h = {sides[2]} ≫ h".strip() if sides else ""
    yield _beside(raw.name, lambda last: f"{last}_assoc"), signature


def _elementwise(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    del text, members
    sides = _equation(raw)
    signature = f"{sides[0]} (x : _) : ({sides[1]}) x = ({sides[2]}) x".strip() if sides else ""
    yield _beside(raw.name, lambda last: f"{last}_apply"), signature


def _to_app(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    del text, members
    sides = _equation(raw)
    signature = f"{sides[0]} (X : _) : ({sides[1]}).app X = ({sides[2]}).app X".strip() if sides else ""
    yield _beside(raw.name, lambda last: f"{last}_app"), signature


def _to_fun(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    del text, members
    yield _beside(raw.name, lambda last: f"fun_{last}"), ""


def _simps(raw: RawDeclaration, text: str, members: Sequence[RawDeclaration]) -> Iterator[tuple[str, str]]:
    del members
    rest = _ARGUMENTS.sub(" ", text.lstrip("!?"))
    for word in rest.split():
        if word[0] not in "+-" and re.fullmatch(r"[\w'!?]+", word):
            yield f"{raw.name}_{word}", ""


_RULES: Mapping[str, Rule] = {
    "ext": _ext,
    "mk_iff": _mk_iff,
    "reassoc": _reassoc,
    "elementwise": _elementwise,
    "to_app": _to_app,
    "to_fun": _to_fun,
    "simps": _simps,
}
