"""Guards the search over settings of the pipeline: audited data only, real training at tiny size, one line to apply.

Alone: pytest tests/pipeline/test_tune.py
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import mlflow
import pytest

from lean_finder.composition import compose
from lean_finder.errors import InputError
from lean_finder.generation.models import make_tiny_generator
from lean_finder.generation.paraphrase import paraphrases
from lean_finder.params import Params, parse_params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.index import build_index
from lean_finder.pipeline.tune import make_study, run, with_settings
from lean_finder.records import Declaration, Negative, SplitRow, to_frame
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.tiny_encoder import make_tiny_encoder
from lean_finder.storage import read_json, write_json, write_jsonl, write_table
from lean_finder.tracking import stage_run
from lean_finder.tuning import Trial, report, summarise, trials_of
from tests.generation.toy_library import library, style_queries

SMALL = [
    "scale=smoke", "tuning.arm=r1", "tuning.trials=3", "tuning.documents=12", "tuning.declarations=3",
    "retriever.steps=4", "retriever.batch_size=8", "generator.declarations=4", "generator.grpo.steps=2",
    "generator.grpo.group_size=2", "generator.grpo.prompts_per_step=1", "generator.max_new_tokens=12",
    "generator.reward.length_start=8", "generator.reward.length_full=12",
]  # fmt: skip


@pytest.fixture(scope="module")
def params(repository: Path) -> Params:
    return parse_params(compose(repository / "conf", SMALL), "conf")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, params: Params) -> Iterator[Path]:
    """What `dvc repro train_generator@r1` would find, of the toy library and tiny models."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("world")
        patch.chdir(folder)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'runs.db'}")
        # One declaration in five is for validation.
        splits = [
            SplitRow(item.name, item.name, "validation" if place % 5 == 4 else "train", "test")
            for place, item in enumerate(library())
        ]
        write_table(paths.DECLARATIONS, to_frame(Declaration, library()))
        write_table(paths.SPLITS, to_frame(SplitRow, splits))
        write_jsonl(Path(params.data.style), [asdict(query) for query in style_queries()])
        corpus = load_corpus(params.corpus.renderer)
        texts = [corpus.text(name) for name in corpus.names]
        make_tiny_encoder(paths.BASE_RETRIEVER, 1, texts)
        make_tiny_encoder(paths.retriever("r0"), 2, texts)
        make_tiny_generator(paths.BASE_GENERATOR, 3, texts)
        make_tiny_generator(paths.generator("r0"), 4, texts)
        build_index(Encoder.load(paths.retriever("r0")), corpus, folder / "shards").save(paths.index("r0"))
        long = paraphrases(to_frame(Declaration, corpus.targets("train")), ["docstring", "name"])
        write_table(paths.queries("r0"), long)
        write_table(paths.queries("r1"), long.head(5).assign(arm="r1", source="generated"))
        write_table(paths.negatives("r1"), to_frame(Negative, []))
        write_json(paths.JUDGE, {"encoder": {"threshold": 0.1}})
        write_json(paths.audit("r1"), {"passed": True})
        yield folder


def _search(params: Params, subject: str) -> str:
    with stage_run("tune", subject, "smoke", {}) as tracked:
        run(params, subject, tracked)
    return tracked.run_id


@pytest.mark.parametrize("subject", ["retriever", "generator"])
def test_a_search_trains_for_real_and_every_trial_is_a_nested_run(world: Path, params: Params, subject: str) -> None:
    parent = _search(params, subject)
    study = make_study(params, subject)
    trials = trials_of(study)
    assert len(trials) == 3 and trials[0].present and trials[0].settings == study.present
    complete = [trial for trial in trials if trial.state == "complete"]
    assert complete and all(len(trial.values) == {"retriever": 4, "generator": 3}[subject] for trial in complete)
    assert all(0.0 <= value <= 1.0 for trial in complete for value in trial.values)
    client = mlflow.MlflowClient()
    nested = client.search_runs([client.get_run(parent).info.experiment_id], f"tags.`mlflow.parentRunId` = '{parent}'")
    assert len(nested) == 3
    assert {item.data.params[next(iter(study.space))] for item in nested} == {
        str(trial.settings[next(iter(study.space))]) for trial in trials
    }
    summary = read_json(paths.tuning(study.name))
    assert summary["best"]["value"] == max(trial.value for trial in complete)
    # Called again it has nothing left to do; asked for one more it adds one to the same study.
    _search(params, subject)
    assert len(trials_of(study)) == 3
    more = with_settings(params, {"tuning.trials": 4})
    _search(more, subject)
    with closing(sqlite3.connect(paths.STUDIES)) as store:
        names = [name for (name,) in store.execute("SELECT study_name FROM studies")]
    assert names.count(study.name) == 1 and len(trials_of(make_study(more, subject))) == 4


def test_nothing_is_searched_on_what_the_audit_refused(world: Path, params: Params) -> None:
    write_json(paths.audit("r1"), {"passed": False})
    try:
        with pytest.raises(InputError, match="the audit did not pass"):
            _search(params, "retriever")
    finally:
        write_json(paths.audit("r1"), {"passed": True})
    with pytest.raises(InputError, match="nothing to search for"):
        _search(params, "judge")


def test_another_study_for_other_data_the_same_for_another_present(world: Path, params: Params) -> None:
    name = make_study(params, "retriever").name
    assert make_study(with_settings(params, {"retriever.margin": 0.2, "tuning.trials": 9}), "retriever").name == name
    assert make_study(with_settings(params, {"retriever.steps": 5}), "retriever").name != name
    original = paths.queries("r1").read_bytes()
    paths.queries("r1").write_bytes(original + b" ")
    try:
        assert make_study(params, "retriever").name != name
    finally:
        paths.queries("r1").write_bytes(original)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"retriever.margn": 0.1}, "there is no parameter retriever.margn"),
        ({"retriever": 1}, "retriever is no single value"),
        ({"retriever.temperature": -1.0}, "temperature"),
    ],
)
def test_settings_that_params_yaml_would_refuse_are_refused(
    params: Params, settings: dict[str, float], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        with_settings(params, settings)


def test_the_winner_is_one_command_with_its_interval(world: Path, params: Params) -> None:
    study = make_study(params, "retriever")
    better = {**study.present, "retriever.margin": 0.25}
    trials = [
        Trial(0, "complete", 0.4, (0.2, 0.4, 0.6), study.present, True, ""),
        Trial(1, "complete", 0.5, (0.3, 0.5, 0.7), better, False, ""),
        Trial(2, "pruned", 0.9, (), better, False, ""),
    ]
    text = report(summarise(study, trials, seed=1))
    assert text.splitlines()[0] == (
        "3 trials; best: number 1, 0.5000; over the present 0.4000: +0.1000 [+0.1000, +0.1000] on 3 validation items"
    )
    assert text.endswith("apply: dvc exp run -S retriever.margin=0.25")
    kept = report(summarise(study, [replace(trials[1], settings=study.present, present=True)], seed=1))
    assert kept == "1 trials: the present settings are the best (0.5000)"
