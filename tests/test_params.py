"""params.yaml and conf/: composed alike, refused by name. Run alone: pytest tests/test_params.py"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lean_finder.composition import compose
from lean_finder.errors import InputError
from lean_finder.params import load_params, parse_params

MINED = {"per_query": 1, "first_rank": 5, "last_rank": 50, "margin": 0.0, "documents": 20000}
SCALES = ("smoke", "cpu", "mathlib-cpu", "paper")


def test_a_fresh_clone_is_at_scale_cpu(repository: Path) -> None:
    assert (repository / "params.yaml").read_text() == compose(repository / "conf", [])
    assert load_params(repository / "params.yaml").scale == "cpu"


@pytest.mark.parametrize("arms", ["rounds", "ablations"])
@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_composes_to_checked_parameters(repository: Path, scale: str, arms: str) -> None:
    params = parse_params(compose(repository / "conf", [f"scale={scale}", f"arms={arms}"]), "conf")
    assert params.scale == scale


def test_the_paper_scale_has_the_papers_reward(repository: Path) -> None:
    reward = parse_params(compose(repository / "conf", ["scale=paper"]), "conf").generator.reward
    assert (reward.easy_rank, reward.full_rank, reward.lost_rank) == (5, 30, 100)
    assert (reward.length_start, reward.length_full, reward.length_weight) == (40, 50, 0.15)


def _changed(repository: Path, path: str, value: object) -> str:
    values = YAML(typ="safe").load((repository / "params.yaml").read_text())
    *parents, last = path.split(".")
    section = values
    for parent in parents:
        section = section[parent]
    section[last] = value
    stream = StringIO()
    YAML().dump(values, stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("retriever.margn", 0.1, "unknown parameter retriever.margn"),
        ("sed", 1, "unknown parameter sed"),
        ("seed", "seventeen", "parameter seed: Input should be a valid integer, got 'seventeen'"),
        ("retriever.temperature", 0, "parameter retriever.temperature"),
        ("retriever.hard_negatives", {"per_query": 1}, "missing parameter retriever.hard_negatives.first_rank"),
        ("retriever.hard_negatives", {**MINED, "per_query": 0}, "parameter retriever.hard_negatives.per_query"),
        ("retriever.hard_negatives", {**MINED, "rank": 1}, "unknown parameter retriever.hard_negatives.rank"),
        (
            "retriever.hard_negatives",
            {**MINED, "last_rank": 4},
            "parameter retriever.hard_negatives: .*first_rank 5 is",
        ),
        ("retriever.batch_size", 1, "parameter retriever.batch_size"),
        ("generator.grpo.sft_schedule", "step", "parameter generator.grpo.sft_schedule"),
        ("arms.r2.prev", "r7", "arms.r2.prev: 'r7' is not another of"),
        ("retrievers", ["r0", "r1"], "retrievers must list exactly r0 and the keys of arms"),
        ("final", "r9", "final: 'r9' is not one of"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(repository: Path, path: str, value: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace("[", r"\[")):
        parse_params(_changed(repository, path, value), "params.yaml")


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(InputError, match="missing parameter retriever"):
        parse_params("seed: 1\n", "params.yaml")


@pytest.mark.parametrize("text", ["a: [1", "\t- x", "- 1\n- 2"])
def test_what_is_not_a_yaml_mapping_is_one_clear_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_params(text, "params.yaml")


def test_a_missing_file_says_how_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make params"):
        load_params(tmp_path / "params.yaml")


def test_an_unknown_override_is_refused(repository: Path) -> None:
    with pytest.raises(InputError, match="nosuch"):
        compose(repository / "conf", ["nosuch.key=1"])
