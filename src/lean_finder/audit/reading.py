"""Anyone's training files, benchmarks and libraries, checked as they are read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lean_finder.audit.inputs import NAME_COLUMNS, STATEMENT_COLUMN, TEXT_COLUMNS, TrainingSet
from lean_finder.corpus.extract import extract_library
from lean_finder.corpus.families import find_families
from lean_finder.corpus.splits import make_manifest
from lean_finder.errors import InputError
from lean_finder.records import (
    BENCHMARK_STYLES,
    BenchmarkQuery,
    Declaration,
    SplitRow,
    columns,
    from_frame,
    to_frame,
)
from lean_finder.storage import read_table

#: A longer line or cell is not a query, a name or a statement: the file is broken.
LONGEST = 1 << 20

#: Columns of a training file that an audit understands.
PAIR_COLUMNS = (*TEXT_COLUMNS, *NAME_COLUMNS, STATEMENT_COLUMN, "query_id", "style", "source", "arm", "model")
#: Columns of which a JSON-lines file may leave out the key: a row without negatives is a row.
_OPTIONAL = frozenset({"negatives", "describes", "query_id", "style", "source", "arm", "model"})
#: Where conversations keep a message's text.
_CONTENT = "content"
_SUFFIXES = ".jsonl, .json, .parquet, .csv or .tsv"


def parse_mapping(text: str, known: Sequence[str]) -> dict[str, str]:
    """`query=question,declaration=pos` as {ours: theirs}.

    Raises:
        InputError: not of that form, a name on the left that is not one of `known`, or a column mapped twice.
    """
    mapping: dict[str, str] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        ours, sign, theirs = (part.strip() for part in item.partition("="))
        if not sign or not theirs:
            raise InputError("--map", f"{item!r} is not OURS=THEIRS", "for example query=question,declaration=positive")
        if ours not in known:
            raise InputError("--map", f"unknown column {ours!r}", f"one of {', '.join(known)}")
        if ours in mapping or theirs in mapping.values():
            raise InputError("--map", f"{item!r} maps a column a second time", "one of ours to one of theirs")
        mapping[ours] = theirs
    return mapping


def read_rows(path: Path, mapping: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A table of any of the formats, with the mapped columns renamed to ours.

    The index is the row's place in the file from 0, so that index + 1 is the line of a JSON-lines file.

    Args:
        path: .jsonl, .json (a list of objects), .parquet, .csv or .tsv.
        mapping: our column -> the file's column; `a.b` is key `b` of the objects in column `a`.

    Raises:
        InputError: missing, damaged, not UTF-8, not of the form, a mapped column absent, ids that repeat.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        frame = read_table(path)
        _refuse_long_cells(path, frame)
    elif suffix in (".jsonl", ".ndjson"):
        frame = _read_json_lines(path, mapping or {})
    elif suffix == ".json":
        frame = _read_json_list(path)
    elif suffix in (".csv", ".tsv"):
        frame = _read_csv(path, "\t" if suffix == ".tsv" else ",")
    else:
        raise InputError(path, f"unknown format {suffix or '(no suffix)'!r}", f"expected {_SUFFIXES}")
    for ours, theirs in (mapping or {}).items():
        if theirs not in frame.columns and theirs.partition(".")[0] in frame.columns:
            frame[theirs] = _inside(frame, theirs, path)
        if theirs not in frame.columns:
            raise InputError(path, f"no column {theirs!r} for {ours!r}", f"it has: {_names(frame)}")
    frame = frame.rename(columns={theirs: ours for ours, theirs in (mapping or {}).items()})
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise InputError(path, f"two columns would be called {doubled[0]!r}", "map another column")
    return frame


def read_training_set(
    path: Path, mapping: Mapping[str, str] | None = None, role: str = "retriever_pairs", name: str = ""
) -> TrainingSet:
    """A training file as a set to audit; without a mapping its columns must have our names.

    A text column may hold a conversation, a list of messages with `content`; all of them are read.

    Args:
        path: see `read_rows`.
        mapping: our column -> the file's column.
        role: what the set is for.
        name: of the set; "" takes the file's, without its suffix.

    Raises:
        InputError: see `read_rows`; no column to audit; an id that stands twice.
    """
    frame = read_rows(path, mapping)
    if "query_id" in frame:
        doubled = frame["query_id"].notna() & frame["query_id"].astype(str).duplicated(keep=False)
        if doubled.any():
            first, second = (frame.index[doubled.to_numpy()][:2] + 1).tolist()
            value = frame["query_id"][doubled].iloc[0]
            raise InputError(
                f"{path} row {second}", f"id {value!r} already stands in row {first}", "ids must be unique"
            )
    for column in [column for column in TEXT_COLUMNS if column in frame]:
        frame[column] = [_said(cell) for cell in frame[column].tolist()]
    return TrainingSet(name or Path(path).stem, role, frame, str(path))


def read_benchmark(path: Path, mapping: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A benchmark as `BenchmarkQuery` columns: MathlibQR's JSON fields, or a table with `query` and `gold`.

    Raises:
        InputError: see `read_rows`; no queries, no gold.
    """
    frame = read_rows(path, mapping)
    slots = [slot for slot in BENCHMARK_STYLES if slot in frame]
    if slots and "full_name" in frame:
        return _unfold(path, frame, slots)
    if "gold" not in frame and "full_name" in frame:
        frame = frame.rename(columns={"full_name": "gold"})
    for column in ("query", "gold"):
        if column not in frame:
            raise InputError(path, f"no column {column!r}", f"it has: {_names(frame)}; map it: query=…,gold=…")
    names = columns(BenchmarkQuery)
    ids = frame.get("query_id", frame.get("id"))
    labels = [f"row {number + 1}" for number in frame.index] if ids is None else ids.astype(str).tolist()
    out = pd.DataFrame({name: frame.get(name, "") for name in names}, index=frame.index)
    out["query_id"] = labels
    # One query may have several golds.
    out = out.explode("gold", ignore_index=True)
    return out


