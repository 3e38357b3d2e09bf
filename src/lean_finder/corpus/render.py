"""Declarations and queries as the text that a retriever reads: named, versioned renderers.

A renderer's name fixes its output for good; a change of wording is a new name. The compatibility renderers
write what published systems embed, so that their models can be run on our corpus (formats: LeanSearch v2's public
repository; Lean Finder's served fields).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lean_finder.corpus.names import split_name, spoken_name
from lean_finder.corpus.symbols import latex_to_unicode, written_form
from lean_finder.corpus.syntax import drop_universes, read_binders
from lean_finder.errors import InputError
from lean_finder.records import Declaration

VIEWS = ("full", "formal", "nameless")

_SORT = re.compile(r"(?:Type|Sort|Prop)(?:\*|\s+[\w₀-₉]+|\s*\([^()]*\))?$")
_BRACKETS = "({["

_KIND_WORDS = {"lemma": "theorem", "irreducible_def": "def", "alias": "theorem"}
_LEANSEARCH_KINDS = {
    "theorem": "theorem",
    "lemma": "theorem",
    "alias": "theorem",
    "def": "definition",
    "abbrev": "definition",
    "irreducible_def": "definition",
    "instance": "instance",
    "structure": "inductive",
    "class": "inductive",
    "inductive": "inductive",
    "axiom": "axiom",
    "opaque": "opaque",
    "constructor": "constructor",
}
_LEANSEARCH_HEADS = {
    "theorem": "mathematical theorem",
    "definition": "mathematical definition",
    "instance": "typeclass instance",
}
_LEANSEARCH_TASK = (
    "Retrieve the informal + formal representation of items in Mathlib4 that is mathematically relevant to the query. "
    "If the query ask for theorem or lemma, you shall try to find the entry that starts with theorem. "
    "If the query ask for a definition, you shall try to find the entry that starts with either definition or instance."
)


@dataclass(frozen=True)
class Renderer:
    """How a declaration (with or without its prose) and a query become text."""

    document: Callable[[Declaration, bool], str]
    query: Callable[[str], str]


def render(declaration: Declaration, renderer: str, view: str = "full") -> str:
    """The document text of a declaration.

    Args:
        declaration: what to write.
        renderer: a key of `RENDERERS`.
        view: "full"; "formal": without docstring and informal description; "nameless": without its name as well.

    Raises:
        InputError: unknown renderer or view.
    """
    if view not in VIEWS:
        raise InputError(f"view {view!r}", "unknown", f"one of {', '.join(VIEWS)}")
    shown = replace(declaration, name="") if view == "nameless" else declaration
    return _renderer(renderer).document(shown, view == "full")


def render_query(text: str, renderer: str) -> str:
    """The query text that belongs to a renderer's documents.

    Raises:
        InputError: unknown renderer.
    """
    return _renderer(renderer).query(text)


def _renderer(name: str) -> Renderer:
    if name not in RENDERERS:
        raise InputError(f"renderer {name!r}", "unknown", f"one of {', '.join(RENDERERS)}")
    return RENDERERS[name]


def statement(declaration: Declaration) -> str:
    """Variables and signature, as one reads the statement."""
    return " ".join(part for part in (declaration.variables, declaration.signature) if part)


def _prose(declaration: Declaration, prose: bool) -> list[str]:
    return [part for part in (declaration.docstring, declaration.informal) if part and prose]


def _plain(declaration: Declaration, prose: bool) -> str:
    kind = _KIND_WORDS.get(declaration.kind, declaration.kind)
    head = f"{kind} {' '.join(split_name(declaration.name))}"
    return "\n".join(
        [head, *(written_form(part) for part in _prose(declaration, prose)), written_form(statement(declaration))]
    )


def _symbols(declaration: Declaration, prose: bool) -> str:
    kind = _KIND_WORDS.get(declaration.kind, declaration.kind)
    head = f"{kind} {declaration.name}"
    return "\n".join([head, *(latex_to_unicode(part) for part in _prose(declaration, prose)), statement(declaration)])


def _spoken(declaration: Declaration, prose: bool) -> str:
    return "\n".join([_plain(declaration, prose), spoken_name(declaration.name)])


def _claim(declaration: Declaration, prose: bool) -> str:
    kind = _KIND_WORDS.get(declaration.kind, declaration.kind)
    head = f"{kind} {' '.join(split_name(declaration.name))}"
    parts = [*_prose(declaration, prose), _claim_first(declaration)]
    return "\n".join([head, *(written_form(part) for part in parts)])


def _claim_first(declaration: Declaration) -> str:
    """The statement as a mathematician would skim it: what is claimed, of what, and last where it lives.

    Claim, explicit binders, implicit ones, instances; `{α : Type*}` and its like are left out,
    as `(p : Prop)` is. An encoder that cuts a text at its maximum length then loses classes and not the claim.
    """
    outer, _ = read_binders(drop_universes(declaration.variables))
    signature = drop_universes(declaration.signature)
    own, position = read_binders(signature)
    claim = signature[position:].removeprefix(":").strip()
    binders = [binder for binder in (*outer, *own) if not _SORT.match(binder.type)]
    order = sorted(binders, key=lambda binder: _BRACKETS.index(binder.bracket) if binder.bracket in _BRACKETS else 1)
    return " ".join(part for part in (claim, *(binder.text for binder in order)) if part)


def _leansearch(declaration: Declaration, prose: bool) -> str:
    kind = _LEANSEARCH_KINDS.get(declaration.kind, declaration.kind)
    head = _LEANSEARCH_HEADS.get(kind, "lean content")
    informal = " ".join(_prose(declaration, prose))[:10_000]
    return (
        f"Represent the following {head} in lean repository for semantic search: \n Informal content: \n "
        f"['{kind}']: {' '.join(split_name(declaration.name)) if prose else ''}: {informal} \n Formal content: \n "
        f"{declaration.name} {statement(declaration)} := by sorry"
    )


def _leansearch_query(text: str) -> str:
    return f"Instruction: {_LEANSEARCH_TASK}. Query: {text}"


def _leanfinder(declaration: Declaration, prose: bool) -> str:
    parts = [f"{declaration.kind} {declaration.name} {statement(declaration)}", *_prose(declaration, prose)]
    return "\n".join(parts)


def _same(text: str) -> str:
    return text


RENDERERS: Mapping[str, Renderer] = {
    "plain-v1": Renderer(_plain, written_form),
    "spoken-v1": Renderer(_spoken, written_form),
    "claim-v1": Renderer(_claim, written_form),
    "symbols-v1": Renderer(_symbols, latex_to_unicode),
    "leansearch-v2": Renderer(_leansearch, _leansearch_query),
    "leanfinder-v1": Renderer(_leanfinder, _same),
}
