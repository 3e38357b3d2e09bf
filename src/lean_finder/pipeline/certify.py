"""The certificate of one retriever: these weights, from this data, under this manifest, after this audit.

Reads: the retriever, what it was trained on, the arm's audit, `dvc.lock`. Writes:
`reports/audit/certificates/<arm>.json`, tracked by Git.

The certificate holds content only, no commit and no time, so that making it again at another commit gives the same
bytes and runs nothing below it. The commit stands in the joined certificate, which no benchmark number waits for
(`pipeline/certificate.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lean_finder.audit.certificate import Trained, make_certificate
from lean_finder.errors import InputError
from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.provenance import recorded_files
from lean_finder.storage import dvc_md5, read_json
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Certify the retriever, if what lies here is what it was trained on."""
    tracked.input(paths.retriever(arm), "retriever")
    certificate = certify(arm)
    tracked.tag("certified", certificate["retriever"]["sha256"])
    tracked.artifact(paths.certificate(arm))


def certify(arm: str) -> dict[str, Any]:
    """Write the certificate of one arm's retriever and return it.

    Raises:
        InputError: something here is not what the retriever was trained with, or its audit did not pass.
    """
    _require_recorded(arm)
    audited = sorted({about["path"] for about in read_json(paths.audit(arm))["sets"].values()} - {str(paths.SPLITS)})
    trained = Trained(
        arm=arm,
        weights=paths.retriever(arm),
        base=paths.BASE_RETRIEVER,
        audit=paths.audit(arm),
        data=[*map(Path, audited), paths.negatives(arm)],
        manifest=paths.SPLITS,
    )
    return make_certificate(paths.certificate(arm), trained)


def _require_recorded(arm: str) -> None:
    """Hold the files against what DVC recorded when the retriever was trained.

    Raises:
        InputError: the record is missing, or a file is another one than training read or wrote.
    """
    recorded = recorded_files(f"train_retriever@{arm}")
    if str(paths.retriever(arm)) not in recorded:
        raise InputError("dvc.lock", f"has no record of the training of {arm}", f"dvc repro train_retriever@{arm}")
    for path, digest in recorded.items():
        # Code may change afterwards without changing what was trained.
        if not path.startswith("src/") and not (Path(path).exists() and dvc_md5(Path(path)) == digest):
            raise InputError(path, f"is not what the retriever of {arm} was trained with", "dvc repro")
