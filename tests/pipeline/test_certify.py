"""No certificate for other bytes, no number without one. Just this file: pytest tests/pipeline/test_certify.py"""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lean_finder.errors import InputError
from lean_finder.pipeline import paths
from lean_finder.pipeline.certify import certify
from lean_finder.pipeline.evaluate import certified
from lean_finder.reporting.formatting import describe
from lean_finder.storage import dvc_md5, write_json, write_text

_DEPS = ("artifacts/base/retriever", "artifacts/queries/r1.parquet", "reports/audit/r1.json", "src/train.py")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a training of r1 leaves behind, with DVC's record of it."""
    monkeypatch.chdir(tmp_path)
    sets = {"r1": {"path": "artifacts/queries/r1.parquet"}, "style": {"path": "data/style.jsonl"}}
    report = {"passed": True, "warnings": 0, "checks": {}, "sets": sets, "not_checked": []}
    write_json(paths.audit("r1"), report)
    for name in (
        "artifacts/base/retriever/weights",
        *_DEPS[1:2],
        "data/style.jsonl",
        "src/train.py",
        str(paths.SPLITS),
        str(paths.negatives("r1")),
    ):
        write_text(Path(name), name)
    write_text(paths.retriever("r1") / "weights", "trained")
    _record()
    return tmp_path


def _record() -> None:
    stage = {
        "deps": [{"path": path, "md5": dvc_md5(Path(path))} for path in _DEPS],
        "outs": [{"path": str(paths.retriever("r1")), "md5": dvc_md5(paths.retriever("r1"))}],
    }
    with Path("dvc.lock").open("w") as stream:
        YAML(typ="safe").dump({"stages": {"train_retriever@r1": stage}}, stream)


def test_a_certified_retriever_may_be_scored(run: Path) -> None:
    certificate = certify("r1")
    files = {"artifacts/queries/r1.parquet", "data/style.jsonl", "artifacts/negatives/r1.parquet"}
    assert {item["path"] for item in certificate["data"]} == files
    assert certified("r1", allow_uncertified=False).status == "certified"


def test_code_that_changed_since_does_not_matter(run: Path) -> None:
    write_text(Path("src/train.py"), "a comment more")
    assert certify("r1")["arm"] == "r1"


@pytest.mark.parametrize(
    "path", ["artifacts/queries/r1.parquet", "artifacts/base/retriever/weights", "reports/audit/r1.json"]
)
def test_a_retriever_trained_on_something_else_gets_no_certificate(run: Path, path: str) -> None:
    write_text(Path(path), "another one")
    with pytest.raises(InputError, match="is not what the retriever of r1 was trained with"):
        certify("r1")
    assert not paths.certificate("r1").exists()


def test_weights_that_dvc_did_not_record_get_no_certificate(run: Path) -> None:
    write_text(paths.retriever("r1") / "weights", "from elsewhere")
    with pytest.raises(InputError, match="artifacts/retriever/r1"):
        certify("r1")
    Path("dvc.lock").unlink()
    with pytest.raises(InputError, match="no record of the training"):
        certify("r1")


@pytest.mark.parametrize(
    "what",
    [
        "artifacts/retriever/r1/weights",
        "artifacts/corpus/splits.parquet",
        "data/style.jsonl",
        "artifacts/negatives/r1.parquet",
    ],
)
def test_bytes_that_changed_are_scored_only_on_request(run: Path, what: str) -> None:
    certify("r1")
    write_text(Path(what), "changed")
    with pytest.raises(InputError, match="no benchmark number without a certificate"):
        certified("r1", allow_uncertified=False)
    standing = certified("r1", allow_uncertified=True)
    assert standing.status == "uncertified"
    assert standing.reason


def test_no_certificate_no_number(run: Path) -> None:
    with pytest.raises(InputError, match="allow_uncertified"):
        certified("r1", allow_uncertified=False)


def test_the_table_says_uncertified() -> None:
    row = {"is_arm": True, "round": 1, "reward": "both", "generator": "rl", "uncertified": "no certificate"}
    assert describe(row).startswith("UNCERTIFIED: round 1")
    assert not describe({**row, "uncertified": ""}).startswith("UNCERTIFIED")
