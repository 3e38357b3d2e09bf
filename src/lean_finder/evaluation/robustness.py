"""Robustness slices: the same benchmark, asked a little differently.

Each change is deterministic and keeps the question. A query that a change leaves as it is has no place in that
slice, so a drop is measured on changed queries alone, each against its own unchanged answer.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lean_finder.evaluation.evaluate import compare, rank_benchmark
from lean_finder.records import BenchmarkQuery, Ranking
from lean_finder.retrieval.retriever import Retriever

#: Code between backticks and mathematics between dollars: where variables live and words do not.
_FORMAL = re.compile(r"`[^`]*`|\$[^$]*\$")
#: One letter alone; an underscore joins in Lean (`x_n` is one name) and sets an index in LaTeX.
_LEAN_VARIABLE = re.compile(r"(?<![A-Za-z_.])[a-z](?![A-Za-z_])")
_LATEX_VARIABLE = re.compile(r"(?<![\\A-Za-z])[a-z](?![A-Za-z])")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]+")

#: Variables are renamed within circles, so that distinct ones stay distinct and kinds stay alike.
_CIRCLES = ("abcd", "fgh", "ijk", "mnpq", "rstuvw", "xyz")
_RENAMED = {old: new for circle in _CIRCLES for old, new in zip(circle, circle[1:] + circle[0], strict=True)}

_LATEX_TO_UNICODE = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "varepsilon": "ε", "epsilon": "ϵ", "lambda": "λ",
    "mu": "μ", "nu": "ν", "pi": "π", "sigma": "σ", "tau": "τ", "varphi": "φ", "omega": "ω", "Gamma": "Γ",
    "Omega": "Ω", "forall": "∀", "exists": "∃", "in": "∈", "notin": "∉", "subseteq": "⊆", "subset": "⊂",
    "cup": "∪", "cap": "∩", "bigcup": "⋃", "bigcap": "⋂", "emptyset": "∅", "setminus": "∖", "times": "×",
    "cdot": "·", "circ": "∘", "oplus": "⊕", "otimes": "⊗", "sum": "∑", "prod": "∏", "int": "∫", "infty": "∞",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "equiv": "≡", "cong": "≅", "simeq": "≃",
    "sim": "∼", "to": "→", "rightarrow": "→", "mapsto": "↦", "iff": "↔", "Rightarrow": "⇒", "land": "∧",
    "wedge": "∧", "lor": "∨", "vee": "∨", "neg": "¬", "sqcup": "⊔", "sqcap": "⊓", "bot": "⊥", "top": "⊤",
    "mid": "∣", "langle": "⟨", "rangle": "⟩", "sqrt": "√", "partial": "∂", "nabla": "∇",
}  # fmt: skip
#: The first command of a symbol is its usual one.
_UNICODE_TO_LATEX = {symbol: command for command, symbol in reversed(_LATEX_TO_UNICODE.items())}

_BRITISH_TO_AMERICAN = {
    "neighbour": "neighbor", "neighbourhood": "neighborhood", "neighbourhoods": "neighborhoods",
    "neighbours": "neighbors", "centre": "center", "centred": "centered", "colour": "color", "colouring": "coloring",
    "colourable": "colorable", "colours": "colors", "behaviour": "behavior", "fibre": "fiber", "fibres": "fibers",
    "normalised": "normalized", "normalise": "normalize", "normaliser": "normalizer", "factorise": "factorize",
    "factorisation": "factorization", "localisation": "localization", "localised": "localized",
    "generalised": "generalized", "generalisation": "generalization", "characterise": "characterize",
    "characterises": "characterizes", "characterisation": "characterization", "centraliser": "centralizer",
    "stabiliser": "stabilizer", "equaliser": "equalizer", "coequaliser": "coequalizer", "minimise": "minimize",
    "maximise": "maximize", "minimiser": "minimizer", "optimisation": "optimization", "diagonalisable":
    "diagonalizable", "diagonalise": "diagonalize", "parametrised": "parametrized", "metrisable": "metrizable",
    "discretisation": "discretization", "analyse": "analyze", "labelled": "labeled", "modelled": "modeled",
    "modelling": "modeling", "totalling": "totaling", "travelling": "traveling", "recognise": "recognize",
    "organised": "organized", "realise": "realize", "realises": "realizes", "realisation": "realization",
    "symmetrisation": "symmetrization", "uniformiser": "uniformizer", "vectorisation": "vectorization",
}  # fmt: skip
_OTHER_SPELLING = _BRITISH_TO_AMERICAN | {american: british for british, american in _BRITISH_TO_AMERICAN.items()}


def rename_variables(text: str) -> str:
    """Single-letter variables renamed consistently, in code and mathematics alone."""

    def renamed(span: re.Match[str]) -> str:
        variable = _LATEX_VARIABLE if span[0].startswith("$") else _LEAN_VARIABLE
        return variable.sub(lambda letter: _RENAMED.get(letter[0], letter[0]), span[0])

    return _FORMAL.sub(renamed, text)


def swap_notation(text: str) -> str:
    """LaTeX commands as Unicode symbols; if there are none, Unicode symbols as LaTeX commands."""
    as_unicode = _COMMAND.sub(lambda item: _LATEX_TO_UNICODE.get(item[0][1:], item[0]), text)
    if as_unicode != text:
        return as_unicode
    latex = "".join(f"\\{_UNICODE_TO_LATEX[char]} " if char in _UNICODE_TO_LATEX else char for char in text)
    return " ".join(latex.split()) if latex != text else text


def swap_spelling(text: str) -> str:
    """British words spelt the American way, and the other way round."""

    def other(match: re.Match[str]) -> str:
        word = match[0]
        swapped = _OTHER_SPELLING.get(word.lower(), word)
        return swapped.capitalize() if word[0].isupper() and swapped != word else swapped

    return _WORD.sub(other, text)


def add_typo(text: str) -> str:
    """Two neighbouring inner letters of one longer word exchanged; which one is fixed by the text itself."""
    formal = [match.span() for match in _FORMAL.finditer(text)]
    swaps = [
        at
        for word in _WORD.finditer(text)
        if len(word[0]) >= 5 and not any(start <= word.start() < stop for start, stop in formal)
        for at in range(word.start() + 1, word.end() - 2)
        if text[at] != text[at + 1]
    ]
    if not swaps:
        return text
    at = swaps[zlib.crc32(text.encode()) % len(swaps)]
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def add_question_mark(text: str) -> str:
    """A question mark at the end, if there is none."""
    return text if text.rstrip().endswith("?") else text.rstrip() + "?"


CHANGES: Mapping[str, Callable[[str], str]] = {
    "variables_renamed": rename_variables,
    "notation_swapped": swap_notation,
    "spelling_swapped": swap_spelling,
    "one_typo": add_typo,
    "question_mark": add_question_mark,
}


def change_queries(queries: Sequence[BenchmarkQuery], change: str) -> list[BenchmarkQuery]:
    """The queries that the named change alters, altered, with their ids kept."""
    altered = [replace(query, query=CHANGES[change](query.query)) for query in queries]
    return [new for new, old in zip(altered, queries, strict=True) if new.query != old.query]


def measure_robustness(
    retriever: Retriever,
    queries: Sequence[BenchmarkQuery],
    rankings: Sequence[Ranking],
    family_of: Mapping[str, str],
    *,
    k: int = 100,
    seed: int = 0,
    metrics: Sequence[str] = ("ndcg_at_10", "recall_at_10"),
) -> dict[str, Any]:
    """Per change: how many queries it alters, and `evaluate.compare` of unchanged (a) and changed (b) answers.

    `rankings` are the retriever's answers to `queries`. A change that alters no query has `queries` 0 alone.
    """
    before = {ranking.query_id: ranking for ranking in rankings}
    slices: dict[str, Any] = {}
    for change in CHANGES:
        changed = change_queries(queries, change)
        if not changed:
            slices[change] = {"queries": 0}
            continue
        after = rank_benchmark(retriever, changed, family_of, k)
        slices[change] = compare([before[query.query_id] for query in changed], after, metrics=metrics, seed=seed)
    return slices
