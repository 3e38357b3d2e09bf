"""Hard negatives come from the asked window over training declarations only, and off means off.

Real encoders at tiny size over the toy library. Run alone: pytest tests/pipeline/test_mine_negatives.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lean_finder.composition import compose
from lean_finder.errors import InputError
from lean_finder.generation.paraphrase import paraphrases
from lean_finder.params import HardNegativeParams, Params, parse_params
from lean_finder.pipeline import mine_negatives, paths, train_retriever
from lean_finder.pipeline.corpus import Corpus, load_corpus
from lean_finder.pipeline.index import build_index
from lean_finder.pipeline.negatives import sampled_names
from lean_finder.pipeline.training_pairs import mined_negatives, training_pairs
from lean_finder.pipeline.tune import make_study
from lean_finder.records import Declaration, Negative, SplitRow, columns, to_frame
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex
from lean_finder.retrieval.tiny_encoder import make_tiny_encoder
from lean_finder.storage import read_table, write_json, write_table
from lean_finder.tracking import stage_run
from tests.generation.toy_library import library

#: The family is the topic; a wide margin keeps the whole window.
ASKED = HardNegativeParams(per_query=2, first_rank=2, last_rank=6, margin=2.0, documents=0)
SMALL = ["scale=smoke", "threads=1", "retriever.steps=2", "retriever.batch_size=8"]


@pytest.fixture(scope="module")
def off(repository: Path) -> Params:
    return parse_params(compose(repository / "conf", SMALL), "conf")


@pytest.fixture(scope="module")
def on(off: Params) -> Params:
    return off.model_copy(update={"retriever": off.retriever.model_copy(update={"hard_negatives": ASKED})})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, off: Params) -> Iterator[Corpus]:
    """What `dvc repro mine_negatives@r1` would find; Bounded is held out, Injective is for validation."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("world")
        patch.chdir(folder)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'runs.db'}")
        split = {"Bounded": "test", "Injective": "validation"}
        topics = [(item.name, item.name.split(".")[0]) for item in library()]
        rows = [SplitRow(name, topic, split.get(topic, "train"), "test") for name, topic in topics]
        write_table(paths.DECLARATIONS, to_frame(Declaration, library()))
        write_table(paths.SPLITS, to_frame(SplitRow, rows))
        made = load_corpus(off.corpus.renderer)
        texts = [made.text(name) for name in made.names]
        make_tiny_encoder(paths.BASE_RETRIEVER, 1, texts)
        make_tiny_encoder(paths.retriever("r0"), 2, texts)
        build_index(Encoder.load(paths.retriever("r0")), made, folder / "shards").save(paths.index("r0"))
        long = paraphrases(to_frame(Declaration, made.targets("train")), ["docstring", "name"])
        short = long.head(5).assign(arm="r1", query_id=[f"r1-{at:06d}" for at in range(5)])
        write_table(paths.queries("r0"), long)
        write_table(paths.queries("r1"), short)
        for arm in ("r0", "r1"):
            write_json(paths.audit(arm), {"passed": True})
        yield made


def _mine(params: Params, arm: str) -> pd.DataFrame:
    with stage_run("mine_negatives", arm, "smoke", {}) as tracked:
        mine_negatives.run(params, arm, tracked)
    return read_table(paths.negatives(arm), columns(Negative))


def _train(params: Params, arm: str) -> bytes:
    with stage_run("train_retriever", arm, "smoke", {}) as tracked:
        train_retriever.run(params, arm, tracked)
    return (paths.retriever(arm) / "model.safetensors").read_bytes()


@pytest.mark.parametrize(("arm", "model"), [("r0", paths.BASE_RETRIEVER), ("r1", paths.retriever("r0"))])
def test_negatives_are_of_the_window_over_training_declarations(
    corpus: Corpus, on: Params, arm: str, model: Path
) -> None:
    """Held against a search of the training declarations by hand."""
    table = _mine(on, arm)
    pairs = training_pairs(arm, corpus).set_index("query_id")
    names = np.array([name for name in corpus.names if corpus.split_of[name] == "train"])
    encoder = Encoder.load(model)
    documents = encoder.encode_documents([corpus.text(name) for name in names])
    scores = encoder.encode_queries(pairs["query"].tolist()) @ documents.T
    order = dict(zip(pairs.index, np.argsort(-scores, axis=1, kind="stable"), strict=True))
    for identifier, mined in table.groupby("query_id")["declaration"]:
        family = corpus.family_of[pairs["declaration"][identifier]]
        window = names[order[identifier][ASKED.first_rank - 1 : ASKED.last_rank]]
        allowed = {name for name in window if corpus.family_of[name] != family}
        assert set(mined) <= allowed and len(mined) == min(ASKED.per_query, len(allowed))
    assert {corpus.split_of[name] for name in table["declaration"]} == {"train"}
    assert set(table["query_id"]) <= set(pairs.index) and table["query_id"].nunique() > len(pairs) / 2
    assert table.equals(_mine(on, arm))
    assert not paths.checkpoints("negatives", arm).exists()


