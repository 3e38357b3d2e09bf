"""Declarations as an Arrow table: the same types, and so the same Parquet bytes, as the frame of the records gives.

A table is made column by column: for a library of a quarter of a million declarations that costs a tenth of a frame of
dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lean_finder.records import Declaration, columns
from lean_finder.storage import atomic_path

_TYPES = {"line": pa.int64(), "is_instance": pa.bool_(), "deprecated": pa.bool_(), "attributes": pa.list_(pa.string())}
SCHEMA = pa.schema([(name, _TYPES.get(name, pa.large_string())) for name in columns(Declaration)])


def declaration_table(declarations: Sequence[Declaration]) -> pa.Table:
    """The table of some declarations, one chunk a column."""
    return pa.Table.from_arrays(
        [pa.array([getattr(item, name.name) for item in declarations], type=name.type) for name in SCHEMA],
        schema=SCHEMA,
    )


def table_declarations(table: pa.Table) -> list[Declaration]:
    """The declarations of a table."""
    values: list[Iterable[object]] = [table.column(name).to_pylist() for name in SCHEMA.names]
    values[SCHEMA.get_field_index("attributes")] = map(tuple, values[SCHEMA.get_field_index("attributes")])
    return [Declaration(*row) for row in zip(*values, strict=True)]


def write_declarations(path: Path, table: pa.Table) -> None:
    """Write a table as `storage.write_table` writes the frame of its declarations: equal bytes."""
    table = table.combine_chunks()
    at = SCHEMA.get_field_index("attributes")
    if table.num_rows and len(table.column(at).combine_chunks().flatten()) == 0:
        # A frame without any attribute does not know that they would be strings.
        table = table.set_column(at, "attributes", pa.array([()] * table.num_rows))
    with atomic_path(path) as scratch:
        pq.write_table(table, scratch, compression="zstd")
