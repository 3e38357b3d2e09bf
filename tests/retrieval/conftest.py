"""A toy world for the retrieval tests: a corpus, queries that say the same in other words, a tiny encoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lean_finder.records import Pair, to_frame
from lean_finder.retrieval.settings import ValidationSet
from lean_finder.retrieval.tiny_encoder import make_tiny_encoder

_SUBJECTS = ("sum", "product", "union", "closure", "kernel", "image", "limit", "degree")
_OBJECTS = ("finset", "group", "ring", "module", "filter", "graph", "measure", "polynomial")
_CLAIMS = ("is empty", "is positive", "is finite", "commutes", "is monotone", "is injective")


@dataclass(frozen=True)
class ToyWorld:
    """384 declarations (name → text) and the folder of an untrained encoder that knows all words."""

    documents: dict[str, str]
    encoder: Path

    def query(self, name: str) -> str:
        """A query for the declaration; it shares no noun with the document, so only training can match them."""
        swapped = {word: word[::-1] for word in (*_SUBJECTS, *_OBJECTS)}
        return " ".join(swapped.get(word, word) for word in self.documents[name].split() if len(word) > 2)

    def pairs(self, count: int, seed: int = 0) -> pd.DataFrame:
        """The first `count` pairs of a random order, as a `Pair` table."""
        names = np.random.default_rng(seed).permutation(sorted(self.documents))[:count].tolist()
        rows = [
            Pair(f"q{place}", self.query(name), name, "toy", "paraphrase", "r0", "rule:toy")
            for place, name in enumerate(names)
        ]
        return to_frame(Pair, rows)

    def validation(self, names: list[str]) -> ValidationSet:
        """Queries for `names` against the whole corpus."""
        order = list(self.documents)
        golds = [order.index(name) for name in names]
        return ValidationSet([self.query(name) for name in names], list(self.documents.values()), golds)

    def document_text(self, name: str, view: str) -> str:
        """The text of a declaration; both views are the same here."""
        return self.documents[name]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> ToyWorld:
    """The toy world."""
    documents = {
        f"{obj}.{subject}_{claim.replace(' ', '_')}": f"the {subject} of a {obj} {claim}"
        for subject in _SUBJECTS
        for obj in _OBJECTS
        for claim in _CLAIMS
    }
    world = ToyWorld(documents, tmp_path_factory.mktemp("models") / "tiny")
    make_tiny_encoder(world.encoder, 0, [*documents.values(), *map(world.query, documents)])
    return world
