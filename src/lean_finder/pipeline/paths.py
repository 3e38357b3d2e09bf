"""Where every stage's files are: the one place that spells the paths of `dvc.yaml` in Python."""

from __future__ import annotations

from pathlib import Path

ARTIFACTS = Path("artifacts")
REPORTS = Path("reports")

BASE_RETRIEVER = ARTIFACTS / "base" / "retriever"
BASE_GENERATOR = ARTIFACTS / "base" / "generator"
#: What the Lean files say; `DECLARATIONS` is the same with informal descriptions, where a model has written some.
EXTRACTED = ARTIFACTS / "corpus" / "extracted.parquet"
DECLARATIONS = ARTIFACTS / "corpus" / "declarations.parquet"
EXTRACTION = ARTIFACTS / "corpus" / "extraction.json"
#: What the descriptions cost.
INFORMALIZED = ARTIFACTS / "corpus" / "informalize.json"
SPLITS = ARTIFACTS / "corpus" / "splits.parquet"
JOINS = ARTIFACTS / "corpus" / "joins.parquet"
JUDGE = ARTIFACTS / "judge" / "judge.json"
#: Answers of a model behind an endpoint, by content: paid for once, so no DVC output and never deleted by a stage.
JUDGE_CACHE = ARTIFACTS / "cache" / "judge.sqlite"
INFORMAL_CACHE = ARTIFACTS / "cache" / "informalize.sqlite"
#: Searches over settings; no DVC output: a study grows from day to day.
STUDIES = ARTIFACTS / "tuning" / "studies.sqlite"
#: Ways to fuse the final retriever with BM25, best on validation first.
FUSION = ARTIFACTS / "fusion.json"
CHECKED_PARAMS = ARTIFACTS / "params.json"
#: All retrievers' certificates in one, with the Git commit.
CERTIFICATE = REPORTS / "audit" / "certificate.json"
#: The check of meaning, over all arms.
MEANING = REPORTS / "audit" / "meaning.json"
RESULTS = REPORTS / "RESULTS.md"
REPORT_PAGE = REPORTS / "report.html"


def queries(arm: str) -> Path:
    """Training pairs of one arm; r0's are the long queries."""
    return ARTIFACTS / "queries" / f"{arm}.parquet"


def dropped(arm: str) -> Path:
    """What was not kept for that arm's training, with the reason of each."""
    return ARTIFACTS / "queries" / f"{arm}-dropped.parquet"


def negatives(arm: str) -> Path:
    """Hard negatives of that arm's training pairs; an empty table where none are mined."""
    return ARTIFACTS / "negatives" / f"{arm}.parquet"


def retriever(arm: str) -> Path:
    """A trained encoder with its contract."""
    return ARTIFACTS / "retriever" / arm


def index(arm: str) -> Path:
    """The vectors of the whole corpus under that arm's retriever."""
    return ARTIFACTS / "index" / arm


def generator(arm: str) -> Path:
    """A query generator: an adapter or a full model, and its training history."""
    return ARTIFACTS / "generator" / arm


def rankings(name: str) -> Path:
    """Saved rankings of one retriever over every benchmark."""
    return ARTIFACTS / "rankings" / name


def metrics(name: str) -> Path:
    """Scores of one retriever, tracked by Git."""
    return REPORTS / "metrics" / f"{name}.json"


def audit(arm: str) -> Path:
    """The gate of one arm, tracked by Git."""
    return REPORTS / "audit" / f"{arm}.json"


def certificate(arm: str) -> Path:
    """What ties one retriever to its audit, tracked by Git."""
    return REPORTS / "audit" / "certificates" / f"{arm}.json"


def data_docs(arm: str) -> Path:
    """The audit of one arm as HTML pages."""
    return ARTIFACTS / "audit" / arm


def checkpoints(what: str, arm: str) -> Path:
    """Resumable state of an unfinished stage; not a DVC output, so a killed stage finds it again."""
    return ARTIFACTS / "checkpoints" / what / arm


def tuning(study: str) -> Path:
    """What a search over settings found."""
    return ARTIFACTS / "tuning" / f"{study}.json"
