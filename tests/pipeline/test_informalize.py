"""The stage that describes declarations, against a real server. Run alone: pytest tests/pipeline/test_informalize.py"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lean_finder.composition import compose
from lean_finder.corpus.extract import extract_library
from lean_finder.corpus.render import RENDERERS, render
from lean_finder.errors import InputError
from lean_finder.params import parse_params
from lean_finder.pipeline import paths
from lean_finder.pipeline.informalize import run
from lean_finder.records import Declaration, from_frame, to_frame
from lean_finder.storage import read_json, read_table, write_table, write_text
from lean_finder.tracking import latest_runs, stage_run
from tests.generation.chat_server import OUTPUT_TOKENS, PRICES, PROMPT_TOKENS, ChatServer, cost

LIBRARY = """
/-- A point. -/
structure Plane.Point where
  x : Nat

def Plane.Far (p : Plane.Point) : Prop := 0 < p.x

private theorem Plane.hidden (p : Plane.Point) : p = p := rfl

theorem Plane.far_iff (p : Plane.Point) : Plane.Far p ↔ 0 < p.x := Iff.rfl
"""
TITLE = "Title of Plane.Far: It is about Plane.Far."
#: Enough for some of the four answers that the library needs.
SMALL = f"informalize.budget_tokens={5 * (PROMPT_TOKENS + OUTPUT_TOKENS)}"

#: Overrides of params.yaml -> the table that the stage wrote.
Stage = Callable[..., dict[str, Declaration]]


@pytest.fixture
def extracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What `extract` leaves behind, in a folder of its own."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'store.db'}")
    monkeypatch.chdir(tmp_path)
    write_text(Path("library/Plane.lean"), LIBRARY)
    write_table(paths.EXTRACTED, to_frame(Declaration, extract_library(Path("library"), workers=1).declarations))
    return paths.EXTRACTED.read_bytes()


@pytest.fixture
def stage(repository: Path, server: ChatServer, extracted: bytes) -> Stage:
    """Run the stage as DVC does, without the outputs of an earlier run."""
    endpoint = [f"informalize.base_url={server.url}", "informalize.model=toy", "informalize.key_variable=''"]
    client = PRICES | {"max_output_tokens": 50, "concurrency": 1}
    fixed = [*endpoint, *(f"informalize.{key}={value}" for key, value in client.items())]

    def execute(*overrides: str) -> dict[str, Declaration]:
        params = parse_params(compose(repository / "conf", ["scale=smoke", *fixed, *overrides]), "conf")
        for out in (paths.DECLARATIONS, paths.INFORMALIZED):
            out.unlink(missing_ok=True)
        with stage_run("informalize", "", "smoke", params.model_dump()) as tracked:
            run(params, "", tracked)
        return {item.name: item for item in from_frame(Declaration, read_table(paths.DECLARATIONS))}

    return execute


def test_off_it_passes_the_corpus_on_byte_for_byte(stage: Stage, server: ChatServer, extracted: bytes) -> None:
    stage()
    assert paths.DECLARATIONS.read_bytes() == extracted
    assert read_json(paths.INFORMALIZED) == {"enabled": False}
    assert server.asked == []
    assert not paths.INFORMAL_CACHE.exists()


def test_a_spent_budget_ends_it_and_a_larger_one_pays_for_the_rest_only(stage: Stage, server: ChatServer) -> None:
    first = stage("informalize.enabled=true", SMALL)
    paid = len(server.asked)
    assert 0 < paid < 4
    assert sum(bool(item.informal) for item in first.values()) == paid
    assert read_json(paths.INFORMALIZED)["stopped"] == "budget"

    found = stage("informalize.enabled=true")
    assert sorted(server.asked) == ["Plane.Far", "Plane.Point", "Plane.Point.x", "Plane.far_iff"]
    assert not found["Plane.hidden"].informal
    assert f"- Plane.Far: {TITLE}" in server.prompts["Plane.far_iff"]
    report = read_json(paths.INFORMALIZED)
    assert (report["answered"], report["cached"], report["stopped"]) == (4 - paid, paid, "")
    assert report["total_cost"] == pytest.approx(cost(4))
    assert latest_runs()["informalize"].data.metrics["cached"] == paid

    for renderer in RENDERERS:
        assert "It is about Plane" in render(found["Plane.Far"], renderer)
    assert "It is about" not in render(found["Plane.Far"], "plain-v1", "formal")


def test_a_model_that_the_server_does_not_know_is_named_by_its_own_parameter(stage: Stage, server: ChatServer) -> None:
    server.faults = [404]
    with pytest.raises(InputError, match=r"status 404.*check informalize\.model and informalize\.base_url"):
        stage("informalize.enabled=true")
