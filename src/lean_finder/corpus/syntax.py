"""The parts of Lean's surface syntax that several passes share: identifiers, brackets, binders.

Functions here take text whose comments are blanked (see `lexer`). None of them raises on malformed text:
an unclosed bracket reaches to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FIRST = (
    "A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f\u0391-\u039f\u03a1\u03a2\u03a4-\u03a9\u03b1-\u03ba\u03bc-\u03c9"
    "\u03ca-\u03fb\u1f00-\u1ffe\u2100-\u214f\U0001d49c-\U0001d59f"
)
_REST = _FIRST + "0-9'!?\u2080-\u2089\u2090-\u209c\u1d62-\u1d6a\u2c7c"

#: One component of a name; letters as Lean counts them (not λ, Π, Σ, no superscripts).
PART = rf"(?:[{_FIRST}][{_REST}]*+|«[^»\n]*»)"
#: A dotted name.
NAME = rf"{PART}(?:\.{PART})*+"

NAME_RE = re.compile(NAME)
PART_RE = re.compile(PART)
_BRACKET = re.compile(r"[(\[{⟨⦃⟦⟪)\]}⟩⦄⟧⟫]")
_OPEN = frozenset("([{⟨⦃⟦⟪")
_UNIVERSES = re.compile(r"\.\{[^}]*\}")
_BLANKS = re.compile(r"\s+")
_BINDER_OPEN = frozenset("({[⦃")
_TOP = re.compile(r"[(\[{⟨⦃⟦⟪)\]}⟩⦄⟧⟫]|:=|:|,|↔|→|\bextends\b|\bfun\b|[∀∃∑∏λ]")


@dataclass(frozen=True, slots=True)
class Binder:
    """One binder group: bracket "(", "{", "[" or "⦃"; its names (none for an anonymous instance); type ("" if none)."""

    bracket: str
    names: tuple[str, ...]
    type: str
    text: str


def one_line(text: str) -> str:
    """Text with every run of blanks made one space."""
    return _BLANKS.sub(" ", text).strip()


def plain_name(name: str) -> str:
    """A name without quotation marks and without `_root_.`."""
    if "«" in name:
        name = name.replace("«", "").replace("»", "")
    return name.removeprefix("_root_.")


def drop_universes(text: str) -> str:
    """Text without explicit universe arguments such as `.{u v}`."""
    return _UNIVERSES.sub("", text) if ".{" in text else text


def closing(text: str, start: int, end: int | None = None) -> int:
    """Offset after the bracket that closes the one at `start`; `end` (or the text's end) if it is never closed."""
    limit = len(text) if end is None else end
    depth = 0
    for match in _BRACKET.finditer(text, start, limit):
        depth += 1 if match.group() in _OPEN else -1
        if depth == 0:
            return match.end()
    return limit


def top_level(text: str, start: int = 0) -> Iterator[tuple[str, int]]:
    """Marks (`:=`, `:`, `,`, `↔`, `→`, `extends`, `fun`, quantifiers) outside all brackets, with their offsets."""
    depth = 0
    for match in _TOP.finditer(text, start):
        mark = match.group()
        if mark in _OPEN:
            depth += 1
        elif mark in ")]}⟩⦄⟧⟫":
            depth = max(0, depth - 1)
        elif depth == 0:
            yield mark, match.start()


def split_commas(text: str) -> list[str]:
    """Parts of a text between its top-level commas, stripped, empty ones dropped."""
    parts = []
    done = 0
    for mark, offset in top_level(text):
        if mark == ",":
            parts.append(text[done:offset].strip())
            done = offset + 1
    parts.append(text[done:].strip())
    return [part for part in parts if part]


def parse_binder(text: str) -> Binder:
    """One bracketed group, brackets included, as a `Binder`."""
    bracket = text[0]
    inner = text[1:-1].strip()
    if text.startswith("{{"):
        bracket, inner = "⦃", text[2:-2].strip()
    names: list[str] = []
    position = 0
    while match := PART_RE.match(inner, position):
        names.append(match.group())
        position = match.end()
        while position < len(inner) and inner[position].isspace():
            position += 1
    rest = inner[position:]
    if rest.startswith(":") and not rest.startswith(":="):
        body = rest[1:]
        for mark, offset in top_level(body):
            if mark == ":=":
                body = body[:offset]
                break
        return Binder(bracket, tuple(names), one_line(body), one_line(text))
    if bracket == "[":
        return Binder(bracket, (), one_line(inner), one_line(text))
    if rest and not rest.startswith(":="):
        return Binder(bracket, (), one_line(inner), one_line(text))
    return Binder(bracket, tuple(names), "", one_line(text))


def read_binders(text: str, start: int = 0) -> tuple[list[Binder], int]:
    """Binder groups from `start` on, and the offset of what follows them (`:`, `extends`, the text's end, …)."""
    binders = []
    position = start
    length = len(text)
    while position < length:
        char = text[position]
        if char.isspace():
            position += 1
        elif char in _BINDER_OPEN:
            end = closing(text, position)
            binders.append(parse_binder(text[position:end]))
            position = end
        elif (match := PART_RE.match(text, position)) and match.group() != "extends":
            binders.append(Binder("(", (match.group(),), "", match.group()))
            position = match.end()
        else:
            break
    return binders, position


def split_signature(signature: str) -> tuple[list[Binder], str]:
    """Binders of a signature and its result type (without the colon; "" if it states none)."""
    binders, position = read_binders(signature)
    rest = signature[position:]
    if rest.startswith(":"):
        return binders, rest[1:].strip()
    for mark, offset in top_level(rest):
        if mark == ":":
            return binders, rest[offset + 1 :].strip()
    return binders, ""
