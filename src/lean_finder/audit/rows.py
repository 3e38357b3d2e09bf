"""A training set as the checks see it: names resolved, texts folded, each distinct one once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from lean_finder.audit.folding import Folded, Piece, fold_piece
from lean_finder.audit.inputs import NAME_COLUMNS, STATEMENT_COLUMN, TEXT_COLUMNS, TrainingSet
from lean_finder.audit.testside import TestSide
from lean_finder.audit.workers import Workers
from lean_finder.errors import InputError


class Rows:
    """The rows of one set, by place from 0; `numbers` says what a reader calls them.

    Args:
        training_set: the set.
        side: the hidden side, for resolving names.
        workers: who folds many texts, and works on whatever else the rows have much of.

    Raises:
        InputError: a cell holds neither text (or a list of names) nor nothing.
    """

    def __init__(self, training_set: TrainingSet, side: TestSide, workers: Workers) -> None:
        self.training_set = training_set
        self.workers = workers
        self.frame = training_set.frame.reset_index(drop=True)
        self._side = side

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def numbers(self) -> list[int]:
        """What each row is called in a finding: its index in the frame plus 1 (the line of its file), or its place."""
        index = self.training_set.frame.index
        if pd.api.types.is_integer_dtype(index.dtype) and index.is_unique:
            return [int(place) + 1 for place in index]
        return list(range(1, len(self) + 1))

    @cached_property
    def names(self) -> pd.DataFrame:
        """Columns row, column, raw, name: every declaration that a row mentions; blanks are left out."""
        tables = [self._names_of(column) for column in NAME_COLUMNS if column in self.frame]
        if not tables:
            return self._names_table([], "", [])
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """Resolved name -> positions in `names`."""
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self.names["name"].tolist()):
            found.setdefault(name, []).append(place)
        return found

    @cached_property
    def by_query(self) -> dict[str, list[int]]:
        """Distinct query -> rows that ask it."""
        found: dict[str, list[int]] = {}
        if "query" in self.frame:
            for row, text in self._cells("query"):
                found.setdefault(text, []).append(row)
        return found

    @cached_property
    def by_text(self) -> dict[str, list[int]]:
        """Distinct text -> rows that carry it in any text column."""
        found: dict[str, list[int]] = {}
        for column in TEXT_COLUMNS:
            if column in self.frame:
                for row, text in self._cells(column):
                    found.setdefault(text, []).append(row)
        return found

    @cached_property
    def by_statement(self) -> dict[str, list[int]]:
        """Distinct formal statement text -> rows."""
        found: dict[str, list[int]] = {}
        if STATEMENT_COLUMN in self.frame:
            for row, text in self._cells(STATEMENT_COLUMN):
                found.setdefault(text, []).append(row)
        return found

    @cached_property
    def texts(self) -> list[str]:
        """Distinct texts, in order of first sight."""
        return list(self.by_text)

    @cached_property
    def folding(self) -> Iterator[Piece]:
        """`texts` being folded, to be read once; the first look starts it."""
        return self.workers.start(fold_piece, self.texts)

    @cached_property
    def folded(self) -> Folded:
        """`texts`, folded."""
        return self._side.vocabulary.join(self.folding)

    @cached_property
    def query_keys(self) -> list[str]:
        """Folded key of each row's query; "" where there is none."""
        keys = [""] * len(self)
        if "query" in self.frame:
            table = dict(zip(self.texts, self.folded.keys, strict=True))
            for row, text in self._cells("query"):
                keys[row] = keys[row] or table[text]
        return keys

    @cached_property
    def targets(self) -> list[str]:
        """Resolved declaration of each row; "" where there is none."""
        found = [""] * len(self)
        own = self.names[self.names["column"] == "declaration"]
        for row, name in zip(own["row"].tolist(), own["name"].tolist(), strict=True):
            found[row] = name
        return found

    def _names_of(self, column: str) -> pd.DataFrame:
        rows: list[int] = []
        raw: list[str] = []
        for row, cell in enumerate(self.frame[column].tolist()):
            for name in [cell] if isinstance(cell, str) else self._listed_names(cell, column, row):
                if name.strip():
                    rows.append(row)
                    raw.append(name)
        return self._names_table(rows, column, raw)

    def _names_table(self, rows: list[int], column: str, raw: list[str]) -> pd.DataFrame:
        resolved = {name: self._side.resolve(name) for name in dict.fromkeys(raw)}
        places = np.array(rows, dtype=np.int64)
        return pd.DataFrame({"row": places, "column": column, "raw": raw, "name": [resolved[name] for name in raw]})

    def _listed_names(self, cell: Any, column: str, row: int) -> list[str]:
        """The names of a list; of one that holds the components of a name, as in some public files, that name."""
        names = self._list(cell, column, row)
        whole = ".".join(names)
        return [whole] if len(names) > 1 and self._side.knows(whole) else names

    def _list(self, cell: Any, column: str, row: int) -> list[str]:
        if is_missing(cell):
            return []
        if isinstance(cell, list | tuple | np.ndarray) and all(isinstance(item, str) for item in cell):
            return list(cell)
        raise self._wrong_type(column, row, cell)

    def _cells(self, column: str) -> Iterator[tuple[int, str]]:
        for row, cell in enumerate(self.frame[column].tolist()):
            if isinstance(cell, str):
                if cell:
                    yield row, cell
                continue
            for text in self._list(cell, column, row):
                if text:
                    yield row, text

    def _wrong_type(self, column: str, row: int, cell: Any) -> InputError:
        return InputError(
            f"{self.training_set.path} row {self.numbers[row]}",
            f"column {column!r} holds {_kind(cell)}, not text",
        )


def _kind(cell: Any) -> str:
    """What a cell is, in one or two words."""
    if isinstance(cell, list | tuple | np.ndarray):
        return f"a list of {' and '.join(sorted({type(item).__name__ for item in cell}))}"
    return type(cell).__name__


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing (None, NaN, NA)."""
    return cell is None or (not isinstance(cell, list | tuple | np.ndarray | dict) and bool(pd.isna(cell)))
