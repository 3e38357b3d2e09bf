"""Guards what settings are chosen on: short queries where there are any, else docstrings that cannot be read off.

Run: pytest tests/pipeline/test_validation.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lean_finder.errors import InputError
from lean_finder.params import Params, load_params
from lean_finder.pipeline.corpus import Corpus
from lean_finder.pipeline.validation import short_queries, training_validation, validation_questions
from lean_finder.records import Declaration, SplitRow, StyleQuery
from lean_finder.storage import write_jsonl


def _corpus(docstrings: bool = True) -> Corpus:
    declarations = [
        Declaration(f"Foo.d{at}", "theorem", "Foo", at, f": {at} = {at}", docstring=f"Says {at}." if docstrings else "")
        for at in range(2500)
    ]
    manifest = [
        SplitRow(item.name, item.name, "validation" if at < 600 else "train", "seed")
        for at, item in enumerate(declarations)
    ]
    return Corpus(declarations, manifest, "plain-v1")


def _params(repository: Path, style: Path) -> Params:
    params = load_params(repository / "params.yaml")
    return params.model_copy(update={"data": params.data.model_copy(update={"style": str(style)})})


def _style(path: Path, *names: str) -> Path:
    rows = [StyleQuery(f"query {name}", name, "person", "keywords") for name in names]
    write_jsonl(path, ({key: getattr(row, key) for key in StyleQuery.__slots__} for row in rows))
    return path


def test_short_queries_of_validation_declarations_come_first(repository: Path, tmp_path: Path) -> None:
    params = _params(repository, _style(tmp_path / "style.jsonl", "Foo.d2000", "Foo.d7"))
    corpus = _corpus()
    questions = validation_questions(params, corpus)
    assert [(item.query_id, item.gold) for item in questions.queries] == [("validation/2", "Foo.d7")]
    assert "Says 7." in questions.text(corpus, "Foo.d7")


def test_docstrings_ask_for_documents_without_them(repository: Path, tmp_path: Path) -> None:
    """500 of 600 validation docstrings, over 2,000 documents of which none that is asked for says its docstring."""
    params = _params(repository, _style(tmp_path / "style.jsonl", "Other.library"))
    corpus = _corpus()
    assert short_queries(params, corpus) == []
    sample = training_validation(params, corpus)
    assert len(sample.queries) == len(set(sample.golds)) == 500 and len(sample.documents) == 2000
    for query, gold in zip(sample.queries, sample.golds, strict=True):
        number = query.removeprefix("Says ").removesuffix(".")
        assert f"{number} = {number}" in sample.documents[gold] and "Says" not in sample.documents[gold]
    assert sum("Says" in text for text in sample.documents) == 1500
    assert sample == training_validation(params, corpus)
    with pytest.raises(InputError, match="no validation declaration"):
        validation_questions(params, _corpus(docstrings=False))
