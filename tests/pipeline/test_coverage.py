"""No stage trains or chooses on data that no audit has seen. Just this file: pytest tests/pipeline/test_coverage.py

The DAG is read by DVC itself, with its parameters filled in. A stage that the table of harmless stages does not name
counts as training, so a new stage is either covered or has to be argued for here.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

from lean_finder.params import Params, load_params
from lean_finder.pipeline.hidden import set_files

#: Stages that fit no model and choose nothing, each with the reason.
HARMLESS = {
    "check_params": "reads parameters only",
    "prepare_models": "copies base models; the tiny ones take their vocabulary from the library and are random",
    "extract": "parses the library",
    "informalize": "writes the library's descriptions, which every audit reads with the library",
    "split": "makes the manifest that the audit judges",
    "paraphrase": "makes what the audit judges",
    "generate": "makes what the audit judges",
    "audit": "is the audit",
    "audit_meaning": "shows pairs of texts, decides nothing",
    "certify": "hashes",
    "certificate": "hashes",
    "index": "applies a trained retriever",
    "evaluate": "scores a finished retriever",
    "evaluate_baselines": "scores models that nobody trained here",
    "evaluate_hybrid": "scores a finished retriever under the fusion that choose_fusion chose",
    "report": "reads results",
}
#: Stages that fit a model or choose a setting on data.
TRAINING = {
    "calibrate_judge",
    "choose_fusion",
    "mine_first_negatives",
    "mine_negatives",
    "start_generator",
    "train_generator",
    "train_retriever",
}
#: Modules that fit or choose: who imports one is not harmless, whatever the table says.
FITTING = (
    "lean_finder.retrieval.training",
    "lean_finder.generation.sft",
    "lean_finder.generation.grpo",
    "lean_finder.judging.calibration",
    "lean_finder.evaluation.fusion",
    "lean_finder.pipeline.negatives",
)
#: Files that are neither queries nor names: covered as the manifest and the library of every audit.
_CORPUS = ("artifacts/corpus/",)
_NOT_DATA = ("src/", "reports/", "params.yaml")


@dataclass(frozen=True)
class Stage:
    """A stage of the resolved DAG; `module` is what its command runs."""

    module: str
    reads: frozenset[str]
    writes: frozenset[str]

    def feeds(self, path: str) -> bool:
        """Whether it writes that path, or a part or the whole of it."""
        return any(path == out or path.startswith(f"{out}/") or out.startswith(f"{path}/") for out in self.writes)


Dag = Mapping[str, Stage]


def read_dag(folder: Path) -> Dag:
    """The stages of dvc.yaml, as DVC resolves them."""
    repo = Repo(str(folder))
    try:
        return {
            stage.name: Stage(
                stage.cmd.split()[3],
                frozenset(dep.def_path for dep in stage.deps if dep.def_path != "params.yaml"),
                frozenset(out.def_path for out in stage.outs),
            )
            for stage in repo.index.stages
            if getattr(stage, "name", None)
        }
    finally:
        repo.close()


def uncovered(dag: Dag, params: Params) -> list[str]:
    """Every (stage, data file) that trains or chooses without an audit of that file before it."""
    found = []
    for name, stage in dag.items():
        if name.split("@")[0] in HARMLESS:
            continue
        audited: set[str] = set()
        for other in ancestors(dag, name):
            if other.startswith("audit@"):
                files = {path for _, path in set_files(params, [other.removeprefix("audit@")]).values()}
                audited |= {path for path in files if path in dag[other].reads}
                audited |= {path for path in dag[other].reads if path.startswith(_CORPUS)}
        found += [f"{name} reads {path}" for path in sorted(stage.reads) if _is_data(dag, path) and path not in audited]
    return found


def _is_data(dag: Dag, path: str) -> bool:
    """Data or a set made from it; a model is not, its own training stage answers for it."""
    if path.startswith(_NOT_DATA):
        return False
    makers = [name.split("@")[0] for name, stage in dag.items() if stage.feeds(path)]
    # What a covered stage has made, or is applied by one, carries no further data.
    return not makers or any(maker in ("extract", "informalize", "split", "paraphrase", "generate") for maker in makers)


def ancestors(dag: Dag, name: str) -> set[str]:
    """Stages that run before a stage because of what it reads."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for path in dag[waiting.pop()].reads:
            for other, stage in dag.items():
                if other not in seen and stage.feeds(path):
                    seen.add(other)
                    waiting.append(other)
    return seen


@pytest.fixture(scope="module")
def params(repository: Path) -> Params:
    return load_params(repository / "params.yaml")


@pytest.fixture(scope="module")
def dag(repository: Path) -> Dag:
    return read_dag(repository)


def test_every_training_stage_is_covered(dag: Dag, params: Params) -> None:
    training = {name.split("@")[0] for name in dag} - HARMLESS.keys()
    assert training == TRAINING
    assert uncovered(dag, params) == []


def test_the_harmless_import_nothing_that_fits(repository: Path, dag: Dag) -> None:
    folder = repository / "src/lean_finder/pipeline"
    fitting = {
        name.split("@")[0] for name, stage in dag.items() if _imports(folder / f"{stage.module}.py") & set(FITTING)
    }
    assert fitting == TRAINING
    assert not fitting & HARMLESS.keys()
    for module in FITTING:
        assert (repository / "src" / Path(*module.split("."))).with_suffix(".py").is_file()


def test_every_stage_lists_the_helpers_that_it_imports(repository: Path, dag: Dag) -> None:
    """Else a change of what is hidden, drawn or judged would leave a stage as it was."""
    stages = {stage.module for stage in dag.values()}
    for name, stage in dag.items():
        wanted = _helpers(repository / "src/lean_finder/pipeline", stage.module, stages)
        assert wanted - stage.reads == set(), f"{name} in dvc.yaml"


