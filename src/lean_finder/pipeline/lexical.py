"""BM25 over the corpus: the retriever that stages rank with, compare with, and fuse with the dense one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lean_finder.corpus.render import render_query
from lean_finder.pipeline.corpus import Corpus
from lean_finder.retrieval.lexical import LexicalRetriever


def build_lexical(corpus: Corpus, text: Callable[[str], str] | None = None) -> LexicalRetriever:
    """Every declaration by its full text or, by name, by what `text` shows of it."""
    texts = [(text or corpus.text)(name) for name in corpus.names]
    render = partial(render_query, renderer=corpus.renderer)
    return LexicalRetriever.build(corpus.names, texts, corpus="", render_query=render)
