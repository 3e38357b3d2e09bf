"""What an audit reads: the training sets, the manifest, the library and the benchmark, with their contracts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from lean_finder.errors import InputError
from lean_finder.records import BenchmarkQuery, Declaration, SplitRow, columns

#: Every way in which text or names reach a model, or reach a decision about a model.
ROLES = (
    "long_queries",
    "generator_sft",
    "generator_prompts",
    "generated_queries",
    "retriever_pairs",
    "hard_negatives",
    "reranker_pairs",
    "rewriter_set",
    "search_set",
    "judge_pairs",
)

#: Roles that choose (hyper-parameters, prompts, thresholds) rather than train: validation belongs there.
CHOOSING_ROLES = frozenset({"rewriter_set", "search_set", "judge_pairs"})

#: Columns that hold declaration names; a cell is a name or a list of names.
NAME_COLUMNS = ("declaration", "negatives", "describes")

#: Columns that hold text which a model reads or writes.
TEXT_COLUMNS = ("query", "prompt", "completion")

#: Column that holds a declaration's formal statement as text, for sets that carry it.
STATEMENT_COLUMN = "statement"

#: What findings call the manifest; no set may have this name.
MANIFEST_SET = "manifest"

JOIN_COLUMNS = ("left", "right", "reason")


@dataclass(frozen=True)
class TrainingSet:
    """One set of rows on its way into a model.

    Attributes:
        name: short name, unique in an audit, e.g. "r1".
        role: one of `ROLES`.
        frame: at least one of `NAME_COLUMNS`, `TEXT_COLUMNS` or `STATEMENT_COLUMN`.
        path: file that it was read from, relative to the repository, for the evidence.
    """

    name: str
    role: str
    frame: pd.DataFrame
    path: str

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InputError(
                self.path, f"unknown role {self.role!r} of set {self.name!r}", f"one of {', '.join(ROLES)}"
            )
        known = {*NAME_COLUMNS, *TEXT_COLUMNS, STATEMENT_COLUMN}
        if not known & set(self.frame.columns):
            raise InputError(
                self.path,
                f"set {self.name!r} has no column to audit (it has: {', '.join(map(str, self.frame.columns))})",
                "name the columns: query=…, declaration=…",
            )


@dataclass(frozen=True)
class Provenance:
    """What the rows of the pipeline's own sets may claim about their origin.

    Attributes:
        arms: known arms, r0 included.
        sources: known values of the column `source`.
        models: arm -> the only values allowed in the column `model`; an arm that is absent may only
            name rules ("rule:…").
        rounds: set name -> the only arm that its rows may carry; a set that is absent may carry any known arm.
    """

    arms: frozenset[str]
    sources: frozenset[str] = frozenset({"paraphrase", "generated", "style"})
    models: dict[str, frozenset[str]] = field(default_factory=dict)
    rounds: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditSettings:
    """Thresholds, each with the reason for its value.

    Attributes:
        contained_words: fewest content words that a test text must have before being found inside a longer
            training text counts as critical; below it, ordinary mathematics coincides ("inner product space").
        truncated_share: fewest share of a test text's words that a cut-off copy must keep to count as critical.
        near_similarity: Jaccard similarity of content-word sets from which on two texts are reported as near.
        near_statement: Jaccard similarity of statement shingles above which two statements are reported as near.
        statement_tokens: fewest tokens of a statement that identify it; shorter ones ("IsOpen s") coincide.
        unknown_target: severity of a target that the library does not have.
        style_share: largest share of one style in a set before it is reported.
        length_factor: how far a set's median query length may be from the real queries' (a ratio).
        style_distance: greatest distance of generated from real queries: the larger of the Kolmogorov-Smirnov distance
            of their lengths in words and the total variation distance of their kinds, 0 to 1.
        meaning_false_alarms: share of pairs of unrelated queries that may exceed the embedding threshold.
        meaning_sample: random pairs on which that share is measured.
        meaning_least: least cosine that is ever reported: a small sample cannot measure a small share.
        meaning_texts: distinct texts of one set that the encoder reads at most, drawn by seed; 0 = all. What it did
            not read stands in the report under "not checked".
        seed: of both samples.
    """

    contained_words: int = 5
    truncated_share: float = 0.7
    near_similarity: float = 0.75
    near_statement: float = 0.8
    statement_tokens: int = 8
    unknown_target: Literal["critical", "warning"] = "critical"
    style_share: float = 0.9
    length_factor: float = 3.0
    style_distance: float = 0.3
    meaning_false_alarms: float = 1e-5
    meaning_sample: int = 1_000_000
    meaning_least: float = 0.7
    meaning_texts: int = 0
    seed: int = 0


@dataclass(frozen=True)
class AuditInputs:
    """Everything that one audit reads.

    Attributes:
        sets: the training sets.
        manifest: `SplitRow` columns; no rows when no library is at hand.
        joins: columns left, right, reason: why two declarations are one family.
        declarations: `Declaration` columns; no rows when no library is at hand.
        benchmark: `BenchmarkQuery` columns, every benchmark that will be reported, long queries included.
        real_lengths: column `words`: lengths of real queries in words; None = lengths are not judged.
        real_queries: real queries themselves; None = the style of generated ones is not judged.
        expected: provenance facts; None = provenance is not judged.
        settings: thresholds.
    """

    sets: list[TrainingSet]
    manifest: pd.DataFrame
    joins: pd.DataFrame
    declarations: pd.DataFrame
    benchmark: pd.DataFrame
    real_lengths: pd.DataFrame | None = None
    expected: Provenance | None = None
    settings: AuditSettings = AuditSettings()
    real_queries: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _require("manifest", self.manifest, columns(SplitRow))
        _require("joins", self.joins, JOIN_COLUMNS)
        _require("declarations", self.declarations, columns(Declaration))
        _require("benchmark", self.benchmark, columns(BenchmarkQuery))
        if self.real_lengths is not None:
            _require("real_lengths", self.real_lengths, ("words",))
        # An audit against nothing would pass everything.
        if self.benchmark.empty:
            raise InputError("benchmark", "no test query: an audit against an empty benchmark proves nothing")
        blank = self.benchmark["gold"].map(lambda gold: not isinstance(gold, str) or not gold.strip())
        if blank.any():
            first = int(blank.to_numpy().argmax()) + 1
            raise InputError(f"benchmark row {first}", "no gold declaration", "every test query needs its gold")
        if not self.sets:
            raise InputError("training sets", "none given: there is nothing to audit")
        names = [*(item.name for item in self.sets), MANIFEST_SET]
        if len(set(names)) != len(names):
            raise InputError("training sets", f"two sets share the name {max(names, key=names.count)!r}")


def empty_frame(names: tuple[str, ...] | list[str]) -> pd.DataFrame:
    """A frame with the given columns and no rows."""
    return pd.DataFrame({name: pd.Series(dtype="object") for name in names})


def _require(what: str, frame: pd.DataFrame, names: list[str] | tuple[str, ...]) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(what, f"missing column {missing[0]!r}", f"columns needed: {', '.join(names)}")
