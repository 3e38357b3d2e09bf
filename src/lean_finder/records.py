"""The data contracts: what a row is, which file it lives in, in which unit.

Every table is Parquet with exactly the columns of its record, in the record's order.

| record        | file                                  | one row is                               |
|---------------|---------------------------------------|------------------------------------------|
| `Declaration` | `artifacts/corpus/declarations.parquet` | one user-facing Lean name              |
| `SplitRow`    | `artifacts/corpus/splits.parquet`     | a declaration's family and split         |
| `Pair`        | `artifacts/queries/*.parquet`         | a query and its positive declaration     |
| `Negative`    | `artifacts/negatives/*.parquet`       | a declaration mined against a pair       |
| `StyleQuery`  | `data/queries/style.jsonl`            | a query as a person or agent types it    |
| `JudgedPair`  | `data/judge/pairs.jsonl`              | a labelled query for measuring a judge   |
| `BenchmarkQuery` | made from a benchmark file         | a test query and its gold                |
| `Ranking`     | `artifacts/rankings/*.jsonl`          | what a retriever answered to one query   |

Ranks are 1-based everywhere. A name is the full dotted name, without `_root_`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pandas as pd

SPLITS = ("train", "validation", "test")

#: MathlibQR's query slots, in its order: field of the benchmark file -> style name used in every table.
BENCHMARK_STYLES = {
    "q1a_lean": "lean",
    "q1b_latex": "latex",
    "q1c_natural": "natural",
    "q2_slogan": "slogan",
    "q3_nickname": "nickname",
    "q4_special_case": "special_case",
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One user-facing declaration of a Lean library.

    Attributes:
        name: full dotted name.
        kind: keyword as Lean users say it: theorem, lemma, def, abbrev, instance, structure, class,
            inductive, axiom, opaque, irreducible_def, alias, field, constructor, projection.
        module: dotted module name.
        line: 1-based line of the declaration's name (of its keyword when it has no name).
        signature: binders and type as written, on one line, without name, attributes and proof.
        variables: the section variables in scope that it uses, as binders on one line; "" if none.
        docstring: text of its doc comment, without the markers; "" if none.
        informal: an informal description written later by a model; "" if none.
        attributes: attribute texts as written, in order.
        namespace: open namespace at the declaration; "" at the root.
        visibility: public, protected or private.
        is_instance: the declaration is a type-class instance, whatever its keyword.
        deprecated: it carries a deprecation.
        deprecated_since: date as written, "" if none.
        replacement: name that replaces a deprecated one, "" if none.
        origin: "source" if written by hand, else what made it: to_additive, to_dual, alias, deriving,
            field, constructor, projection, simps, ext, mk_iff, reassoc, elementwise, export, ...
        generated_by: full name of the declaration it was made from, "" for origin "source".
    """

    name: str
    kind: str
    module: str
    line: int
    signature: str
    variables: str = ""
    docstring: str = ""
    informal: str = ""
    attributes: tuple[str, ...] = ()
    namespace: str = ""
    visibility: str = "public"
    is_instance: bool = False
    deprecated: bool = False
    deprecated_since: str = ""
    replacement: str = ""
    origin: str = "source"
    generated_by: str = ""


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One declaration in the manifest: the single source of truth for who may train on what.

    Attributes:
        declaration: full dotted name.
        family: name of the family's first member in sorted order.
        split: train, validation or test; equal for all members of a family.
        reason: why, e.g. "gold of embedded", "family of X, gold of embedded", "seed", "rest".
    """

    declaration: str
    family: str
    split: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pair:
    """One query with its positive declaration: a training example of a retriever.

    Attributes:
        query_id: unique in its file, e.g. "r1-000042".
        query: the text.
        declaration: full name of the positive.
        style: docstring, name, verbal, informal, ... for long queries; the generator's prompt style otherwise.
        source: "paraphrase" (round 0), "generated" (an arm), "style" (written by people or agents).
        arm: r0, r1, ...; which arm's file this row belongs to.
        model: what wrote it: "rule:<name>" or the digest (first 12 hex) of the generating model.
        document_view: which rendering of the declaration is the positive, see `corpus.render.VIEWS`.
    """

    query_id: str
    query: str
    declaration: str
    style: str
    source: str
    arm: str
    model: str
    document_view: str = "full"


@dataclass(frozen=True, slots=True)
class Negative:
    """One hard negative: a declaration that training adds as a candidate next to the pair `query_id`."""

    query_id: str
    declaration: str


@dataclass(frozen=True, slots=True)
class StyleQuery:
    """A short query as real users type it, with the training declaration it asks for.

    `author` is "person" or "agent"; `style` is one of `BENCHMARK_STYLES`' values or "keywords", "question", "fragment".
    """

    query: str
    declaration: str
    author: str
    style: str


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A query, a declaration, and whether a careful person says that they state the same thing.

    `describes` names the declaration that an inconsistent query really describes ("" if none);
    `contrast` is "same" (consistent), "one_symbol" (a neighbour that differs in one symbol) or "other".
    """

    query: str
    declaration: str
    consistent: bool
    describes: str
    contrast: str


@dataclass(frozen=True, slots=True)
class BenchmarkQuery:
    """One test query and its gold.

    Attributes:
        query_id: "<benchmark id>/<slot>".
        query: text.
        gold: full name of the declaration it asks for.
        style: a value of `BENCHMARK_STYLES`, or "long".
        difficulty: as in the file (Easy, Hard), "" if absent.
        kind: kind of the gold as in the file.
    """

    query_id: str
    query: str
    gold: str
    style: str
    difficulty: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one retriever answered to one query.

    Attributes:
        query_id: of the benchmark query.
        gold: its gold declaration.
        names: the best declarations, best first.
        scores: their scores, same length, non-increasing.
        gold_rank: exact 1-based rank of the gold over the whole corpus, ties counted against it; None if the gold
            is not in the corpus.
        family_rank: best rank of any member of the gold's family; None if none is in the corpus.
    """

    query_id: str
    gold: str
    names: tuple[str, ...]
    scores: tuple[float, ...]
    gold_rank: int | None
    family_rank: int | None
    extra: dict[str, Any] = field(default_factory=dict)


def columns(record: type) -> list[str]:
    """Column names of a record's table, in order."""
    return [item.name for item in fields(record)]


def to_frame(record: type, rows: Iterable[Any]) -> pd.DataFrame:
    """Rows of one record type as a frame with the record's columns, also when there are no rows."""
    return pd.DataFrame([asdict(row) for row in rows], columns=columns(record))


def from_frame(record: type, frame: pd.DataFrame) -> list[Any]:
    """The records of a frame made by `to_frame` (extra columns are ignored)."""
    names = columns(record)
    rows = []
    for values in zip(*(frame[name].tolist() for name in names), strict=True):
        cells = {
            name: tuple(value) if name == "attributes" else value for name, value in zip(names, values, strict=True)
        }
        rows.append(record(**cells))
    return rows
