"""Kinds (e) and (g): the words of a test query, or of a test theorem's description, in training text."""

from __future__ import annotations

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.textindex import NEAR, Match, TextIndex, compare_words

#: A description reworded by one word is the same description, if it is long enough to say so.
_REWORDED_EDITS, _REWORDED_WORDS = 1, 6


def _matches(case: Case, name: str, index: TextIndex) -> dict[str, Match]:
    """Distinct training text -> its strongest match in an index; computed once a set."""
    if name not in case.notes:
        texts = case.rows.texts
        case.notes[name] = {texts[place]: found for place, found in index.matches(texts, case.rows.folded).items()}
    return case.notes[name]  # type: ignore[return-value]


def _describe(match: Match) -> str:
    tail = f", similarity {match.similarity:.2f}" if match.kind == NEAR else ""
    return f"{match.kind}: {match.hidden.label} ({match.hidden.gold}) says {_short(match.hidden.text)!r}{tail}"


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "…"


def find_query_texts(case: Case) -> dict[int, str]:
    """Rows with the text of a test query: exact, folded, contained or cut off."""
    found: dict[int, str] = {}
    for text, match in _matches(case, "queries", case.side.queries).items():
        if match.kind != NEAR:
            add_evidence(found, case.rows.by_text[text], _describe(match))
    return found


def find_near_queries(case: Case) -> dict[int, str]:
    """Rows with a text whose words are nearly those of a test query."""
    found: dict[int, str] = {}
    for text, match in _matches(case, "queries", case.side.queries).items():
        if match.kind == NEAR:
            add_evidence(found, case.rows.by_text[text], _describe(match))
    return found


def find_descriptions(case: Case) -> dict[int, str]:
    """Rows with a test theorem's docstring or description, whole or reworded by one word."""
    found: dict[int, str] = {}
    for text, match in _matches(case, "descriptions", case.side.descriptions).items():
        for row in case.rows.by_text[text]:
            if match.kind != NEAR or _is_reworded(case, text, match, case.rows.targets[row]):
                add_evidence(found, [row], _describe(match))
    return found


def _is_reworded(case: Case, text: str, match: Match, target: str) -> bool:
    """One content word off, and not simply the target's own text, which may well resemble its neighbour's."""
    own = [other for other in case.side.text_of.get(target, ()) if other]
    folded = case.side.vocabulary.fold([text, *own])
    words = folded.of(0).tolist()
    if match.edits > _REWORDED_EDITS or len(set(words)) < _REWORDED_WORDS:
        return False
    # A sentence of the target's own text is its own, however much more that text says.
    if any(set(words) <= set(folded.of(place).tolist()) for place in range(1, len(folded))):
        return False
    similarities = [compare_words(words, folded.of(place).tolist())[0] for place in range(1, len(folded))]
    return max(similarities, default=0.0) < match.similarity


QUERY_TEXT = Check(
    "query_text",
    "e",
    "critical",
    "No training text may be a test query, contain one or be one cut short, whatever its case, spacing or notation.",
    find_query_texts,
    ahead=lambda case: case.rows.folding,
)
QUERY_NEAR = Check(
    "query_near",
    "e",
    "warning",
    "A training text with nearly the words of a test query deserves a look.",
    find_near_queries,
)
GOLD_DESCRIPTION = Check(
    "gold_description",
    "g",
    "critical",
    "No training text may be the docstring or description of a test theorem, not even with one word changed.",
    find_descriptions,
)
