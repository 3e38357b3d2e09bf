"""Kind (i): a generated query that contains its target's name teaches string matching instead of meaning."""

from __future__ import annotations

import re

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.folding import clean_name, fold_tokens, name_key, words_of_name

#: A run of this many name words is the name spelt out; fewer are often plain English ("has binary products").
_SPELT_WORDS = 4
_WORD = re.compile(r"[^\s,;:()\[\]{}\"`$]+")


def name_in_query(query: str, name: str) -> str:
    """How a query contains a declaration's name; "" if it does not.

    A name of one plain word ("Lattice") is a word of mathematics and does not count.
    """
    last = clean_name(name).rpartition(".")[2]
    words = words_of_name(last)
    keys = {name_key(name)} if "." in clean_name(name) else set()
    if len(words) > 1:
        keys.add(name_key(last))
    for word in _WORD.findall(query):
        identifier = "_" in word or "." in word.strip(".") or word[1:].lower() != word[1:]
        key = name_key(word)
        if key in keys and (identifier or key == name_key(name)):
            return f"the query contains the target's name, {word!r}"
    tokens = fold_tokens(query)
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
    for row, (query, target) in enumerate(zip(case.rows.frame["query"].tolist(), case.rows.targets, strict=True)):
        evidence = name_in_query(query, target) if isinstance(query, str) and target else ""
        if evidence:
            add_evidence(found, [row], evidence)
    return found


TARGET_NAME = Check(
    "target_name", "i", "critical", "No generated query may contain its target's name: that teaches string matching.", find_names
)
