"""A resolved library brought up to date after some of its files changed.

The changed files are resolved against everything else as it is stored. What came out differently is then looked up
among the questions that other files asked; those files join, and all are resolved again, until nobody outside is
reached. The outcome is the one that resolving all files would give, because every answer a file got is either the same
as before or the file is among those resolved anew.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from lean_finder.corpus.columns import declaration_table, table_declarations
from lean_finder.corpus.facts import FileFacts, Problem
from lean_finder.corpus.instances import closure
from lean_finder.corpus.resolve import FileTables, NeedsAllFiles, Resolver
from lean_finder.corpus.state import FileEntry, State, StoredFiles
from lean_finder.records import Declaration

_LOG = logging.getLogger(__name__)
#: Above this share of a library it is cheaper to resolve all of it.
_MOST_FILES = 0.05
_ROUNDS = 8
_OWNED = frozenset({"structure", "class", "field", "constructor", "projection"})


def updated(
    state: State,
    changed: Mapping[int, tuple[FileEntry, FileFacts]],
    stored_facts: Callable[[FileEntry], FileFacts | None],
    written: int,
) -> State | None:
    """The state after the `changed` files (number → entry) were read anew.

    Args:
        state: the stored library.
        changed: number → entry and facts of a file whose content is another; no file was added or removed.
        stored_facts: facts of a file as the state knows it; None if they are not at hand.
        written: when the files were looked at, in ns.

    Returns:
        The new state, or None if a change reaches too far (notations, inserted translations, a large part of the
        library): then all files are to be resolved.
    """

    @cache
    def facts_before(number: int) -> FileFacts:
        found = stored_facts(state.files[number])
        if found is None:
            raise NeedsAllFiles(f"{state.files[number].file} is not in the cache")
        return found

    def facts(number: int) -> FileFacts:
        return changed[number][1] if number in changed else facts_before(number)

    limit = max(8, int(len(state.files) * _MOST_FILES))
    chosen = sorted(changed)
    stored = StoredFiles(state, facts)
    try:
        for number in chosen:
            same_notations = [tuple(pair) for pair in facts(number).notations] == state.notations.get(number, [])
            same_words = [tuple(pair) for pair in facts(number).translations] == state.translations.get(number, [])
            if not (same_notations and same_words):
                return None
        for _ in range(_ROUNDS):
            if len(chosen) > limit:
                return None
            stored.leave_out(chosen)
            resolver = Resolver([facts(number) for number in chosen], stored, chosen)
            declarations = resolver.run()
            more = _reached(state, stored, resolver, declarations, facts_before) - set(chosen)
            if not more:
                _LOG.info("%d of %d files resolved anew", len(chosen), len(state.files))
                return _merged(
                    state, {number: entry for number, (entry, _) in changed.items()}, resolver, declarations, written
                )
            chosen = sorted({*chosen, *more})
    except NeedsAllFiles as reason:
        _LOG.info("all files are resolved: %s", reason)
    return None


def _reached(
    state: State,
    stored: StoredFiles,
    resolver: Resolver,
    declarations: Sequence[Declaration],
    facts_before: Callable[[int], FileFacts],
) -> set[int]:
    """Files that asked for something whose answer is another now."""
    uses = state.uses
    numbers = stored.numbers
    old: dict[str, tuple[int, int, Declaration]] = {}
    for number in resolver.files:
        start, end = state.blocks.get(state.files[number].module, (0, 0))
        rows = table_declarations(state.table.slice(start, end - start))
        old.update((item.name, (number, int(state.stages[start + at]), item)) for at, item in enumerate(rows))
    new = {item.name: (numbers[item.module], resolver.stages[item.name], item) for item in declarations}
    reached: set[int] = set()
    restated: set[str] = set()
    for name in old.keys() | new.keys():
        before, after = old.get(name), new.get(name)
        if before is None or after is None or before[:2] != after[:2]:
            reached |= uses.asked_for_name(name)
        if before is None or after is None or _content(before[2]) != _content(after[2]):
            restated.add(name)
    owners = {
        item.name if item.kind in {"structure", "class"} else item.generated_by
        for name in restated
        for found in (old.get(name), new.get(name))
        if found is not None and (item := found[2]).kind in _OWNED
    }
    for number, now in resolver.files.items():
        fields_before, fields_now = _fields(facts_before(number)), _fields(now)
        if fields_before != fields_now:
            # Of fields on one line the table does not keep the order.
            owners.update(owner for owner, _ in (*fields_before, *fields_now))
    for found in (old, new):
        restated.update(name for name, row in found.items() if name in owners or row[2].generated_by in owners)
    reached |= uses.asked_about(restated, "s")
    return reached | _reached_by_tables(state, stored, resolver)


def _content(item: Declaration) -> Declaration:
    """A declaration without its line, of which no other file's outcome speaks."""
    return replace(item, line=0)


