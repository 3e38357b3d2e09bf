"""Kind (i): a generated query that contains its target's name teaches string matching instead of meaning."""

from __future__ import annotations

import re
from functools import lru_cache

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.folding import clean_name, fold_tokens, name_key, words_of_name

#: A run of this many name words is the name spelt out; fewer are often plain English ("has binary products").
_SPELT_WORDS = 4
_WORD = re.compile(r"[^\s,;:()\[\]{}\"`$]+")


@lru_cache(maxsize=400_000)
def _forms(name: str) -> tuple[str, str, tuple[str, ...]]:
    """Key of the whole name, key and words of its last component."""
    last = clean_name(name).rpartition(".")[2]
    return name_key(name), name_key(last), tuple(words_of_name(last))


@lru_cache(maxsize=400_000)
def _letters_of_last(name: str) -> str:
    return name_key(clean_name(name).rpartition(".")[2]).replace("'", "")


def may_hold_name(query_key: str, name: str) -> bool:
    """A cheap necessary condition for `name_in_query`: the folded query has the last component's letters in a row."""
    return _letters_of_last(name) in query_key


def name_in_query(query: str, name: str) -> str:
    """How a query contains a declaration's name; "" if it does not.

    A name of one plain word ("Lattice") is a word of mathematics and does not count.
    """
    whole, last, words = _forms(name)
    keys = ({whole} if "." in name else set()) | ({last} if len(words) > 1 else set())
    for word in _WORD.findall(query):
        key = name_key(word.strip("."))
        identifier = "_" in word or "." in word.strip(".") or word[1:].lower() != word[1:]
        if key in keys and (identifier or key == whole):
            return f"the query contains the target's name, {word!r}"
    tokens = tuple(fold_tokens(query))
    if len(words) >= _SPELT_WORDS and any(
        tokens[start : start + len(words)] == words for start in range(len(tokens) - len(words) + 1)
    ):
        return f"the query spells out the target's name, {' '.join(words)!r}"
    return ""


def find_names(case: Case) -> dict[int, str]:
    """Rows of generated sets whose query contains the name of their target."""
    if case.rows.training_set.role != "generated_queries" or "query" not in case.rows.frame:
        return {}
    found: dict[int, str] = {}
    cells = zip(case.rows.frame["query"].tolist(), case.rows.query_keys, case.rows.targets, strict=True)
    for row, (query, key, target) in enumerate(cells):
        if key and target and may_hold_name(key, target):
            evidence = name_in_query(query, target)
            if evidence:
                add_evidence(found, [row], evidence)
    return found


TARGET_NAME = Check(
    "target_name",
    "i",
    "critical",
    "No generated query may contain its target's name: that teaches string matching.",
    find_names,
)
