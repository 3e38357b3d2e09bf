"""Families: declarations that must stay on one side of a split because one gives the other away.

The smallest equivalence that joins twins, aliases, deprecated names and their replacements, generated names and their
source, equal statements, and equal documentation of equally shaped statements. Every join keeps its evidence.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, ClassVar, TypeVar

from lean_finder.corpus.memory import no_collection
from lean_finder.corpus.resolve import resolve_names
from lean_finder.corpus.statements import Statement, normal_form, shape, statement_key
from lean_finder.corpus.syntax import split_commas
from lean_finder.corpus.translate import DICTIONARIES, NameTranslator, Translation, parse_translation
from lean_finder.records import Declaration

REASONS = ("twin", "alias", "deprecated", "generated", "same_statement", "same_text")

#: Kinds whose type is their content: two with the same statement say the same.
_STATING = frozenset({"theorem", "lemma", "axiom", "alias", "instance"})
#: What belongs to its structure or type already; its text is often a formula ("the underlying map") that says little.
_MEMBERS = frozenset({"field", "projection", "constructor"})
_MIN_TOKENS = 6
_MIN_WORDS = 4
_PARALLEL_ABOVE = 4000
_FOLD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Join:
    """Two declarations of one family: why (one of `REASONS`), and what shows it."""

    left: str
    right: str
    reason: str
    evidence: str


@dataclass(frozen=True)
class Families:
    """`family_of`: name → family, named after its first member in sorted order; `joins`: the evidence, sorted."""

    family_of: dict[str, str]
    joins: list[Join]

    def members(self, name: str) -> list[str]:
        """Sorted members of the family of `name` (itself included).

        Raises:
            KeyError: the name is not in the corpus.
        """
        family = self.family_of[name]
        return sorted(other for other, of in self.family_of.items() if of == family)


def find_families(declarations: Sequence[Declaration], workers: int = 0) -> Families:
    """Partition declarations into families (definition in the module's docstring).

    Args:
        declarations: the whole corpus.
        workers: processes; 0 takes one for each core. The result does not depend on it.
    """
    with no_collection():
        return _families(declarations, workers or os.cpu_count() or 1)


def _families(declarations: Sequence[Declaration], workers: int) -> Families:
    by_name = {item.name: item for item in declarations}
    joins = [
        join for join in _all_joins(declarations, by_name, workers) if join.left in by_name and join.right in by_name
    ]
    parent = {name: name for name in by_name}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for join in joins:
        left, right = root(join.left), root(join.right)
        if left != right:
            first, second = sorted((left, right))
            parent[second] = first
    joins = sorted(set(joins), key=lambda join: (join.left, join.right, join.reason, join.evidence))
    return Families({name: root(name) for name in by_name}, joins)


def _all_joins(declarations: Sequence[Declaration], by_name: Mapping[str, Declaration], workers: int) -> Iterable[Join]:
    yield from _twins(declarations)
    for item in declarations:
        if item.deprecated and item.replacement and item.replacement != item.name:
            yield Join(item.name, item.replacement, "deprecated", f"deprecated {item.deprecated_since}".strip())
        if not item.generated_by or item.generated_by == item.name:
            continue
        if item.origin in DICTIONARIES:
            yield Join(item.generated_by, item.name, "twin", f"@[{item.origin}] on {item.generated_by}")
        elif item.origin in {"alias", "export"}:
            yield Join(item.name, item.generated_by, "alias", f"{item.origin} in {item.module}:{item.line}")
        elif item.origin != "deriving":
            yield Join(item.name, item.generated_by, "generated", f"{item.origin} of {item.generated_by}")
    yield from _same(declarations, by_name, workers)


def _twins(declarations: Sequence[Declaration]) -> Iterable[Join]:
    """Hand-written twins that an attribute names or implies."""
    for attribute in DICTIONARIES:
        own: dict[str, Translation] = {}
        for item in declarations:
            for text in item.attributes:
                if text.startswith(attribute) and (found := parse_translation(text, split_commas)):
                    own[item.name] = found
        translator = NameTranslator(attribute, own, {})
        for name, translation in own.items():
            target = translator.target(name, translation)
            if target != name:
                yield Join(name, target, "twin", f"@[{attribute}] on {name}")


def _same(declarations: Sequence[Declaration], by_name: Mapping[str, Declaration], workers: int) -> Iterable[Join]:
    """Equal statements and equal texts; full normal forms only where cheaper keys or the text already agree."""
    keys = _mapped(_key, [item for item in declarations if item.signature and item.kind in _STATING], by_name, workers)
    by_key: dict[str, list[Declaration]] = defaultdict(list)
    by_text: dict[str, list[Declaration]] = defaultdict(list)
    for item in declarations:
        if not item.signature:
            continue
        if item.kind in _STATING:
            by_key[next(keys)].append(item)
        if item.docstring and item.kind not in _MEMBERS:
            words = _FOLD.sub(" ", item.docstring).casefold().strip()
            if words.count(" ") + 1 >= _MIN_WORDS:
                by_text[words].append(item)
    stating = [group for group in by_key.values() if len(group) > 1]
    saying = [group for group in by_text.values() if len(group) > 1]
    for found in _mapped(_equal_statements, stating, by_name, workers):
        yield from found
    for found in _mapped(_equal_texts, saying, by_name, workers):
        yield from found


def _key(item: Declaration, resolve: Resolution) -> str:
    del resolve
    return statement_key(item.signature, item.variables)


def _equal_statements(group: Sequence[Declaration], resolve: Resolution) -> list[Join]:
    """Joins of declarations that state the same; the group agrees in the cheap key."""
    bodies: dict[str, list[tuple[Declaration, Statement]]] = defaultdict(list)
    for item in group:
        statement = Statement(item.signature, item.variables, resolve(item.namespace))
        bodies[statement.body].append((item, statement))
    joins = []
    for same in bodies.values():
        first: dict[str, str] = {}
        for item, statement in same if len(same) > 1 else ():
            text = statement.form()
            if text.count(" ") + 1 >= _MIN_TOKENS and first.setdefault(text, item.name) != item.name:
                joins.append(Join(first[text], item.name, "same_statement", text))
    return joins


def _equal_texts(group: Sequence[Declaration], resolve: Resolution) -> list[Join]:
    """Joins of declarations of one documentation whose statements are shaped alike."""
    joins = []
    first: dict[str, str] = {}
    for item in group:
        text = shape(normal_form(item.signature, item.variables, resolve(item.namespace)))
        if first.setdefault(text, item.name) != item.name:
            joins.append(Join(first[text], item.name, "same_text", item.docstring))
    return joins


#: Namespace → full names of constants as they are written inside it.
Resolution = Callable[[str], Callable[[str], str]]
Item = TypeVar("Item")
Result = TypeVar("Result")


class _Task:
    """What a forked worker process inherits: the work, its items and the names of the library."""

    work: ClassVar[Callable[[Any, Resolution], Any] | None] = None
    items: ClassVar[Sequence[Any]] = ()
    resolve: ClassVar[Resolution | None] = None

    @staticmethod
    def run(span: tuple[int, int]) -> list[Any]:
        """Results for the items of a span."""
        if _Task.work is None or _Task.resolve is None:
            raise RuntimeError("no task in this process")
        return [_Task.work(item, _Task.resolve) for item in _Task.items[slice(*span)]]


def _mapped(
    work: Callable[[Item, Resolution], Result], items: Sequence[Item], by_name: Mapping[str, Declaration], workers: int
) -> Iterator[Result]:
    """Results of `work` for all items, in their order; many items are shared out to forked processes."""
    cache: dict[tuple[str, str], str] = {}

    def resolve(namespace: str) -> Callable[[str], str]:
        return partial(_constant, namespace, by_name, cache)

    if workers < 2 or len(items) < _PARALLEL_ABOVE:
        yield from (work(item, resolve) for item in items)
        return
    size = len(items) // (workers * 8) + 1
    spans = [(at, at + size) for at in range(0, len(items), size)]
    _Task.work, _Task.items, _Task.resolve = work, items, resolve
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
            for results in pool.map(_Task.run, spans):
                yield from results
    finally:
        _Task.work, _Task.items, _Task.resolve = None, (), None


def _constant(namespace: str, by_name: Mapping[str, Declaration], cache: dict[tuple[str, str], str], ident: str) -> str:
    key = (namespace, ident)
    if key not in cache:
        cache[key] = resolve_names(ident, namespace, "", by_name) or ident
    return cache[key]


def sizes(families: Families) -> dict[str, int]:
    """Number of members of every family."""
    count: dict[str, int] = defaultdict(int)
    for family in families.family_of.values():
        count[family] += 1
    return dict(count)
