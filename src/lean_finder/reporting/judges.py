"""The judges' error rates as rows of one table, from whatever their calibration wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lean_finder.reporting.formatting import flat, plain

#: Columns that come first; others follow in the order of the file.
_FIRST = ("precision", "recall", "f1", "false_accept_one_symbol", "false_accept_other")


def judge_rows(judge: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """One (name, figures) a measured judge, the one in use marked; plain values outside a judge come as "all"."""
    rows = [(name, _figures(values)) for name, values in judge.items() if isinstance(values, Mapping)]
    shared = _figures({key: value for key, value in judge.items() if not isinstance(value, Mapping) and key != "kind"})
    marked = [(f"{name} (in use)" if name == judge.get("kind") else name, figures) for name, figures in rows]
    return [*marked, ("all", shared)] if shared else marked


def judge_table(judge: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table as text; a figure that a judge lacks is a gap."""
    rows = judge_rows(judge)
    found = dict.fromkeys(key for _, figures in rows for key in figures)
    keys = [*(key for key in _FIRST if key in found), *(key for key in found if key not in _FIRST)]
    body = [[name, *(plain(figures.get(key)) for key in keys)] for name, figures in rows]
    return ["judge", *(key.replace("_", " ") for key in keys)], body


def _figures(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys; lists are working material and stay in the JSON."""
    return {key: value for key, value in flat(values).items() if not isinstance(value, list)}
