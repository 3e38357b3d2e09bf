"""What settings are chosen on: queries of validation declarations, never a benchmark.

The queries are the short ones in real users' style. Where there are none for this library, docstrings of validation
declarations ask for documents from which the docstring has been taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lean_finder.corpus.render import render_query
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus
from lean_finder.pipeline.sets import style_queries, validation_pairs
from lean_finder.records import BenchmarkQuery, StyleQuery, from_frame
from lean_finder.retrieval.settings import ValidationSet

#: Docstrings asked at most, drawn by seed: the interval of 500 is narrower than any difference worth a setting.
_MOST_QUERIES = 500
#: Documents that early stopping searches: enough to be hard, little enough to be encoded every few steps.
_MOST_DOCUMENTS = 2000


@dataclass(frozen=True)
class Questions:
    """Validation queries, and the declarations that must be read without docstring to make them questions."""

    queries: list[BenchmarkQuery]
    masked: frozenset[str]

    def text(self, corpus: Corpus, name: str) -> str:
        """A declaration as these queries may see it."""
        return corpus.text(name, "formal" if name in self.masked else "full")


def short_queries(params: Params, corpus: Corpus) -> list[BenchmarkQuery]:
    """The short queries of validation declarations; none if `data.style` speaks of another library."""
    pairs = validation_pairs(style_queries(Path(params.data.style)), corpus)
    queries = []
    for line, row in zip(pairs.index + 1, from_frame(StyleQuery, pairs), strict=True):
        kind = corpus.by_name[row.declaration].kind
        queries.append(BenchmarkQuery(f"validation/{line}", row.query, row.declaration, row.style, kind=kind))
    return queries


def validation_questions(params: Params, corpus: Corpus) -> Questions:
    """Short queries if there are any, else docstrings.

    Raises:
        InputError: no validation declaration has a short query or a docstring.
    """
    if queries := short_queries(params, corpus):
        return Questions(queries, frozenset())
    targets = corpus.targets("validation")
    if not targets:
        raise InputError(paths.SPLITS, "no validation declaration has a query or a docstring", "raise validation_share")
    drawn = np.random.default_rng(params.seed).permutation(len(targets))[:_MOST_QUERIES]
    asked = [targets[at] for at in sorted(drawn.tolist())]
    queries = [BenchmarkQuery(f"docstring/{item.name}", item.docstring, item.name, "docstring") for item in asked]
    return Questions(queries, frozenset(query.gold for query in queries))


def training_validation(params: Params, corpus: Corpus, documents: int = _MOST_DOCUMENTS) -> ValidationSet:
    """The questions over a sample of the corpus that contains every answer, rendered for the encoder."""
    questions = validation_questions(params, corpus)
    golds = list(dict.fromkeys(query.gold for query in questions.queries))
    others = np.random.default_rng(params.seed).permutation(np.array(corpus.names, dtype=object))
    names = list(dict.fromkeys([*golds, *others.tolist()]))[: max(documents, len(golds))]
    place = {name: at for at, name in enumerate(names)}
    return ValidationSet(
        [render_query(query.query, corpus.renderer) for query in questions.queries],
        [questions.text(corpus, name) for name in names],
        [place[query.gold] for query in questions.queries],
    )
