"""Lean names as other tools write them: lists of parts, dotted text, «quoted» parts; and which are Lean's own."""

from __future__ import annotations

import re

from lean_finder.errors import InputError

_PARTS = re.compile(r"«([^»]*)»|([^.«»]+)")
_SEPARATED = re.compile(r"(?:«[^»]*»|[^.«»]+)(?:\.(?:«[^»]*»|[^.«»]+))*\Z")

#: Equation, matcher and proof lemmas that Lean numbers by itself. LeanSearch drops every name whose last part merely
#: starts with `eq_`, `match_` or `proof_`, which also loses theorems such as `Nat.eq_of_lt_succ`: only the numbered
#: forms and Lean's fixed ones are dropped here.
_NUMBERED = re.compile(r"(?:eq|match|proof)_(?:\d+|def|unfold)\Z")

#: Made for every inductive type, and for every constructor, unless a command declares them (`Quotient.rec` is written).
_OF_TYPES = frozenset(
    (
        *("rec", "recOn", "casesOn", "brecOn", "binductionOn", "below", "ibelow", "ndrec", "ndrecOn", "ctorIdx"),
        *("noConfusion", "noConfusionType", "noConfusionEnum", "toCtorIdx", "ctorElim", "ctorElimType", "withCtorType"),
    )
)
_OF_CONSTRUCTORS = frozenset(["inj", "injEq", "hinj", "sizeOf_spec", "noConfusion", "elim"])
#: The same without their type or constructor in sight: nobody writes these by hand.
_NEVER_WRITTEN = frozenset(
    ["brecOn", "binductionOn", "noConfusionType", "ctorIdx", "ctorElimType", "injEq", "sizeOf_spec", "withCtorType"]
)
_TYPES = frozenset(["inductive", "structure", "class"])
#: Types of what `notation`, `syntax` and `macro` leave behind.
_PARSER_TYPES = re.compile(
    r"Lean\.(?:ParserDescr|TrailingParserDescr|Macro|Parser\.Parser|Parser\.TrailingParser|PrettyPrinter\.Unexpander"
    r"|PrettyPrinter\.Formatter|PrettyPrinter\.Parenthesizer|Elab\.Tactic\.Tactic|Elab\.Command\.CommandElab"
    r"|Elab\.Term\.TermElab)\Z"
)


def name_parts(name: object, where: str) -> tuple[str | int, ...]:
    """Parts of a name given as a list of parts (numbers allowed) or as dotted text with «quoted» parts.

    Raises:
        InputError: it is neither, or empty.
    """
    if isinstance(name, str) and _SEPARATED.match(name):
        found = (quoted or plain for quoted, plain in _PARTS.findall(name))
        return tuple(int(part) if part.isdecimal() else part for part in found)
    if isinstance(name, list) and name and all(isinstance(part, str | int) and part != "" for part in name):
        return tuple(part.strip("«»") if isinstance(part, str) else part for part in name)
    raise InputError(where, f"not a Lean name: {name!r:.60}", "a list of parts or dotted text was expected")


def dotted(parts: tuple[str | int, ...]) -> str:
    """Full dotted name, without guillemets and without `_root_`."""
    kept = parts[1:] if parts[0] == "_root_" else parts
    return ".".join(str(part) for part in kept)


def internal_reason(parts: tuple[str | int, ...], type_: str) -> str:
    """Why no user would search for this name, "" if one would."""
    if parts[0] == "_private":
        return "private"
    last = parts[-1]
    if any(isinstance(part, int) for part in parts):
        return "internal: numbered name"
    if any(str(part).startswith("_") and part != "_root_" for part in parts) or _NUMBERED.match(str(last)):
        return "internal: made by Lean"
    if _PARSER_TYPES.match(type_):
        return "internal: notation or syntax"
    return ""


def is_auxiliary(last: str, parent_kind: str) -> bool:
    """A name's last part that Lean makes for a parent of this kind ("" for an unknown parent)."""
    if parent_kind in _TYPES:
        return last in _OF_TYPES
    if parent_kind == "constructor":
        return last in _OF_CONSTRUCTORS
    return not parent_kind and last in _NEVER_WRITTEN
