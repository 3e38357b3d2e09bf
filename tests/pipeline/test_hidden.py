"""What an audit of the pipeline's own data is held against. Just this file: pytest tests/pipeline/test_hidden.py"""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lean_finder.errors import InputError
from lean_finder.params import Params, load_params
from lean_finder.pipeline.hidden import own_inputs, recorded_origin, set_files


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
