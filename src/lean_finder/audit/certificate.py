"""The certificate: which bytes a clean audit speaks for.

It ties each retriever's weights to the audit of everything that it was trained on, by SHA-256. It is no signature:
who can write the file can write a new one. What it does is make a mistake loud: another model, another manifest, an
audit that failed, a report or a data file that was changed afterwards, a certificate that was edited by hand.
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

_FORMAT = 1


@dataclass(frozen=True)
class Trained:
    """One retriever and what stands behind it.

    Attributes:
        arm: r0, r1, …
        weights: file or folder of the trained model.
        audit: the audit's JSON, as `write_reports` wrote it.
        data: files that it was trained on.
    """

    arm: str
    weights: Path
    audit: Path
    data: Sequence[Path]


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate covers a retriever, and why not."""

    valid: bool
    reason: str


def make_certificate(
    path: Path, trained: Sequence[Trained], manifest: Path, git_commit: str, root: Path = Path(".")
) -> dict[str, Any]:
    """Write the certificate of a set of retrievers.

    Args:
        path: where it goes.
        trained: the retrievers.
        manifest: the manifest's table.
        git_commit: the code that made them.
        root: folder that recorded paths are relative to.

    Returns:
        What was written: git_commit, manifest, retrievers (digest, data, audit with its checks, counts and what it
        did not check), seal.

    Raises:
        InputError: a file is missing, or an audit did not pass: there is nothing to certify.
    """
    body = {
        "format": _FORMAT,
        "git_commit": git_commit,
        "manifest": _recorded(manifest, root),
        "retrievers": {item.arm: _entry(item, root) for item in trained},
    }
    certificate = {**body, "seal": _seal(body)}
    write_json(path, certificate)
    return certificate


def verify_certificate(
    path: Path, retriever_digest: str, *, manifest_digest: str = "", root: Path = Path(".")
) -> Verdict:
    """Whether the certificate at `path` covers a retriever.

    Args:
        path: the certificate.
        retriever_digest: `storage.file_digest` of the retriever's weights.
        manifest_digest: of the manifest in use; "" = do not compare.
        root: folder that recorded paths are relative to; audit reports and data files found there are hashed again.
    """
    try:
        certificate = read_json(path)
    except InputError as error:
        return Verdict(False, f"no usable certificate: {error}")
    if not isinstance(certificate, Mapping) or certificate.get("format") != _FORMAT:
        return Verdict(False, f"{path} is not a certificate of format {_FORMAT}")
    body = {key: value for key, value in certificate.items() if key != "seal"}
    if certificate.get("seal") != _seal(body):
        return Verdict(False, f"{path} was changed after it was made")
    entries = [entry for entry in body["retrievers"].values() if entry["digest"] == retriever_digest]
    if not entries:
        return Verdict(False, f"no entry for a retriever with digest {retriever_digest[:12]}")
    if manifest_digest and body["manifest"]["sha256"] != manifest_digest:
        return Verdict(False, "the manifest is not the one that the audit used")
    for item in (entries[0]["audit"], *entries[0]["data"]):
        file = root / item["path"]
        if file.exists() and file_digest(file) != item["sha256"]:
            return Verdict(False, f"{item['path']} changed after the audit")
    return Verdict(True, f"certified for commit {body['git_commit'][:12]}")


def _entry(item: Trained, root: Path) -> dict[str, Any]:
    report = read_json(item.audit)
    if not isinstance(report, Mapping) or "passed" not in report:
        raise InputError(item.audit, "is not an audit report", "run the audit again")
    if not report["passed"]:
        raise InputError(item.audit, f"the audit of {item.arm} did not pass", "nothing can be certified")
    if not item.weights.exists():
        raise InputError(item.weights, "no such file or folder", f"train {item.arm} first")
    return {
        "digest": file_digest(item.weights),
        "data": [_recorded(file, root) for file in item.data],
        "audit": {
            **_recorded(item.audit, root),
            "checks": {name: sum(about["findings"].values()) for name, about in report["checks"].items()},
            "not_checked": report["not_checked"],
        },
    }


def _recorded(file: Path, root: Path) -> dict[str, str]:
    if not file.exists():
        raise InputError(file, "no such file", "run the stage that makes it")
    return {"path": file.resolve().relative_to(root.resolve()).as_posix(), "sha256": file_digest(file)}


def _seal(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
