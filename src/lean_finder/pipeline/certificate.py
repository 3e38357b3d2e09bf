"""All retrievers' certificates in one, for the reader, with the commit.

Reads: `reports/audit/certificates`, Git. Writes: `reports/audit/certificate.json`, tracked by Git.

The commit is the last one that changed code, parameters, the DAG or the data's hashes, as Git has it when the stage
runs, and not the one that happens to be checked out: a commit that only adds results or text leaves it as it was.
Whether these files differed from that commit is said too. No stage but the report reads this file.
"""

from __future__ import annotations

import subprocess

from lean_finder.audit.certificate import join_certificates
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.tracking import StageRun

#: What decides how a retriever comes out.
_SOURCES = ("src/lean_finder", "params.yaml", "dvc.yaml", "data.dvc", "requirements.lock")


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Join the certificates of the retrievers that params name."""
    commit = _git("log", "-1", "--format=%H", "--", *_SOURCES)
    clean = not _git("status", "--porcelain", "--", *_SOURCES)
    join_certificates(paths.CERTIFICATE, [paths.certificate(name) for name in params.retrievers], commit, clean)
    tracked.artifact(paths.CERTIFICATE)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