def _fields(facts: FileFacts) -> list[tuple[str, str]]:
    return [(raw.generated_by, raw.name) for raw in facts.declarations if raw.kind == "field"]


def _reached_by_tables(state: State, stored: StoredFiles, resolver: Resolver) -> set[int]:
    """Files reached through attributes given elsewhere, translations of names, and the tables of classes."""
    uses = state.uses
    before = {number: state.tables.get(number, FileTables()) for number in resolver.files}
    after = resolver.tables
    reached: set[int] = set()
    for number in resolver.files:
        moved = set(before[number].targets) ^ set(after[number].targets)
        reached |= uses.asked_about({item.name for item in moved}, "t")
        for field in ("applied", "documented"):
            was, now = _by_name(getattr(before[number], field)), _by_name(getattr(after[number], field))
            for name in was.keys() | now.keys():
                if was.get(name) != now.get(name) and name in stored.rows:
                    reached.add(int(stored.file_of_row[stored.rows[name]]))
    classes: set[str] = set()
    for field in ("set_like", "carriers"):
        classes |= _all(before, field) ^ _all(after, field)
    if _all(before, "edges") != _all(after, "edges"):
        reach_before, reach_after = _reach(state.tables), _reach({**state.tables, **after})
        for name in reach_before.keys() | reach_after.keys():
            if reach_before.get(name) != reach_after.get(name):
                classes.add(name)
    return reached | uses.asked_about(classes, "c")


def _by_name(pairs: Sequence[tuple[str, object]]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = defaultdict(list)
    for name, value in pairs:
        found[name].append(value)
    return found


def _all(tables: Mapping[int, FileTables], field: str) -> set[Any]:
    return {item for table in tables.values() for item in getattr(table, field)}


def _reach(tables: Mapping[int, FileTables]) -> dict[str, frozenset[str]]:
    direct: dict[str, set[str]] = {}
    for table in tables.values():
        for source, target in table.edges:
            direct.setdefault(source, set()).add(target)
    return closure(direct)


def _merged(
    state: State,
    changed: Mapping[int, FileEntry],
    resolver: Resolver,
    declarations: Sequence[Declaration],
    written: int,
) -> State:
    """The state with the rows and tables of the resolved files in the place of the old ones."""
    fresh = declaration_table(declarations)
    fresh_stages = np.array([resolver.stages[item.name] for item in declarations], dtype=np.int8)
    spans: dict[str, tuple[int, int]] = {}
    for at, item in enumerate(declarations):
        spans[item.module] = (spans.get(item.module, (at, at))[0], at + 1)
    pieces: list[pa.Table] = []
    stages = []
    done = 0
    blocks = state.blocks
    modules = sorted(blocks)
    resolved = {facts.module for facts in resolver.files.values()}
    for module in sorted(resolved):
        start, end = blocks.get(module, (0, 0))
        if module not in blocks:
            following = next((name for name in modules if name > module), None)
            start = end = blocks[following][0] if following else state.table.num_rows
        first, last = spans.get(module, (0, 0))
        pieces += [state.table.slice(done, start - done), fresh.slice(first, last - first)]
        stages += [state.stages[done:start], fresh_stages[first:last]]
        done = end
    pieces.append(state.table.slice(done))
    stages.append(state.stages[done:])
    numbers = {facts.file: number for number, facts in resolver.files.items()}
    problems: dict[int, list[Problem]] = {**state.problems, **{number: [] for number in resolver.files}}
    for problem in resolver.problems:
        problems[numbers[problem.file]].append(problem)
    return replace(
        state,
        files=[changed.get(number, entry) for number, entry in enumerate(state.files)],
        written=written,
        table=pa.concat_tables(pieces).combine_chunks(),
        stages=np.concatenate(stages),
        uses=state.uses.replaced(resolver.uses),
        tables={**state.tables, **resolver.tables},
        problems=problems,
    )
