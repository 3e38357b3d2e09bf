"""Lexical search: BM25 over names and rendered texts.

Names are split where Lean users split them (dots, underscores, capitals), a symbol is a word of its own, and an
identifier is also kept whole, so `IsCompact.image` is found by "compact image", by `IsCompact` and by itself.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from tqdm import tqdm

from lean_finder.errors import InputError
from lean_finder.retrieval.retriever import clean_query
from lean_finder.retrieval.scoring import Scores, ScoringRetriever
from lean_finder.storage import atomic_path, read_json, write_json, write_text

logger = logging.getLogger(__name__)

#: Changes with every change of `lexical_tokens`: an index made by another version is refused.
TOKENIZER = "words-v1"

_FIX = "build the lexical index again"
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IGNORED = frozenset("`.,;:()[]{}$'\"_⟨⟩!?")


def lexical_tokens(text: str) -> list[str]:
    """Lower-case words, word parts, numbers and symbols of a text, in order.

    >>> lexical_tokens("IsCompact.image ⊔ x2")
    ['is', 'compact', 'iscompact', 'image', '⊔', 'x', '2']
    """
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word in _IGNORED:
            continue
        parts = _BOUNDARY.split(word)
        tokens.extend(part.lower() for part in parts)
        if len(parts) > 1:
            tokens.append(word.lower())
    return tokens


class LexicalRetriever(ScoringRetriever):
    """BM25 (Lucene's variant) over one corpus: a retriever of its own in every table."""

    def __init__(self, names: Sequence[str], model: Any, corpus: str, render_query: Callable[[str], str] = str) -> None:
        self.names = list(names)
        self._model = model
        self._render_query = render_query
        #: Digest of the corpus that the index was made from.
        self.corpus = corpus

    @classmethod
    def build(
        cls,
        names: Sequence[str],
        texts: Sequence[str],
        *,
        corpus: str,
        render_query: Callable[[str], str] = str,
        k1: float = 1.5,
        b: float = 0.75,
    ) -> LexicalRetriever:
        """Index each declaration by its name and its rendered text; `render_query` brings queries to the same form.

        Raises:
            InputError: no declaration, or another number of texts than of names.
        """
        if len(names) != len(texts) or not len(names):
            raise InputError("lexical index", f"{len(names)} names, {len(texts)} texts", "one each, at least one")
        both = tqdm(zip(names, texts, strict=True), total=len(names), desc="bm25", disable=len(names) < 50_000)
        rows = [lexical_tokens(f"{name} {text}") for name, text in both]
        model = bm25s.BM25(method="lucene", k1=k1, b=b)
        model.index(rows, show_progress=False)
        return cls(names, model, corpus, render_query)

    def save(self, folder: Path) -> None:
        """Write the folder, atomically."""
        with atomic_path(folder) as scratch:
            scratch.mkdir(parents=True)
            self._model.save(scratch, allow_pickle=False)
            write_text(scratch / "names.txt", "".join(f"{name}\n" for name in self.names))
            write_json(scratch / "meta.json", {"corpus": self.corpus, "tokenizer": TOKENIZER, "size": len(self.names)})

    @classmethod
    def load(
        cls, folder: Path, *, corpus: str | None = None, render_query: Callable[[str], str] = str
    ) -> LexicalRetriever:
        """Read a saved index; `corpus`, if given, must be its own digest.

        Raises:
            InputError: missing or damaged files, another tokenizer version, another corpus.
        """
        folder = Path(folder)
        meta = read_json(folder / "meta.json")
        if meta.get("tokenizer") != TOKENIZER:
            raise InputError(folder, f"made by tokenizer {meta.get('tokenizer')!r}, not {TOKENIZER!r}", _FIX)
        if corpus is not None and meta.get("corpus") != corpus:
            raise InputError(folder, "lexical index of another corpus", _FIX)
        try:
            names = (folder / "names.txt").read_text(encoding="utf-8").split("\n")[:-1]
            model = bm25s.BM25.load(folder, load_corpus=False, allow_pickle=False)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(folder, f"damaged lexical index: {error}", _FIX) from error
        if len(names) != meta.get("size"):
            raise InputError(folder, f"damaged lexical index: {len(names)} names of {meta.get('size')}", _FIX)
        return cls(names, model, meta["corpus"], render_query)

    def scores(self, queries: Sequence[str]) -> Scores:
        """BM25 scores (queries, names); 0 for a declaration that shares no token, for all if no token is known."""
        scores = np.zeros((len(queries), len(self.names)), dtype=np.float32)
        for row, query in zip(scores, queries, strict=True):
            known = self._model.get_tokens_ids(lexical_tokens(self._render_query(clean_query(query))))
            if known:
                row[:] = self._model.get_scores_from_ids(known)[: len(row)]
        return scores
