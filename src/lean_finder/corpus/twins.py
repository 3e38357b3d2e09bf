"""The statement of a translated declaration, written from the statement of its source.

Lean makes it by translating the term; here words and symbols are exchanged, which reads the same in the usual case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lean_finder.corpus.syntax import NAME, NAME_RE
from lean_finder.corpus.translate import guess_part

_INVERSE = re.compile(rf"((?:{NAME})|\([^()]*\))⁻¹")
_POWER = re.compile(rf"((?:{NAME})|\([^()]*\)) \^ ((?:{NAME})|\d+|\([^()]*\))")
_ONE = re.compile(r"(?<![\w.'₀-₉])1(?![\w.'₀-₉])")
_ADDITIVE_SYMBOLS = str.maketrans({"*": "+", "/": "-", "∏": "∑", "•": "+ᵥ"})
_DUAL_SYMBOLS = str.maketrans(
    {"⊤": "⊥", "⊥": "⊤", "⊓": "⊔", "⊔": "⊓", "⨅": "⨆", "⨆": "⨅", "≤": "≥", "≥": "≤", "<": ">", ">": "<"}
)
_NOT_STARS = re.compile(r"(?:Type|Sort)\*")


def translate_statement(text: str, attribute: str, known: Mapping[str, str]) -> str:
    """Text with names and symbols exchanged as `to_additive` or `to_dual` would.

    Args:
        text: a signature or binders.
        attribute: to_additive or to_dual.
        known: full names with their translations.
    """

    def name(match: re.Match[str]) -> str:
        word = match.group()
        if word in known:
            return known[word]
        if len(word) < 3 or word in {"Type", "Sort", "Prop"}:
            return word
        return ".".join(guess_part(part, attribute) for part in word.split("."))

    if attribute == "to_dual":
        return NAME_RE.sub(name, text).translate(_DUAL_SYMBOLS)
    text = _NOT_STARS.sub(lambda match: match.group()[:-1] + "\x00", text)
    text = _POWER.sub(lambda match: f"{match.group(2)} \x01 {match.group(1)}", text)
    text = _INVERSE.sub(r"-\1", text)
    text = _ONE.sub("0", text)
    text = NAME_RE.sub(name, text).translate(_ADDITIVE_SYMBOLS)
    return text.replace("\x00", "*").replace("\x01", "•")
