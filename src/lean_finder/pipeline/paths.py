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
#: Searches over settings; no DVC output: a study grows from day to day.
STUDIES = ARTIFACTS / "tuning" / "studies.sqlite"
