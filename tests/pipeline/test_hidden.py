"""What an audit of the pipeline's own data is held against. Just this file: pytest tests/pipeline/test_hidden.py"""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lean_finder.errors import InputError
from lean_finder.params import Params, load_params
from lean_finder.pipeline.benchmarks import held_out_queries, load_benchmarks
from lean_finder.pipeline.hidden import own_inputs, recorded_origin, set_files
from lean_finder.records import BENCHMARK_STYLES
from lean_finder.storage import write_json


@pytest.fixture
def params(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(repository / "params.yaml")


def test_only_the_recorded_generator_may_have_written_an_arms_queries(params: Params) -> None:
    stages = {"train_generator@r1": {"outs": [{"path": "artifacts/generator/r1", "md5": "0123456789abcdef.dir"}]}}
    with Path("dvc.lock").open("w") as stream:
        YAML(typ="safe").dump({"stages": stages}, stream)
    origin = recorded_origin(params, ["r0", "r1", "r2"])
    assert origin.models == {"r1": {"0123456789ab"}, "r2": {"unrecorded"}}
    assert origin.rounds == {"r0": "r0", "r1": "r1", "r2": "r2"}
    assert origin.arms == {"r0", *params.arms}


def test_without_a_record_no_generator_may(params: Params) -> None:
    assert recorded_origin(params, ["r1"]).models == {"r1": {"unrecorded"}}


def test_every_arm_sees_its_own_queries_and_round_0(params: Params) -> None:
    files = set_files(params, ["r2"])
    assert files["r2"] == ("generated_queries", "artifacts/queries/r2.parquet")
    assert files["r0"] == ("long_queries", "artifacts/queries/r0.parquet")
    assert {"style", "judge", "prompts"} < files.keys()
    assert "r1" not in files


def test_nothing_made_yet_is_said(params: Params) -> None:
    with pytest.raises(InputError, match="no query sets"):
        own_inputs(params)


def test_every_row_is_hidden_whichever_row_set_is_scored(params: Params) -> None:
    names = [f"Name.n{number}" for number in range(158)]
    entries = [{"id": f"A{place}", "full_name": name} for place, name in enumerate(names)]
    texts = {slot: f"query {place}" for place, slot in enumerate(BENCHMARK_STYLES)}
    texts_of_last = texts | {"q1a_lean": "", "q1b_latex": ""}
    write_json(Path("benchmark/qr.json"), [entry | texts for entry in entries[:-1]] + [entries[-1] | texts_of_last])
    write_json(Path("benchmark/shared.json"), {"shared_declarations": names[:135], "missing_in_4280": names[149:]})
    changed = {
        "data": {**params.data.model_dump(), "benchmark": "benchmark"},
        "benchmarks": {"qr": {"file": "qr.json", "shared": "shared.json", "rows": 810}},
    }
    scored = Params.model_validate({**params.model_dump(), **changed})
    assert len(load_benchmarks(scored)["qr"]) == 810
    hidden = held_out_queries(scored)["qr"]
    assert len(hidden) == 946
    assert {query.gold for query in hidden} == set(names)
