"""A Lean statement said otherwise by rule: bound variables renamed, or its claim in LaTeX.

Both are queries that people and agents type, and neither stands word for word in the document that it asks for.
"""

from __future__ import annotations

import re

from lean_finder.corpus.symbols import LATEX
from lean_finder.corpus.syntax import split_signature

#: Renaming stays within a circle: variables of a kind look alike, and distinct ones stay distinct.
_CIRCLES = ("abcd", "fghk", "ijlmn", "pqr", "stuvw", "xyz", "ABCD", "EFG", "IJ", "KLMN", "RS", "XYZ", "αβγδ", "ικ")
_NEXT = {old: new for circle in _CIRCLES for old, new in zip(circle, circle[1:] + circle[0], strict=True)}
#: A letter that stands alone, primes and indices aside: `f`, `x₁`, `s'`; not a part of `f.comp`'s `comp` or of `ofNat`.
_LETTER = re.compile(r"(?<![\w.'])([^\W\d_])(?=['₀-₉]*(?![\w'₀-₉]))")

_BLACKBOARD = {"ℕ": "N", "ℤ": "Z", "ℚ": "Q", "ℝ": "R", "ℂ": "C"}
#: The first command that the table of symbols gives for a symbol is its usual one.
_COMMANDS = {symbol: f"\\{command} " for command, symbol in reversed(LATEX.items()) if not symbol.isascii()}
_WRITTEN = _COMMANDS | {symbol: f"\\mathbb{{{letter}}} " for symbol, letter in _BLACKBOARD.items()}
_WRITTEN |= {"⁻¹": "^{-1}", "²": "^2", "³": "^3", "ⁿ": "^n", "₀": "_0", "₁": "_1", "₂": "_2", "λ": "\\lambda "}
_SYMBOL = re.compile("|".join(re.escape(symbol) for symbol in sorted(_WRITTEN, key=len, reverse=True)))
_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_']*(?:\.[A-Za-z_][A-Za-z0-9_']*)*")


def rename_variables(signature: str) -> str:
    """The signature with its one-letter names replaced, each by the next of its kind; "" if it has none.

    >>> rename_variables("(f : α → β) (hf : Continuous f) : IsOpen (f ⁻¹' s)")
    "(g : β → γ) (hf : Continuous g) : IsOpen (g ⁻¹' t)"
    """
    renamed = _LETTER.sub(lambda letter: _NEXT.get(letter[1], letter[1]), signature)
    return renamed if renamed != signature else ""


def claim_in_latex(signature: str) -> str:
    """What the signature claims, without its binders, as a LaTeX formula; "" if it has no symbol to write.

    >>> claim_in_latex("(a b : ℝ) : a ⊓ b ≤ a")
    '$a \\\\sqcap b \\\\le a$'
    """
    _, claim = split_signature(signature)
    # A name of several letters is upright in LaTeX; a variable is not.
    upright = _WORD.sub(lambda word: word[0] if len(word[0]) == 1 else f"\\mathrm{{{word[0]}}}", claim)
    formula = _SYMBOL.sub(lambda symbol: _WRITTEN[symbol[0]], upright)
    if formula == upright:
        return ""
    return f"${re.sub(r' +', ' ', formula).strip()}$"
