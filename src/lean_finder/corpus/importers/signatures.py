"""Elaborated types as signatures: the leading binders of `∀ {α : Type u} (a b : α), a = b` are its binders."""

from __future__ import annotations

import re

from lean_finder.corpus.importers.contract import one_line

_CLOSING = {"(": ")", "{": "}", "[": "]", "⦃": "⦄", "⟨": "⟩"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}
_BRACKETS = re.compile(r"[(){}\[\]⦃⦄⟨⟩]")
_BINDERS = "({[⦃"
_INSTANCE_NAME = re.compile(r"[^\s:\[\]]+ : ")


def group_end(text: str, start: int) -> int:
    """Index behind the bracket group that starts at `start`, -1 if it never closes."""
    open_: list[str] = []
    for found in _BRACKETS.finditer(text, start):
        char = found.group()
        if char in _CLOSING:
            open_.append(char)
        elif not open_ or open_.pop() != _OPENING[char]:
            return -1
        elif not open_:
            return found.end()
    return -1


def peel_binders(type_: str) -> tuple[list[str], str]:
    """Leading bracketed binders of a type, and the rest.

    Only binders in brackets are taken: `∀ x, …` and plain arrows stay in the rest.
    `{α : Type} → [Add α] → …` counts like `∀ {α : Type} [Add α], …`.
    """
    rest = one_line(type_)
    binders: list[str] = []
    while True:
        taken, tail = _peel_once(rest)
        if not taken:
            return binders, rest
        binders += taken
        rest = tail


def _peel_once(text: str) -> tuple[list[str], str]:
    quantified = text.startswith("∀ ")
    position = 2 if quantified else 0
    found: list[str] = []
    while position < len(text) and text[position] in _BINDERS:
        end = group_end(text, position)
        if end < 0 or not is_binder(text[position:end]):
            break
        found.append(text[position:end])
        position = end
        if text.startswith(" ", position) and text[position + 1 : position + 2] in _BINDERS:
            position += 1
    if found and quantified and text.startswith(", ", position):
        return found, text[position + 2 :]
    if len(found) == 1 and not quantified and text.startswith(" → ", position):
        return found, text[position + 3 :]
    return [], text


def is_binder(group: str) -> bool:
    """A bracket group that binds: `[…]`, or one with a colon at its top level."""
    if group[0] == "[":
        return True
    depth = 0
    for index, char in enumerate(group[1:-1], start=1):
        if char in _CLOSING:
            depth += 1
        elif char in _OPENING:
            depth -= 1
        elif char == ":" and depth == 0 and group[index - 1 : index] == " " and group[index + 1 : index + 2] != "=":
            return True
    return False


def signature_of_type(type_: str) -> str:
    """A type in the form of a signature: `∀ (n : ℕ), 0 ≤ n` -> `(n : ℕ) : 0 ≤ n`; "" for no type."""
    if not type_.strip():
        return ""
    binders, rest = peel_binders(type_)
    return " ".join([*binders, ":", rest])


def bound_names(binder: str) -> list[str]:
    """Names that a binder other than an instance binder binds: `{a b : α}` -> a, b."""
    return binder[1:-1].split(" : ", 1)[0].split()


def binders_beyond(type_: str, signature: str) -> str:
    """The leading binders of an elaborated type that a signature as written does not show: its section variables."""
    written = one_line(signature)
    words = set(re.split(r"[\s()\[\]{}⦃⦄:,]+", " ".join(_groups(written))))
    kept = []
    for binder in peel_binders(type_)[0]:
        if binder[0] == "[":
            anonymous = _INSTANCE_NAME.sub("", binder[1:-1], count=1)
            shown = f"[{anonymous}]" in written or f" : {anonymous}]" in written
        else:
            shown = any(name in words for name in bound_names(binder))
        if not shown:
            kept.append(binder)
    return " ".join(kept)


def _groups(signature: str) -> list[str]:
    """Names before the colon of each leading bracket group of a signature as written."""
    found = []
    position = 0
    while position < len(signature) and signature[position] in _BINDERS:
        end = group_end(signature, position)
        if end < 0:
            break
        found.append(signature[position + 1 : end - 1].split(":", 1)[0])
        position = end + (signature[end : end + 1] == " ")
    return found
