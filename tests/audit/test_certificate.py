"""A certificate speaks for exactly the audited bytes. Just this file: pytest tests/audit/test_certificate.py"""

from __future__ import annotations

from pathlib import Path

import pytest

from lean_finder.audit.certificate import Trained, make_certificate, verify_certificate
from lean_finder.errors import InputError
from lean_finder.storage import file_digest, read_json, write_json


@pytest.fixture
def made(tmp_path: Path) -> Path:
    report = {
        "passed": True,
        "checks": {"test_target": {"findings": {"r0": 0, "r1": 0}}},
        "not_checked": ["query_meaning"],
    }
    write_json(tmp_path / "audit.json", report)
    for name in ("weights", "pairs", "splits"):
        (tmp_path / name).write_text(name)
    _make(tmp_path)
    return tmp_path


def _make(folder: Path) -> None:
    trained = Trained("r1", folder / "weights", folder / "audit.json", [folder / "pairs"])
    make_certificate(folder / "certificate.json", [trained], folder / "splits", "a" * 40, folder)


def _verdict(folder: Path, **more: str) -> tuple[bool, str]:
    found = verify_certificate(folder / "certificate.json", file_digest(folder / "weights"), root=folder, **more)
    return found.valid, found.reason


def test_whole_certificate(made: Path) -> None:
    assert _verdict(made, manifest_digest=file_digest(made / "splits")) == (True, "certified for commit aaaaaaaaaaaa")
    entry = read_json(made / "certificate.json")["retrievers"]["r1"]
    assert entry["audit"]["checks"] == {"test_target": 0}
    assert entry["audit"]["not_checked"] == ["query_meaning"]
    assert entry["data"] == [{"path": "pairs", "sha256": file_digest(made / "pairs")}]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("weights", "no entry for a retriever"),
        ("pairs", "pairs changed after the audit"),
        ("audit.json", "audit.json changed after the audit"),
        ("certificate.json", "no usable certificate"),
    ],
)
def test_any_changed_file_is_noticed(made: Path, file: str, reason: str) -> None:
    (made / file).write_text("changed")
    valid, said = _verdict(made)
    assert not valid
    assert reason in said


def test_edited_certificate(made: Path) -> None:
    body = read_json(made / "certificate.json")
    body["git_commit"] = "b" * 40
    write_json(made / "certificate.json", body)
    valid, said = _verdict(made)
    assert not valid
    assert "was changed after it was made" in said


def test_other_manifest(made: Path) -> None:
    assert _verdict(made, manifest_digest="0" * 64) == (False, "the manifest is not the one that the audit used")


def test_missing_certificate(made: Path) -> None:
    (made / "certificate.json").unlink()
    valid, said = _verdict(made)
    assert not valid
    assert "no such file" in said


def test_failed_audit_is_not_certified(made: Path) -> None:
    write_json(made / "audit.json", {"passed": False, "checks": {}, "not_checked": []})
    with pytest.raises(InputError, match="did not pass"):
        _make(made)


def test_missing_weights_are_not_certified(made: Path) -> None:
    (made / "weights").unlink()
    with pytest.raises(InputError, match="train r1 first"):
        _make(made)
