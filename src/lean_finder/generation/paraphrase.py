"""Long queries for round 0, made by rule from what a declaration says about itself.

| view           | query                                         | positive document |
|----------------|-----------------------------------------------|-------------------|
| docstring      | the whole docstring                           | formal            |
| first_sentence | its first sentence, if there are more         | formal            |
| informal       | the informal description, if there is one     | formal            |
| name           | the name's words                              | nameless          |
| verbal         | the signature read aloud                      | full              |
| renamed        | the signature with its variables renamed      | formal            |
| latex          | what the signature claims, in LaTeX           | full              |

A query that stands word for word in its document teaches nothing, so docstrings meet the document without docstring,
and names meet it without its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pandas as pd

from lean_finder.errors import InputError
from lean_finder.generation.prompts import name_words
from lean_finder.generation.rewording import claim_in_latex, rename_variables
from lean_finder.records import Declaration, Pair, from_frame, to_frame

_SPOKEN = {
    "→+*": " ring homomorphism to ", "→ₗ": " linear map to ", "→L": " continuous linear map to ",
    "≃+*": " ring isomorphic to ", "≃ₗ": " linearly equivalent to ", "≃ₜ": " homeomorphic to ",
    "≃": " equivalent to ", "≅": " isomorphic to ", "∀": " for all ", "∃!": " there is exactly one ",
    "∃": " there is ", "∄": " there is no ", "λ": " the function sending ", "↔": " if and only if ",
    "→": " implies ", "⟶": " morphism to ", "⥤": " functor to ", "⟹": " natural transformation to ",
    "↦": " maps to ", "⇒": " maps to ", "=>": " maps to ", "∧": " and ", "∨": " or ", "¬": " not ",
    "≠": " is not equal to ", "≤": " is at most ", "≥": " is at least ", "<": " is less than ",
    ">": " is greater than ", "≈": " is approximately ", "≡": " is congruent to ", "∣": " divides ",
    "∤": " does not divide ", "∈": " in ", "∉": " not in ", "⊆": " is a subset of ", "⊂": " is a strict subset of ",
    "∪": " union ", "∩": " intersection ", "⋃": " union over ", "⋂": " intersection over ", "∅": " the empty set ",
    "ᶜ": " complement ", "⊔": " supremum ", "⊓": " infimum ", "⨆": " supremum over ", "⨅": " infimum over ",
    "⊤": " top ", "⊥": " bottom ", "∑": " sum over ", "∏": " product over ", "∫": " integral of ",
    "∘": " composed with ", "⁻¹": " inverse ", "×": " times ", "•": " acting on ", "⊗": " tensor ",
    "⊕": " direct sum ", "√": " square root of ", "∞": " infinity ", "ℕ": " natural numbers ", "ℤ": " integers ",
    "ℚ": " rational numbers ", "ℝ": " real numbers ", "ℂ": " complex numbers ", "𝓝": " neighbourhoods of ",
    "‖": " norm ", "²": " squared ", "+": " plus ", "*": " times ", "^": " to the power ", "-": " minus ",
    "/": " divided by ", "=": " equals ", "|": " absolute value ",
}  # fmt: skip
_SYMBOL = re.compile("|".join(re.escape(symbol) for symbol in sorted(_SPOKEN, key=len, reverse=True)))
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")


def paraphrases(declarations: pd.DataFrame, views: Sequence[str]) -> pd.DataFrame:
    """The long queries of round 0: columns of `records.Pair`, ordered by declaration, then as in `views`.

    A view that says nothing about a declaration, or repeats what an earlier one said, gives no row.

    Args:
        declarations: columns of `records.Declaration`; only those that may be trained on.
        views: names from the table above.

    Raises:
        InputError: an unknown view, or no declaration has any text.
    """
    unknown = [view for view in views if view not in _VIEWS]
    if unknown:
        raise InputError("paraphrase.views", f"unknown view {unknown[0]!r}", f"known: {', '.join(sorted(_VIEWS))}")
    rows: list[Pair] = []
    for declaration in from_frame(Declaration, declarations):
        said: set[str] = set()
        for view in views:
            make, document_view = _VIEWS[view]
            query = " ".join(make(declaration).split())
            if not query or query.casefold() in said:
                continue
            said.add(query.casefold())
            rows.append(
                Pair(
                    f"r0-{len(rows):06d}",
                    query,
                    declaration.name,
                    view,
                    "paraphrase",
                    "r0",
                    f"rule:{view}",
                    document_view,
                )
            )
    if not rows:
        raise InputError(
            "paraphrase", "no declaration has any text to make a query from", "check the corpus and the split"
        )
    return to_frame(Pair, rows)


def first_sentence(text: str) -> str:
    """The first of several sentences; "" if there is only one."""
    parts = _SENTENCE_END.split(" ".join(text.split()), maxsplit=1)
    return parts[0] if len(parts) > 1 else ""


def verbalise(signature: str) -> str:
    """A signature read aloud: symbols as words, brackets dropped, dotted names as words."""
    spoken = _SYMBOL.sub(lambda match: _SPOKEN[match.group()], signature.replace(":=", " by default "))
    spoken = re.sub(r"(?<![)\]}⦄])\s:\s", " of type ", spoken)  # the colon after the binders stays a colon
    spoken = re.sub(r"[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)+", lambda match: name_words(match.group()), spoken)
    return " ".join(re.sub(r"[()\[\]{}⟨⟩⦃⦄,@]", " ", spoken).split())


_VIEWS: dict[str, tuple[Callable[[Declaration], str], str]] = {
    "docstring": (lambda item: item.docstring, "formal"),
    "first_sentence": (lambda item: first_sentence(item.docstring), "formal"),
    "informal": (lambda item: item.informal, "formal"),
    "name": (lambda item: name_words(item.name) if item.signature else "", "nameless"),
    "verbal": (lambda item: verbalise(item.signature), "full"),
    "renamed": (lambda item: rename_variables(item.signature), "formal"),
    "latex": (lambda item: claim_in_latex(item.signature), "full"),
}
