"""The certificate: which bytes a clean audit speaks for.

It ties a retriever's weights to the audit of everything that it was trained on, by SHA-256. It is no signature: who can
write the file can write a new one. What it does is make a mistake loud: another model, another manifest, an audit that
failed, a report or a data file that was changed afterwards, a certificate that was edited by hand.

Each retriever has a certificate of its own, made of content alone: equal bytes in, equal bytes out, whenever and from
whatever commit it is made. The joined one gathers them for the reader and adds the Git commit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lean_finder.errors import InputError
from lean_finder.storage import file_digest, read_json, write_json

_FORMAT = 2


@dataclass(frozen=True)
class Trained:
    """One retriever and what stands behind it.

    Attributes:
        arm: r0, r1, …
        weights: file or folder of the trained model.
        base: file or folder of the model that training started from; it was not audited, and the certificate says so.
        audit: the audit's JSON, as `write_reports` wrote it.
        data: files that the audit read training sets from, and what was mined for them.
        manifest: the manifest's table.
    """

    arm: str
    weights: Path
    base: Path
    audit: Path
    data: Sequence[Path]
    manifest: Path


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate covers a retriever, and why not."""

    valid: bool
    reason: str


def make_certificate(path: Path, trained: Trained, root: Path = Path(".")) -> dict[str, Any]:
    """Write the certificate of one retriever.

    Args:
        path: where it goes.
        trained: the retriever.
        root: folder that recorded paths are relative to.

    Returns:
        What was written: arm; retriever, base, manifest, data, audit, each with path and SHA-256; the audit's checks
        with their counts, its warnings and what it did not check; the seal.

    Raises:
        InputError: a file is missing, or the audit did not pass: there is nothing to certify.
    """
    report = _passed(trained, root)
    body = {
        "format": _FORMAT,
        "arm": trained.arm,
        "retriever": _recorded(trained.weights, root),
        "base": _recorded(trained.base, root),
        "manifest": _recorded(trained.manifest, root),
        "data": [_recorded(file, root) for file in trained.data],
        "audit": {
            **_recorded(trained.audit, root),
            "checks": {name: about["findings"] for name, about in report["checks"].items()},
            "warnings": report["warnings"],
        },
        "not_checked": [*report["not_checked"], "base: what the base model was trained on is not known here"],
    }
    return _sealed(path, body)


def join_certificates(path: Path, parts: Sequence[Path], git_commit: str, clean: bool) -> dict[str, Any]:
    """Write one certificate for several retrievers.

    Args:
        path: where it goes.
        parts: certificates of single retrievers.
        git_commit: the commit that the code, the parameters and the data's hashes were taken from; "" if unknown.
        clean: whether these were exactly the commit's.

    Raises:
        InputError: a part is missing, damaged or was changed by hand.
    """
    bodies = [_read(part) for part in parts]
    body = {
        "format": _FORMAT,
        "git_commit": git_commit,
        "git_clean": clean,
        "retrievers": {item["arm"]: item for item in bodies},
    }
    return _sealed(path, body)


def verify_certificate(
    path: Path, retriever_digest: str, *, manifest_digest: str = "", root: Path = Path(".")
) -> Verdict:
    """Whether the certificate at `path`, single or joined, covers a retriever.

    Args:
        path: the certificate.
        retriever_digest: `storage.file_digest` of the retriever's weights.
        manifest_digest: of the manifest in use; "" = do not compare.
        root: folder that recorded paths are relative to; audit reports and data files found there are hashed again.
    """
    try:
        body = _read(path)
    except InputError as error:
        return Verdict(False, f"no usable certificate: {error}")
    found = [item for item in body.get("retrievers", {"": body}).values() if _digest(item) == retriever_digest]
    if not found:
        return Verdict(False, f"{path} has no entry for a retriever with digest {retriever_digest[:12]}")
    entry = found[0]
    if manifest_digest and entry["manifest"]["sha256"] != manifest_digest:
        return Verdict(False, "the manifest is not the one that the audit used")
    for item in (entry["audit"], *entry["data"]):
        file = root / item["path"]
        if file.exists() and file_digest(file) != item["sha256"]:
            return Verdict(False, f"{item['path']} changed after the audit")
    return Verdict(True, f"certified by {path}")


def _digest(entry: Mapping[str, Any]) -> str:
    return str(entry["retriever"]["sha256"])


def _read(path: Path) -> dict[str, Any]:
    """A certificate without its seal, which has been checked."""
    certificate = read_json(path)
    if not isinstance(certificate, dict) or certificate.get("format") != _FORMAT:
        raise InputError(path, f"is not a certificate of format {_FORMAT}", "make it again: dvc repro certify")
    seal = certificate.pop("seal", None)
    if seal != _seal(certificate):
        raise InputError(path, "was changed after it was made", "make it again: dvc repro certify")
    return certificate


def _passed(trained: Trained, root: Path) -> Mapping[str, Any]:
    report = read_json(root / trained.audit)
    if not isinstance(report, Mapping) or "passed" not in report:
        raise InputError(trained.audit, "is not an audit report", "run the audit again")
    if not report["passed"]:
        raise InputError(trained.audit, f"the audit of {trained.arm} did not pass", "nothing can be certified")
    if not (root / trained.weights).exists():
        raise InputError(trained.weights, "no such file or folder", f"train {trained.arm} first")
    return report


def _recorded(file: Path, root: Path) -> dict[str, str]:
    actual = root / file
    if not actual.exists():
        raise InputError(actual, "no such file", "run the stage that makes it")
    return {"path": actual.relative_to(root).as_posix(), "sha256": file_digest(actual)}


def _sealed(path: Path, body: dict[str, Any]) -> dict[str, Any]:
    certificate = {**body, "seal": _seal(body)}
    write_json(path, certificate)
    return certificate


def _seal(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