def _helpers(folder: Path, stage: str, stages: set[str]) -> set[str]:
    """Files of the pipeline that a stage imports, through others too; stages and what says nothing of data left out."""
    found: set[str] = set()
    waiting = [stage]
    while waiting:
        modules = _imports(folder / f"{waiting.pop()}.py")
        names = {module.rpartition(".")[2] for module in modules if module.startswith("lean_finder.pipeline.")}
        waiting += sorted(names - found)
        found |= names
    return {f"src/lean_finder/pipeline/{name}.py" for name in found - stages - {"stage"}}


def test_what_chooses_outside_the_dag_is_audited_as_well(repository: Path, dag: Dag, params: Params) -> None:
    folder = repository / "src/lean_finder/pipeline"
    stages = {stage.module for stage in dag.values()}
    fitting = {path.stem for path in folder.glob("*.py") if _imports(path) & set(FITTING)}
    assert fitting - stages == {"tune"}
    # It trains on what the stages train on, behind their audit, and chooses by these two sets of the same audit.
    searched = {(role, path) for role, path in set_files(params, ["r1"]).values() if role == "search_set"}
    assert searched == {("search_set", params.data.style), ("search_set", "artifacts/corpus/splits.parquet")}


def _imports(path: Path) -> set[str]:
    return {node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}


def test_no_number_without_a_certificate(dag: Dag, params: Params) -> None:
    for arm in params.retrievers:
        assert f"reports/audit/certificates/{arm}.json" in dag[f"evaluate@{arm}"].reads
        assert {f"certify@{arm}", f"audit@{arm}", f"train_retriever@{arm}"} <= ancestors(dag, f"evaluate@{arm}")
        # What a certificate compares is what the stage waits for.
        audited = {path for _, path in set_files(params, [arm]).values()}
        assert audited | {f"artifacts/retriever/{arm}", "artifacts/base/retriever"} <= dag[f"certify@{arm}"].reads


PLANTS = {
    "a stage on raw data": (
        {"deps": ["data/queries/style.jsonl"], "outs": ["artifacts/reranker"]},
        "train_reranker reads data/queries/style.jsonl",
    ),
    "a stage on data that no audit knows": (
        {"deps": ["data/new.jsonl", "reports/audit/r0.json"], "outs": ["artifacts/reranker"]},
        "train_reranker reads data/new.jsonl",
    ),
    "a stage behind another round's audit": (
        {"deps": ["artifacts/queries/r2.parquet", "reports/audit/r1.json"], "outs": ["artifacts/reranker"]},
        "train_reranker reads artifacts/queries/r2.parquet",
    ),
    "a stage on the benchmark, behind every audit": (
        {"deps": ["data/benchmark", "reports/audit/r0.json"], "outs": ["artifacts/reranker"]},
        "train_reranker reads data/benchmark",
    ),
    "a stage on dropped rows": (
        {"deps": ["artifacts/queries/r1-dropped.parquet", "reports/audit/r1.json"], "outs": ["artifacts/reranker"]},
        "train_reranker reads artifacts/queries/r1-dropped.parquet",
    ),
}


@pytest.fixture
def copy(repository: Path, tmp_path: Path) -> Path:
    """The DAG's files in a DVC repository of their own."""
    Repo.init(str(tmp_path), no_scm=True).close()
    for name in ("dvc.yaml", "params.yaml", "data.dvc"):
        shutil.copy2(repository / name, tmp_path / name)
    return tmp_path


def _change(folder: Path, name: str, stage: dict[str, object] | None) -> None:
    yaml = YAML()
    text = yaml.load(folder / "dvc.yaml")
    if stage is None:
        body = text["stages"][name]
        deps = body["do"]["deps"] if "do" in body else body["deps"]
        for place in [place for place, dep in enumerate(deps) if str(dep).startswith("reports/audit")][::-1]:
            del deps[place]
    else:
        text["stages"][name] = {"cmd": "${run} " + name, **stage}
    yaml.dump(text, folder / "dvc.yaml")


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_stage_is_found(copy: Path, params: Params, plant: str) -> None:
    stage, finding = PLANTS[plant]
    _change(copy, "train_reranker", stage)
    assert finding in uncovered(read_dag(copy), params)


def test_a_planted_stage_behind_its_audit_is_not_found(copy: Path, params: Params) -> None:
    deps = ["artifacts/queries/r1.parquet", "artifacts/corpus/splits.parquet", "reports/audit/r1.json"]
    _change(copy, "train_reranker", {"deps": deps, "outs": ["artifacts/reranker"]})
    assert uncovered(read_dag(copy), params) == []


@pytest.mark.parametrize("name", ["calibrate_judge", "mine_first_negatives", "mine_negatives", "start_generator"])
def test_a_stage_that_forgets_its_audit_is_found(copy: Path, params: Params, name: str) -> None:
    _change(copy, name, None)
    assert any(item.startswith(name) for item in uncovered(read_dag(copy), params))


def test_a_retriever_stands_behind_its_audit_twice(copy: Path, params: Params, dag: Dag) -> None:
    """By its own edge, and by that of the negatives that it waits for; only without both is it uncovered."""
    for arm in params.retrievers:
        assert f"reports/audit/{arm}.json" in dag[f"train_retriever@{arm}"].reads
    _change(copy, "train_retriever", None)
    assert uncovered(read_dag(copy), params) == []
    _change(copy, "mine_first_negatives", None)
    _change(copy, "mine_negatives", None)
    bare = {item.split()[0] for item in uncovered(read_dag(copy), params)}
    assert {f"train_retriever@{arm}" for arm in params.retrievers} <= bare
