"""A small made-up library whose declarations resemble each other, with honest small rankers and judges."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lean_finder.judging.consistency import Verdict
from lean_finder.records import Declaration, StyleQuery

_TOPICS = {
    "continuous": ("Continuous f", "is continuous"),
    "monotone": ("Monotone f", "is monotone"),
    "injective": ("Injective f", "is injective"),
    "bounded": ("Bounded f", "is bounded"),
    "measurable": ("Measurable f", "is measurable"),
}
_OPERATIONS = {
    "add": ("f + g", "sum"),
    "mul": ("f * g", "product"),
    "comp": ("f ∘ g", "composition"),
    "neg": ("-f", "negation"),
}


def library() -> list[Declaration]:
    """Twenty declarations that resemble each other in fours and fives."""
    return [
        Declaration(
            name=f"{topic.capitalize()}.{operation}",
            kind="theorem",
            module="Toy.Basic",
            line=10 * row + column + 1,
            signature=f"(hf : {formal}) : {formal.split()[0]} ({term})",
            docstring=f"The {word} of two functions each of which {phrase} {phrase}.",
        )
        for row, (topic, (formal, phrase)) in enumerate(_TOPICS.items())
        for column, (operation, (term, word)) in enumerate(_OPERATIONS.items())
    ]


def style_queries() -> list[StyleQuery]:
    """One query of a person per declaration of `library`."""
    queries = []
    for index, item in enumerate(library()):
        topic, operation = item.name.lower().split(".")
        query = f"{operation} of {topic} maps" if index % 2 else f"{topic} {operation}"
        queries.append(StyleQuery(query, item.name, "person", "slogan" if index % 2 else "keywords"))
    return queries


class OverlapRanker:
    """A real, if humble, retriever: documents by the share of the query's letter pairs that they contain."""

    cost = 0.001

    def __init__(self) -> None:
        self.asked = 0
        self._pairs = {item.name: letter_pairs(f"{item.docstring} {item.signature}") for item in library()}

    def ranks(self, queries: list[str], targets: list[str]) -> list[int]:
        self.asked += len(queries)
        ranks = []
        for query, target in zip(queries, targets, strict=True):
            pairs = letter_pairs(query)
            scores = {name: len(pairs & document) for name, document in self._pairs.items()}
            ranks.append(sum(score >= scores[target] for score in scores.values()))
        return ranks


class PrefixJudge:
    """Calls a query consistent if it shares a word of four letters' stem with the target's name; fails on "?"."""

    def __init__(self, cost: float = 0.0001) -> None:
        self.cost = cost
        self.asked = 0

    def judge(self, queries: Sequence[str], declarations: Sequence[str]) -> list[Verdict | None]:
        self.asked += len(queries)
        return [
            None if "?" in query else Verdict(name[:4].lower() in query.lower(), 0.5)
            for query, name in zip(queries, declarations, strict=True)
        ]


def letter_pairs(text: str) -> set[str]:
    """All pairs of neighbouring letters."""
    letters = re.sub(r"\W", "", text.lower())
    return {letters[i : i + 2] for i in range(len(letters) - 1)}
