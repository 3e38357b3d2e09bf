"""Kinds (c) and (d): a target or a formal text that states what a hidden theorem states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.minhash import candidates, mix, signatures
from lean_finder.audit.statements import Statement, parse_statement


def _training_statements(case: Case) -> dict[str, tuple[Statement, list[int], str]]:
    """Distinct statements of the training side: label -> (statement, rows, family or "")."""
    if "statements" not in case.notes:
        found: dict[str, tuple[Statement, list[int], str]] = {}
        table = case.rows.names["row"].to_numpy()
        for name, places in case.rows.by_name.items():
            # A hidden name is reported as such; what remains is a theorem that passes for another one.
            statement = None if case.side.split(name) == "test" else case.side.statement(name)
            if statement is not None:
                found[f"statement of {name}"] = (statement, table[places].tolist(), "")
        for number, (text, rows) in enumerate(case.rows.by_statement.items()):
            found[f"formal text {number}"] = (parse_statement(text), rows, text)
        case.notes["statements"] = found
    return case.notes["statements"]  # type: ignore[return-value]


def find_same_statements(case: Case) -> dict[int, str]:
    """Rows whose statement equals a hidden one up to names, order and notation."""
    hidden: dict[str, dict[str, str]] = defaultdict(dict)
    for name, statement in case.side.statements.items():
        if statement.size >= case.side.settings.statement_tokens:
            hidden[statement.constants()][statement.same_key()] = name
    found: dict[int, str] = {}
    for label, (statement, rows, _) in _training_statements(case).items():
        near = hidden.get(statement.constants())
        same = near.get(statement.same_key()) if near else None
        if same is not None:
            add_evidence(found, rows, f"{label} says the same as {same} (test) up to names, order and notation")
    return found


def find_near_statements(case: Case) -> dict[int, str]:
    """Rows whose statement shares most of its shingles with a hidden one."""
    least, size = case.side.settings.near_statement, case.side.settings.statement_tokens
    hidden = {name: item for name, item in case.side.statements.items() if item.size >= size}
    training = {label: item for label, item in _training_statements(case).items() if item[0].size >= size}
    if not hidden or not training:
        return {}
    numbers: dict[str, int] = {}
    known = [item.shingles() for item in hidden.values()]
    probes = [item[0].shingles() for item in training.values()]
    left, right = candidates(_sign(known, numbers), _sign(probes, numbers))
    names, labels = list(hidden), list(training)
    found: dict[int, str] = {}
    for probe, place in zip(left.tolist(), right.tolist(), strict=True):
        one, two = probes[probe], known[place]
        similarity = len(one & two) / len(one | two)
        statement, rows, _ = training[labels[probe]]
        if similarity >= least and statement.same_key() != hidden[names[place]].same_key():
            add_evidence(found, rows, f"{labels[probe]} resembles {names[place]} (test), similarity {similarity:.2f}")
    return found


def _sign(sets: Iterable[set[str]], numbers: dict[str, int]) -> np.ndarray:
    rows = [sorted(numbers.setdefault(item, len(numbers)) for item in items) for items in sets]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    flat = np.fromiter((item for row in rows for item in row), dtype=np.uint64, count=int(offsets[-1]))
    return signatures(mix(flat), offsets)


SAME_STATEMENT = Check(
    "same_statement",
    "c",
    "critical",
    "No training target may state a test theorem again under another name, with renamed variables or other notation.",
    find_same_statements,
)
NEAR_STATEMENT = Check(
    "near_statement",
    "d",
    "warning",
    "A training target whose statement nearly equals a test theorem's deserves a look (neighbours differ in one symbol).",
    find_near_statements,
)
