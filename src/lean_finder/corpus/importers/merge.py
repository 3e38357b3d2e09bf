"""One corpus from two: what Lean said (exact) and what the source says.

Exact facts win: names, kinds, types, modules, instances. The source fills docstrings, lines, attributes and
deprecations, and keeps its keyword where that only says more: `lemma` for `theorem`, `class` for jixia's `inductive`,
`def` for what became an instance by its attribute.
Signatures are never compared: the source writes them, Lean elaborates them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lean_finder.corpus.importers.contract import one_line
from lean_finder.records import Declaration

#: Exact kind -> source kinds that say the same and more.
_REFINES = {
    "def": {"abbrev", "alias", "field", "instance", "irreducible_def", "projection"},
    "inductive": {"class", "structure"},
    "instance": {"abbrev", "alias", "def", "field", "irreducible_def", "lemma", "projection", "theorem"},
    "opaque": {"irreducible_def", "def"},
    "theorem": {"alias", "field", "instance", "lemma", "projection"},
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The source and the exact corpus differ about one declaration.

    Attributes:
        name: the declaration, by its exact name.
        field: name, kind, module, is_instance, visibility, docstring or replacement.
        source: what the source says.
        exact: what the exact corpus says; this was taken. "" for a name that the exact corpus does not have.
    """

    name: str
    field: str
    source: str
    exact: str


@dataclass(frozen=True)
class Merged:
    """The merged corpus.

    Attributes:
        declarations: by module, line and name.
        disagreements: all of them, by field and name.
        only_source: public names that only the source has; they are in the corpus. Lean-side corpora leave out private
            and some generated declarations, or were made at another revision.
        only_exact: names that only the exact corpus has; they are in the corpus.
        recovered: name -> kind that the source gave for what the exact corpus calls `inductive`.
    """

    declarations: list[Declaration]
    disagreements: list[Disagreement]
    only_source: list[str]
    only_exact: list[str]
    recovered: dict[str, str]

    @property
    def counts(self) -> dict[str, int]:
        """Disagreements by field, in sorted order."""
        return dict(sorted(Counter(item.field for item in self.disagreements).items()))


def merge_exact(source: list[Declaration], exact: list[Declaration], *, certain_instances: bool = True) -> Merged:
    """Merge two corpora of one library.

    An unnamed instance gets its name from Lean; the source only guesses it. A guess that is not among the exact names
    is replaced by the exact instance of the same place, and dropped if the module has one that could be it: the same
    declaration under two names would leak between splits.

    Args:
        source: from the source extractor.
        exact: from an importer.
        certain_instances: `Imported.certain_instances`; if False, an instance of the source stays one.
    """
    renamed, dropped = _instance_names(source, exact)
    gone = set(dropped)
    disagreements = [Disagreement(new or old, "name", old, new) for old, new in renamed.items()]
    disagreements += [Disagreement(old, "name", old, "") for old in dropped]
    by_name = {
        renamed.get(item.name, item.name): replace(item, name=renamed.get(item.name, item.name))
        for item in source
        if item.name not in gone
    }
    merged, recovered = [], {}
    for item in exact:
        other = by_name.get(item.name)
        if other is None:
            merged.append(item)
            continue
        if item.kind == "inductive" and other.kind in _REFINES["inductive"]:
            recovered[item.name] = other.kind
        merged.append(_merge_one(other, item, certain_instances))
        disagreements += _compare(other, item, certain_instances)
    known = {item.name for item in exact}
    rest = [item for name, item in by_name.items() if name not in known]
    return Merged(
        declarations=sorted([*merged, *rest], key=lambda item: (item.module, item.line, item.name)),
        disagreements=sorted(disagreements, key=lambda item: (item.field, item.name, item.source)),
        only_source=sorted(item.name for item in rest if item.visibility != "private"),
        only_exact=sorted(known - by_name.keys()),
        recovered=dict(sorted(recovered.items())),
    )


