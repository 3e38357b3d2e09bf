"""A certificate speaks for exactly the audited bytes. Just this file: pytest tests/audit/test_certificate.py"""

from __future__ import annotations

from pathlib import Path

import pytest

from lean_finder.audit.certificate import Trained, join_certificates, make_certificate, verify_certificate
from lean_finder.errors import InputError
from lean_finder.storage import file_digest, read_json, write_json


@pytest.fixture
def made(tmp_path: Path) -> Path:
    report = {
        "passed": True,
        "warnings": 3,
        "checks": {"test_target": {"findings": {"r0": 0, "r1": 0}}},
        "not_checked": ["query_meaning"],
    }
    write_json(tmp_path / "audit.json", report)
    for name in ("weights", "base", "pairs", "splits"):
        (tmp_path / name).write_text(name)
    _make(tmp_path)
    return tmp_path


def _make(folder: Path, arm: str = "r1", weights: str = "weights") -> Path:
    trained = Trained(
        arm, folder / weights, folder / "base", folder / "audit.json", [folder / "pairs"], folder / "splits"
    )
    path = folder / ("certificate.json" if arm == "r1" else f"{arm}.json")
    make_certificate(path, trained, folder)
    return path


def _verdict(folder: Path, name: str = "certificate.json", **more: str) -> tuple[bool, str]:
    found = verify_certificate(folder / name, file_digest(folder / "weights"), root=folder, **more)
    return found.valid, found.reason


def test_whole_certificate(made: Path) -> None:
    assert _verdict(made, manifest_digest=file_digest(made / "splits"))[0]
    entry = read_json(made / "certificate.json")
    assert entry["audit"]["checks"] == {"test_target": {"r0": 0, "r1": 0}}
    assert entry["audit"]["warnings"] == 3
    assert entry["not_checked"][0] == "query_meaning"
    assert "base model" in entry["not_checked"][1]
    assert entry["data"] == [{"path": "pairs", "sha256": file_digest(made / "pairs")}]
    assert entry["base"] == {"path": "base", "sha256": file_digest(made / "base")}


def test_made_again_it_has_the_same_bytes(made: Path) -> None:
    before = (made / "certificate.json").read_bytes()
    _make(made)
    assert (made / "certificate.json").read_bytes() == before


def test_the_joined_one_covers_every_retriever(made: Path) -> None:
    (made / "other").write_text("other weights")
    parts = [_make(made), _make(made, "r2", "other")]
    joined = join_certificates(made / "joined.json", parts, "a" * 40, clean=True)
    assert joined["git_commit"] == "a" * 40
    assert sorted(joined["retrievers"]) == ["r1", "r2"]
    assert _verdict(made, "joined.json")[0]
    assert verify_certificate(made / "joined.json", file_digest(made / "other"), root=made).valid
    assert not verify_certificate(made / "joined.json", "0" * 64, root=made).valid


def test_nothing_edited_is_joined(made: Path) -> None:
    _edit(made / "certificate.json", arm="r9")
    with pytest.raises(InputError, match="changed after it was made"):
        join_certificates(made / "joined.json", [made / "certificate.json"], "", clean=True)
    assert not (made / "joined.json").exists()


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


@pytest.mark.parametrize("change", [{"arm": "r2"}, {"not_checked": []}, {"retriever": {"path": "w", "sha256": "0"}}])
def test_edited_certificate(made: Path, change: dict[str, object]) -> None:
    _edit(made / "certificate.json", **change)
    valid, said = _verdict(made)
    assert not valid
    assert "was changed after it was made" in said


def _edit(path: Path, **change: object) -> None:
    write_json(path, read_json(path) | change)


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


@pytest.mark.parametrize(
    ("file", "hint"), [("weights", "train r1 first"), ("base", "no such file"), ("pairs", "no such")]
)
def test_missing_files_are_not_certified(made: Path, file: str, hint: str) -> None:
    (made / file).unlink()
    with pytest.raises(InputError, match=hint):
        _make(made)