def test_off_mines_nothing_and_trains_as_before(corpus: Corpus, off: Params, on: Params) -> None:
    assert _mine(off, "r1").empty
    pairs = training_pairs("r1", corpus)
    assert mined_negatives("r1", pairs) is None
    before = _train(off, "r1")
    mined = _mine(on, "r1").groupby("query_id")["declaration"].agg(list)
    rows = mined_negatives("r1", pairs)
    assert rows == [mined.get(identifier, []) for identifier in pairs["query_id"]]
    assert _train(on, "r1") != before
    _mine(off, "r1")
    assert _train(off, "r1") == before


def test_off_imports_no_torch() -> None:
    code = "import sys, lean_finder.pipeline.mine_negatives; raise SystemExit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_round_0_searches_a_sample_that_holds_every_answer(corpus: Corpus) -> None:
    train = [name for name in corpus.names if corpus.split_of[name] == "train"]
    answers = [train[3], train[5], "Bounded.add"]
    names = sampled_names(corpus, answers, 4, seed=1)
    assert {train[3], train[5]} <= set(names) <= set(train) and 4 <= len(names) <= 6
    assert names == sampled_names(corpus, answers, 4, seed=1)
    assert sampled_names(corpus, answers, 0, seed=1) == sampled_names(corpus, answers, 99, seed=1) == train


def test_what_may_not_be_mined_is_refused(corpus: Corpus, on: Params) -> None:
    pairs = read_table(paths.queries("r1"))
    write_json(paths.audit("r1"), {"passed": False})
    try:
        with pytest.raises(InputError, match="the audit did not pass"):
            _mine(on, "r1")
        write_json(paths.audit("r1"), {"passed": True})
        write_table(paths.queries("r1"), pairs.assign(declaration="Bounded.add"))
        with pytest.raises(InputError, match=r"Bounded\.add"):
            _mine(on, "r1")
    finally:
        write_json(paths.audit("r1"), {"passed": True})
        write_table(paths.queries("r1"), pairs)


def test_an_index_of_another_model_is_refused(corpus: Corpus, on: Params) -> None:
    whole = DenseIndex.load(paths.index("r0"))
    build_index(Encoder.load(paths.BASE_RETRIEVER), corpus, Path("shards")).save(paths.index("r0"))
    try:
        with pytest.raises(InputError, match="another model"):
            _mine(on, "r1")
    finally:
        whole.save(paths.index("r0"))


def test_a_table_of_other_pairs_is_refused(corpus: Corpus, off: Params) -> None:
    write_table(paths.negatives("r1"), to_frame(Negative, [Negative("r7-000000", "Bounded.add")]))
    with pytest.raises(InputError, match="no pair r7-000000"):
        mined_negatives("r1", training_pairs("r1", corpus))


@pytest.mark.parametrize(
    ("name", "message"),
    [("Bounded.add", "is not a training declaration"), ("Injective.add", "is not a training"), ("", "of the family")],
)
def test_a_planted_negative_is_stopped_at_the_door_of_training(
    corpus: Corpus, off: Params, name: str, message: str
) -> None:
    """No audit reads the table: a held-out declaration, a validation one, and a twin of the answer."""
    pairs = training_pairs("r1", corpus)
    planted = name or pairs["declaration"].iloc[0]
    write_table(paths.negatives("r1"), to_frame(Negative, [Negative(pairs["query_id"].iloc[0], planted)]))
    with pytest.raises(InputError, match=message):
        _train(off, "r1")


def test_a_positive_is_measured_as_training_sees_it(corpus: Corpus, on: Params) -> None:
    """A docstring finds the document that has it verbatim; nothing of the window is above *that*, so it is no limit."""
    guarded = ASKED.model_copy(update={"margin": 0.0})
    strict = on.model_copy(update={"retriever": on.retriever.model_copy(update={"hard_negatives": guarded})})
    pairs = training_pairs("r1", corpus).set_index("query_id")
    encoder = Encoder.load(paths.retriever("r0"))
    table = _mine(strict, "r1")
    for row in table.itertuples():
        pair = pairs.loc[row.query_id]
        query = encoder.encode_queries([pair["query"]])[0]
        texts = [corpus.text(row.declaration), corpus.text(pair["declaration"], pair["document_view"])]
        mined, answer = encoder.encode_documents(texts) @ query
        assert mined <= answer + 1e-6
    assert 0 < len(table) < len(_mine(on, "r1"))


def test_a_search_over_what_was_mined_before_it_is_refused(on: Params) -> None:
    values = on.model_dump()
    key = "retriever.hard_negatives.last_rank"
    values["tuning"]["retriever"] = [{"key": key, "low": 10.0, "high": 50.0, "log": False}]
    with pytest.raises(InputError, match=f"{key} does not change"):
        make_study(Params.model_validate(values), "retriever")
    values["tuning"]["retriever"] = [{"key": "contract.max_document_tokens", "low": 32.0, "high": 64.0, "log": False}]
    with pytest.raises(InputError, match="max_document_tokens does not change"):
        make_study(Params.model_validate(values), "retriever")