def _merge_one(source: Declaration, exact: Declaration, certain_instances: bool) -> Declaration:
    same_statement = not exact.signature or one_line(exact.signature) == one_line(source.signature)
    return replace(
        exact,
        kind=_kind(source.kind, exact.kind),
        module=exact.module or source.module,
        line=source.line or exact.line,
        signature=exact.signature or source.signature,
        # an elaborated signature already has all binders; the source's own would repeat them
        variables=exact.variables or (source.variables if same_statement else ""),
        docstring=exact.docstring or source.docstring,
        informal=exact.informal or source.informal,
        attributes=source.attributes or exact.attributes,
        namespace=exact.namespace or source.namespace,
        visibility=source.visibility if exact.visibility == "public" else exact.visibility,
        is_instance=exact.is_instance or (source.is_instance and not certain_instances),
        deprecated=exact.deprecated or source.deprecated,
        deprecated_since=exact.deprecated_since or source.deprecated_since,
        replacement=exact.replacement or source.replacement,
        origin=source.origin if exact.origin == "source" else exact.origin,
        generated_by=exact.generated_by or source.generated_by,
    )


def _kind(source: str, exact: str) -> str:
    return source if source in _REFINES.get(exact, ()) else exact


def _compare(source: Declaration, exact: Declaration, certain_instances: bool) -> list[Disagreement]:
    found = []
    if _kind(source.kind, exact.kind) != source.kind:
        found.append(Disagreement(exact.name, "kind", source.kind, exact.kind))
    for field in ("module", "replacement", "docstring"):
        ours, theirs = one_line(getattr(source, field)), one_line(getattr(exact, field))
        if ours and theirs and ours != theirs:
            found.append(Disagreement(exact.name, field, ours, theirs))
    if certain_instances and source.is_instance != exact.is_instance:
        found.append(Disagreement(exact.name, "is_instance", str(source.is_instance), str(exact.is_instance)))
    if "private" in {source.visibility, exact.visibility} and source.visibility != exact.visibility:
        found.append(Disagreement(exact.name, "visibility", source.visibility, exact.visibility))
    return found


def _instance_names(source: Sequence[Declaration], exact: Sequence[Declaration]) -> tuple[dict[str, str], list[str]]:
    """Guessed instance names -> exact names, and guesses that some exact instance must stand for."""
    source_names = {item.name for item in source}
    exact_names = {item.name for item in exact}
    guesses = _by_module(item for item in source if _is_guess(item) and item.name not in exact_names)
    unmatched = _by_module(
        item for item in exact if (item.is_instance or _is_auto(item.name)) and item.name not in source_names
    )
    renamed: dict[str, str] = {}
    dropped: list[str] = []
    for module, ours in guesses.items():
        theirs = unmatched.get(module, [])
        lines = {item.line: item.name for item in reversed(theirs) if item.line}
        pairs = {item.name: lines[item.line] for item in ours if item.line in lines}
        pairs = {old: new for old, new in pairs.items() if list(pairs.values()).count(new) == 1}
        open_ours = [item for item in ours if item.name not in pairs]
        taken = set(pairs.values())
        open_theirs = [item for item in theirs if item.name not in taken]
        if len(open_ours) == len(open_theirs) and (len(open_ours) == 1 or all(item.line for item in open_theirs)):
            order = [sorted(items, key=lambda item: item.line) for items in (open_ours, open_theirs)]
            pairs |= {old.name: new.name for old, new in zip(*order, strict=True)}
        elif open_theirs:
            dropped += [item.name for item in open_ours]
        renamed |= pairs
    return renamed, dropped


def _by_module(items: Iterable[Declaration]) -> dict[str, list[Declaration]]:
    found: dict[str, list[Declaration]] = defaultdict(list)
    for item in items:
        found[item.module].append(item)
    return found


def _is_auto(name: str) -> bool:
    """A name as Lean makes for an unnamed instance: its last part starts with `inst` and goes on in capitals."""
    last = name.rpartition(".")[2]
    return last.startswith("inst") and last[4:5].isupper()


def _is_guess(item: Declaration) -> bool:
    return item.kind == "instance" and _is_auto(item.name) and item.visibility != "private"
