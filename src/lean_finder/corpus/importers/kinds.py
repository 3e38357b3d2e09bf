"""Kinds as Lean users say them, from tools that say less.

jixia reports every structure and every class as `inductive`, and a declaration command of either as `structure`.
What else the input holds tells them apart: the command's text, and the elaborated types, where a class stands in
instance binders (`[self : Group G]`) and a structure's fields take it as their argument.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from lean_finder.corpus.importers.contract import Fact
from lean_finder.corpus.importers.signatures import peel_binders
from lean_finder.records import Declaration

#: A tool's word -> ours; "" is no declaration of its own.
KINDS = {
    "abbrev": "abbrev",
    "axiom": "axiom",
    "class": "class",
    "class inductive": "class",
    "classInductive": "class",
    "constructor": "constructor",
    "ctor": "constructor",
    "def": "def",
    "definition": "def",
    "example": "",
    "field": "field",
    "inductive": "inductive",
    "instance": "instance",
    "lemma": "lemma",
    "opaque": "opaque",
    "proofWanted": "",
    "quot": "opaque",
    "quotient": "opaque",
    "recursor": "",
    "structure": "structure",
    "theorem": "theorem",
}

_INSTANCE_HEAD = re.compile(r"(?<![^\s(\[{⦃∀→])\[(?:[^\s:\[\]]+ : )?([^\s\[\](){},:]+)(?=[ \]])")
_PARENT_PROJECTION = re.compile(r"to[A-Z«]")


def settle_kinds(facts: Iterable[Fact]) -> list[Declaration]:
    """Declarations in order, with structures, classes, fields and projections told apart from `inductive` and `def`."""
    known = {fact.declaration.name: fact for fact in facts}
    classes = {head for fact in known.values() for head in _INSTANCE_HEAD.findall(fact.type)}
    members: dict[str, list[Fact]] = defaultdict(list)
    for name, fact in known.items():
        members[name.rpartition(".")[0]].append(fact)
    for name, fact in known.items():
        kind = fact.declaration.kind
        if kind in {"inductive", "structure"} and not fact.certain:
            settled = _settled(name, fact, classes, members[name])
            fact.declaration = replace(fact.declaration, kind=settled)
    return [_member(fact, known) for fact in known.values()]


def _settled(name: str, fact: Fact, classes: set[str], members: list[Fact]) -> str:
    """Kind of what was reported as `inductive` or `structure`."""
    if name in classes:
        return "class"
    if fact.declaration.kind == "structure":
        return "structure"
    constructors = [item.declaration.name for item in members if item.declaration.kind == "constructor"]
    if len(constructors) != 1 or fact.written:  # a written `inductive` command is one
        return "inductive"
    named_mk = constructors[0] == f"{name}.mk"
    has_field = any(not item.written and takes(item.type, name) == "self" for item in members)
    return "structure" if named_mk or has_field else "inductive"


def takes(type_: str, name: str) -> str:
    """How a type takes a value of `name`: "self" for a binder called self, "plain" for its first arrow, else ""."""
    binders, rest = peel_binders(type_)
    if any(re.match(r".self : " + re.escape(name) + r"[ \])}⦄]", binder) for binder in binders):
        return "self"
    return "plain" if re.match(re.escape(name) + r"(?: [^→]*)? → ", rest) else ""


def _member(fact: Fact, known: dict[str, Fact]) -> Declaration:
    """A constructor with its type, and a projection that Lean made for a structure as `field` or `projection`."""
    declaration = fact.declaration
    parent, _, last = declaration.name.rpartition(".")
    owner = known.get(parent)
    if owner is None or declaration.origin != "source":
        return declaration
    if declaration.kind == "constructor":
        return replace(declaration, origin="constructor", generated_by=parent)
    made = declaration.kind in {"def", "theorem"} and not fact.written and not fact.certain
    if made and owner.declaration.kind in {"structure", "class"} and takes(fact.type, parent):
        kind = "projection" if _PARENT_PROJECTION.match(last) else "field"
        return replace(declaration, kind=kind, origin=kind, generated_by=parent)
    return declaration
