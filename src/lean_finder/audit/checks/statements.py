"""Kinds (c) and (d): a target, or a formal text, that states what a hidden theorem states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.minhash import candidates, signatures
from lean_finder.audit.statements import Sketches, bare, join_sketches, parse_statement, sketch
from lean_finder.audit.workers import Workers
from lean_finder.corpus.statements import normal_form


@dataclass(frozen=True)
class Stated:
    """Statements with what they are called, the rows that they stand in, and who sketches them."""

    labels: Sequence[str]
    texts: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[int]]
    workers: Workers

    @cached_property
    def sketching(self) -> Iterator[Sketches]:
        """The statements being sketched, to be read once; the first look starts it."""
        return self.workers.start(sketch, self.texts)

    @cached_property
    def sketches(self) -> Sketches:
        """A fast look at each statement."""
        return join_sketches(list(self.sketching))

    def normal(self, place: int) -> str:
        """Normal form of one statement."""
        return normal_form(*self.texts[place])

    def same_key(self, place: int) -> str:
        """Order-free form of one statement."""
        return parse_statement(*self.texts[place]).same_key()


def _hidden(case: Case) -> Stated:
    if "hidden statements" not in case.shared:
        names = list(case.side.statements)
        texts = [case.side.statements[name] for name in names]
        case.shared["hidden statements"] = Stated(names, texts, [()] * len(names), case.rows.workers)
    return case.shared["hidden statements"]  # type: ignore[return-value]


def _training(case: Case) -> Stated:
    """Distinct statements of the set: of its targets, and formal texts that it carries.

    A hidden name is reported as such; what matters here is a theorem that passes for another one.
    """
    if "statements" not in case.notes:
        side, table = case.side, case.rows.names["row"].tolist()
        labels: list[str] = []
        texts: list[tuple[str, str]] = []
        rows: list[Sequence[int]] = []
        for name, places in case.rows.by_name.items():
            text = side.statement(name)
            if text is not None and side.split(name) != "test":
                labels.append(f"the statement of {name}")
                texts.append(text)
                rows.append([table[place] for place in places])
        for formal, carriers in case.rows.by_statement.items():
            labels.append("the formal text")
            texts.append((bare(formal), ""))
            rows.append(carriers)
        case.notes["statements"] = Stated(labels, texts, rows, case.rows.workers)
    return case.notes["statements"]  # type: ignore[return-value]


def _pairs_with_same_constants(case: Case) -> list[tuple[int, int]]:
    """(training, hidden) places whose statements use the same constants equally often: all that can be equal."""
    if "statement pairs" not in case.notes:
        hidden, training = _hidden(case), _training(case)
        table: dict[int, list[int]] = defaultdict(list)
        if hidden.texts and training.texts:
            long_enough = hidden.sketches.sizes >= case.side.settings.statement_tokens
            for place in np.flatnonzero(long_enough).tolist():
                table[int(hidden.sketches.constants[place])].append(place)
            known = np.array(sorted(table), dtype=np.uint64)
            places = np.flatnonzero(np.isin(training.sketches.constants, known)).tolist()
        else:
            places = []
        case.notes["statement pairs"] = [
            (place, other) for place in places for other in table[int(training.sketches.constants[place])]
        ]
    return case.notes["statement pairs"]  # type: ignore[return-value]


def find_same_statements(case: Case) -> dict[int, str]:
    """Rows whose statement has the same normal form as a hidden one."""
    hidden, training = _hidden(case), _training(case)
    found: dict[int, str] = {}
    for place, other in _pairs_with_same_constants(case):
        if training.normal(place) == hidden.normal(other):
            evidence = (
                f"{training.labels[place]} is that of {hidden.labels[other]} (test) up to bound names and notation"
            )
            add_evidence(found, training.rows[place], evidence)
    return found


def find_restatements(case: Case) -> dict[int, str]:
    """Rows whose statement is a hidden one with its hypotheses reordered or moved, or its sides swapped."""
    hidden, training = _hidden(case), _training(case)
    found: dict[int, str] = {}
    for place, other in _pairs_with_same_constants(case):
        if training.same_key(place) == hidden.same_key(other) and training.normal(place) != hidden.normal(other):
            evidence = f"{training.labels[place]} restates {hidden.labels[other]} (test): other order or sides"
            add_evidence(found, training.rows[place], evidence)
    return found


def find_near_statements(case: Case) -> dict[int, str]:
    """Rows whose statement shares most of its shingles with a hidden one without being equal to it."""
    least, size = case.side.settings.near_statement, case.side.settings.statement_tokens
    hidden, training = _hidden(case), _training(case)
    if not hidden.texts or not training.texts:
        return {}
    known_places = np.flatnonzero(hidden.sketches.sizes >= size)
    probe_places = np.flatnonzero(training.sketches.sizes >= size)
    if not len(known_places) or not len(probe_places):
        return {}
    known, probes = hidden.sketches.take(known_places), training.sketches.take(probe_places)
    left, right = candidates(
        signatures(known.shingles, known.offsets), signatures(probes.shingles, probes.offsets), least
    )
    found: dict[int, str] = {}
    for probe, other in zip(left.tolist(), right.tolist(), strict=True):
        one, two = probes.of(probe), known.of(other)
        shared = len(np.intersect1d(one, two, assume_unique=True))
        similarity = shared / (len(one) + len(two) - shared)
        if similarity >= least:
            place, twin = int(probe_places[probe]), int(known_places[other])
            if training.same_key(place) != hidden.same_key(twin):
                evidence = (
                    f"{training.labels[place]} resembles {hidden.labels[twin]} (test), similarity {similarity:.2f}"
                )
                add_evidence(found, training.rows[place], evidence)
    return found


SAME_STATEMENT = Check(
    "same_statement",
    "c",
    "critical",
    "No training target may state a test theorem under another name, with renamed variables or other notation.",
    find_same_statements,
    ahead=lambda case: _training(case).sketching,
)
RESTATEMENT = Check(
    "restatement",
    "d",
    "critical",
    "No training target may state a test theorem with its hypotheses reordered or moved, or its sides swapped.",
    find_restatements,
)
NEAR_STATEMENT = Check(
    "near_statement",
    "d",
    "warning",
    "A target whose statement nearly equals a test theorem's deserves a look (neighbours differ in one symbol).",
    find_near_statements,
)
