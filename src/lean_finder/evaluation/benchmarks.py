"""Benchmarks from their published files: MathlibQR's JSON, one long description a line, any query with its gold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lean_finder.errors import InputError
from lean_finder.records import BENCHMARK_STYLES, BenchmarkQuery
from lean_finder.storage import read_json, read_jsonl

#: MathlibQR's row sets in circulation: every row; the rows whose gold is in the published v4.28.0-rc1 corpus; the
#: rows whose gold is in the corpora of all compared systems ("fair"). The last two need the shared-declarations file.
ROW_SETS = (946, 894, 810)


def load_benchmark(
    path: Path, *, name: str, rows: int | None = None, shared: Path | None = None
) -> list[BenchmarkQuery]:
    """The queries of a benchmark file, in file order.

    Three forms are read: a `.json` list in MathlibQR's fields (`id`, `full_name`, `difficulty`, `kind` and one text
    per style of `records.BENCHMARK_STYLES`, "" = absent); a `.jsonl` with `id`, `full_name`, `query` (style
    "long"); a `.jsonl` with `query` and `gold` and, optionally, `id`, `style`, `difficulty`, `kind`.

    Args:
        path: the file.
        name: what the caller calls the benchmark, for messages and for queries without id.
        rows: the row set to take, one of `ROW_SETS`; None takes all rows.
        shared: MathlibQR's file of shared declarations, needed for 894 and 810.

    Raises:
        InputError: a missing file, a row without its fields, a query id twice, no query at all, or a row set
            that the file does not give.
    """
    path = Path(path)
    queries = _from_mathlibqr(path) if path.suffix == ".json" else _from_jsonl(path, name)
    if rows is not None:
        queries = _row_set(queries, rows, shared, path)
    if not queries:
        raise InputError(path, f"benchmark {name!r} has no query", "check the file")
    seen: set[str] = set()
    for query in queries:
        if query.query_id in seen:
            raise InputError(path, f"query id {query.query_id!r} occurs twice", "ids must be unique")
        seen.add(query.query_id)
    return queries


def _from_mathlibqr(path: Path) -> list[BenchmarkQuery]:
    entries = read_json(path)
    if not isinstance(entries, list):
        raise InputError(path, "expected a JSON list", "one object per declaration, in MathlibQR's fields")
    queries: list[BenchmarkQuery] = []
    for number, entry in enumerate(entries, start=1):
        where = f"{path}: entry {number}"
        if not isinstance(entry, dict):
            raise InputError(where, "expected a JSON object", "in MathlibQR's fields")
        for slot, style in BENCHMARK_STYLES.items():
            text = _text(entry, slot, where, default="")
            if text.strip():
                queries.append(
                    BenchmarkQuery(
                        query_id=f"{_text(entry, 'id', where)}/{slot}",
                        query=text,
                        gold=_text(entry, "full_name", where),
                        style=style,
                        difficulty=_text(entry, "difficulty", where, default=""),
                        kind=_text(entry, "kind", where, default=""),
                    )
                )
    return queries


def _from_jsonl(path: Path, name: str) -> list[BenchmarkQuery]:
    queries: list[BenchmarkQuery] = []
    for number, row in enumerate(read_jsonl(path, ("query",)), start=1):
        where = f"{path}:{number}"
        long = "full_name" in row
        queries.append(
            BenchmarkQuery(
                query_id=f"{_text(row, 'id', where)}/long" if long else _text(row, "id", where, f"{name}-{number}"),
                query=_text(row, "query", where),
                gold=_text(row, "full_name" if long else "gold", where),
                style=_text(row, "style", where, "long" if long else ""),
                difficulty=_text(row, "difficulty", where, ""),
                kind=_text(row, "kind", where, ""),
            )
        )
    return queries


def _row_set(queries: list[BenchmarkQuery], rows: int, shared: Path | None, path: Path) -> list[BenchmarkQuery]:
    if rows not in ROW_SETS:
        raise InputError("rows", f"unknown row set {rows}", f"one of {', '.join(map(str, ROW_SETS))}")
    if rows != 946:
        if shared is None:
            raise InputError("rows", f"{rows} needs the shared-declarations file", "name it beside the benchmark")
        lists = read_json(shared)
        key = "shared_declarations" if rows == 810 else "missing_in_4280"
        if not isinstance(lists, dict) or not isinstance(lists.get(key), list):
            raise InputError(shared, f"no list {key!r}", "expected MathlibQR_shared171.json")
        listed = set(lists[key])
        queries = [query for query in queries if (query.gold in listed) == (rows == 810)]
    if len(queries) != rows:
        raise InputError(path, f"row set {rows} has {len(queries)} rows here", "use the published files")
    return queries


def _text(row: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = row.get(key, default)
    if not isinstance(value, str) or (default is None and not value):
        problem = "missing" if value is None else "empty" if value == "" else f"not a text: {value!r}"
        raise InputError(where, f"{key!r} is {problem}", "MathlibQR's fields, or query and gold")
    return value