def read_library(path: Path) -> pd.DataFrame:
    """A library as `Declaration` columns: a table that `lean-finder corpus build` wrote, or a folder of Lean files.

    Raises:
        InputError: missing, damaged or empty.
    """
    path = Path(path)
    frame = (
        to_frame(Declaration, extract_library(path).declarations)
        if path.is_dir()
        else read_table(path, columns(Declaration))
    )
    if frame.empty:
        raise InputError(path, "has no declarations", "give a table or a folder of Lean files")
    return frame


def derive_manifest(library: pd.DataFrame, benchmark: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Manifest and joins of a library whose benchmark's golds and their families are held out.

    Args:
        library: `Declaration` columns.
        benchmark: `BenchmarkQuery` columns.
        name: of the benchmark, for the reasons.
    """
    declarations = from_frame(Declaration, library)
    families = find_families(declarations)
    golds = {name: sorted(set(benchmark["gold"].dropna().astype(str)))}
    rows = make_manifest(declarations, families, golds, validation_share=0.0, seed=0)
    joins = pd.DataFrame(
        [(join.left, join.right, join.reason) for join in families.joins], columns=["left", "right", "reason"]
    )
    return to_frame(SplitRow, rows), joins


def _unfold(path: Path, frame: pd.DataFrame, slots: Sequence[str]) -> pd.DataFrame:
    rows = []
    for number, entry in zip(frame.index.tolist(), frame.to_dict(orient="records"), strict=True):
        for slot in slots:
            text = entry[slot]
            if isinstance(text, str) and text.strip():
                label = f"{entry.get('id', f'row {number + 1}')}/{slot}"
                kind, difficulty = str(entry.get("kind", "")), str(entry.get("difficulty", ""))
                gold = entry["full_name"]
                rows.append(BenchmarkQuery(label, text, gold, BENCHMARK_STYLES[slot], difficulty, kind))
    if not rows:
        raise InputError(path, "no query in any of its slots")
    return to_frame(BenchmarkQuery, rows)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(path, "no such file", "check the path") from error
    except IsADirectoryError as error:
        raise InputError(path, "is a folder, a file was expected", "check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(path, f"not UTF-8 (byte {error.start})", "convert the whole file to UTF-8") from error


def _inside(frame: pd.DataFrame, place: str, path: Path) -> list[Any]:
    """The values of a nested key; None where an object does not have it."""
    head, *keys = place.split(".")
    cells = frame[head].tolist()
    for key in keys:
        if not any(isinstance(cell, dict) and key in cell for cell in cells):
            raise InputError(path, f"no key {place!r}", f"it has: {_names(frame)}")
        cells = [cell.get(key) if isinstance(cell, dict) else None for cell in cells]
    return cells


def _said(cell: Any) -> Any:
    """The texts of a conversation; any other cell as it is."""
    messages = list(cell) if isinstance(cell, list | tuple | np.ndarray) else []
    if messages and all(isinstance(item, dict) and isinstance(item.get(_CONTENT), str) for item in messages):
        return [item[_CONTENT] for item in messages]
    return cell


def _read_json_lines(path: Path, mapping: Mapping[str, str]) -> pd.DataFrame:
    ours = {theirs.partition(".")[0]: column for column, theirs in mapping.items()}
    needed = (set(PAIR_COLUMNS) | {"gold", "full_name"}) - _OPTIONAL
    rows: list[dict[str, Any]] = []
    places: list[int] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        if len(line) > LONGEST:
            raise InputError(f"{path}:{number}", f"a line of {len(line):,} characters", "one JSON object a line")
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{path}:{number}", f"not JSON: {error}", "repair or remove the line") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}", "expected a JSON object", "one object a line")
        odd = [key for key in row.keys() ^ (rows or [row])[0].keys() if ours.get(key, key) in needed]
        if odd:
            raise InputError(f"{path}:{number}", f"key {min(odd)!r} is not in every row", "every row needs it")
        rows.append(row)
        places.append(number - 1)
    return pd.DataFrame(rows, index=places, dtype=object)


def _read_json_list(path: Path) -> pd.DataFrame:
    try:
        rows = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(path, f"not JSON: {error}", "repair or restore the file") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(path, "expected a JSON list of objects")
    frame = pd.DataFrame(rows, dtype=object)
    _refuse_long_cells(path, frame)
    return frame


def _read_csv(path: Path, separator: str) -> pd.DataFrame:
    csv.field_size_limit(LONGEST)
    reader = csv.reader(io.StringIO(_text(path), newline=""), delimiter=separator, strict=True)
    try:
        lines = [line for line in reader if line]
    except csv.Error as error:
        raise InputError(
            f"{path}:{reader.line_num}", f"not CSV: {error}", "quote the cell or repair the line"
        ) from error
    if not lines:
        raise InputError(path, "is empty: no header line")
    header, rows = lines[0], lines[1:]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(f"{path} row {number}", f"{len(row)} cells, the header has {len(header)}")
    return pd.DataFrame(rows, columns=header, dtype=object)


def _refuse_long_cells(path: Path, frame: pd.DataFrame) -> None:
    for column in frame.columns:
        for row, cell in enumerate(frame[column].tolist(), start=1):
            if isinstance(cell, str) and len(cell) > LONGEST:
                raise InputError(f"{path} row {row}", f"{column!r} has {len(cell):,} characters", "cut or remove it")


def _names(frame: pd.DataFrame) -> str:
    return ", ".join(map(str, frame.columns)) or "nothing"
