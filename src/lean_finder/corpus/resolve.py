"""From the facts of all files to declarations: full names, instance names, twins, aliases, generated lemmas.

Names become known in stages, within a stage file by file. What a file asks of others is recorded (`uses`), and what
others have said may come from a stored library (`Stored`), so that some files can be resolved alone, with the outcome
that all files together would give.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, ClassVar, NamedTuple, Protocol

from lean_finder.corpus.facts import FileFacts, Problem, RawDeclaration
from lean_finder.corpus.generated import generated_lemmas
from lean_finder.corpus.instances import Heads, InstanceNamer, Library, closure
from lean_finder.corpus.syntax import NAME_RE, plain_name, split_commas, split_signature, top_level
from lean_finder.corpus.terms import CORE, Grammar, constants, notation, parse_term
from lean_finder.corpus.translate import DICTIONARIES, NameTranslator, Translation, parse_translation
from lean_finder.corpus.twins import translate_statement
from lean_finder.corpus.uses import Uses, prefixes_of
from lean_finder.records import Declaration

_SINCE = re.compile(r'since\s*:=\s*"([^"]*)"')
_INSTANCE = re.compile(r"^(?:(?:local|scoped)\s+)?(?:reducible_|implicit_reducible_)?instance\b")
_PARALLEL_ABOVE = 2000

#: Stages in which names become known. What is made from a declaration has the tens of its own stage and, as units,
#: the tens of its source's: lemmas of written declarations come before lemmas of twins.
SOURCE, ANONYMOUS, ALIAS, EXPORT, TWIN, GENERATED, END = 0, 10, 20, 30, 40, 80, 99
_LAST_FILE = 1 << 40

Row = tuple[int, RawDeclaration]


def resolve_names(ident: str, namespace: str, opens: str, names: Mapping[str, object]) -> str:
    """Full name that `ident` means inside `namespace` with `opens` open, or "" if it is not among `names`."""
    part = namespace
    while part:
        if f"{part}.{ident}" in names:
            return f"{part}.{ident}"
        part = part.rpartition(".")[0]
    if ident in names:
        return ident
    for opened in opens.split():
        for base in prefixes_of(namespace):
            candidate = f"{base}{opened}.{ident}"
            if candidate in names:
                return candidate
    return ""


class Target(NamedTuple):
    """Where a translation attribute leads: `guessed` ones also translate the name inside statements."""

    attribute: str
    name: str
    target: str
    guessed: bool


@dataclass(slots=True)
class FileTables:
    """What one file adds to the tables that all files share.

    Attributes:
        edges: (class, class that an instance of it brings).
        set_like: types whose elements are sets with a membership.
        carriers: bundled types.
        applied: (declaration, attributes given to it by a command).
        documented: (declaration, doc comment given to it by a command).
        targets: translations of names.
    """

    edges: list[tuple[str, str]] = field(default_factory=list)
    set_like: list[str] = field(default_factory=list)
    carriers: list[str] = field(default_factory=list)
    applied: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    documented: list[tuple[str, str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def lists(self) -> list[list[Any]]:
        """The tables in the order of the attributes."""
        return [self.edges, self.set_like, self.carriers, self.applied, self.documented, self.targets]


class Stored(Protocol):
    """The files that are not resolved now, as an earlier run left them."""

    def visible(self, name: str, stage: int, file: int) -> bool:
        """The name is known before this file in this stage."""

    def is_source(self, name: str) -> bool:
        """The name is written out in a file and not an anonymous instance."""

    def is_public(self, name: str) -> bool:
        """`is_source`, and not private."""

    def row(self, name: str) -> Row:
        """File and declaration (without attributes and opened namespaces) of a visible name."""

    def fields(self, owner: str) -> list[tuple[str, RawDeclaration]]:
        """Fields of a structure, in order."""

    def notations(self) -> Sequence[tuple[str, str]]:
        """Notations of all files, those resolved now included."""

    def translations(self) -> Mapping[str, str]:
        """Inserted translations of all files."""

    def tables(self) -> Mapping[int, FileTables]:
        """File → what it adds to the shared tables."""

    def module(self, file: int) -> str:
        """Module of a file."""


class NeedsAllFiles(Exception):  # noqa: N818 — not an error: the caller resolves everything instead
    """The files cannot be resolved alone."""


class _Names(dict[str, Row]):
    """Names known so far; with a stored library also its names up to the present stage and file."""

    def __init__(self, stored: Stored) -> None:
        super().__init__()
        self.stored = stored
        self.stage = SOURCE
        self.file = -1

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self.stored.visible(str(name), self.stage, self.file)

    def __missing__(self, name: str) -> Row:
        return self.stored.row(name)


class Resolver:
    """Turns the facts of a whole library into declarations.

    Args:
        files: facts of the files to resolve.
        stored: all other files, if `files` is not the whole library.
        numbers: place of each file in the library's order; 0, 1, … if it is whole.
        workers: processes that name anonymous instances; the result does not depend on it.

    After `run`, `problems` says what is dropped and why; `uses`, `tables` and `stages` (name → stage) are what a later
    run needs to resolve some files alone.
    """

    def __init__(
        self,
        files: Sequence[FileFacts],
        stored: Stored | None = None,
        numbers: Sequence[int] = (),
        workers: int = 1,
    ) -> None:
        self.files = dict(zip(numbers or range(len(files)), files, strict=True))
        self.stored = stored
        self.workers = workers
        self.problems: list[Problem] = [problem for facts in files for problem in facts.problems]
        self.names: dict[str, Row] = _Names(stored) if stored else {}
        self.stages: dict[str, int] = {}
        self.uses: dict[int, Uses] = {number: Uses() for number in self.files}
        self.tables: dict[int, FileTables] = {number: FileTables() for number in self.files}
        self.now = Uses()
        self.grammar = Grammar()
        self.fields_of: dict[str, list[tuple[str, RawDeclaration]]] = {}
        for item in CORE:
            self.grammar.add(item)
        for pattern, term in stored.notations() if stored else (pair for facts in files for pair in facts.notations):
            if pattern.startswith("binder "):
                self.grammar.binders.setdefault(pattern[len("binder ") :].strip('"'), term)
                continue
            found = notation(pattern, term)
            if found:
                self.grammar.add(found)

    def run(self) -> list[Declaration]:
        """All declarations, sorted by module, line and name."""
        rows = self.source_rows()
        rows = self.with_attributes(rows)
        rows += self.alias_rows()
        rows += self.export_rows()
        rows += self.twin_rows(rows)
        rows += self.generated_rows(rows)
        result = []
        for number, raw in rows:
            self.enter(END, number)
            result.append(self.declaration(self.files[number].module, raw))
        result.sort(key=lambda item: (item.module, item.line, item.name))
        return result

    def enter(self, stage: int, number: int) -> None:
        """What is asked from now on is asked by this file, and it sees what is known before it in this stage."""
        self.now = self.uses[number]
        if isinstance(self.names, _Names):
            self.names.stage = stage
            self.names.file = number if stage != END else _LAST_FILE

    def in_order(self, stage: int) -> Iterator[tuple[int, FileFacts]]:
        """The files, each entered in turn."""
        for number, facts in self.files.items():
            self.enter(stage, number)
            yield number, facts

    def resolve(self, ident: str, namespace: str, opens: str) -> str:
        """`resolve_names` among the names known so far; the question is recorded."""
        self.now.idents.add(ident)
        self.now.contexts.add((namespace, opens))
        return resolve_names(ident, namespace, opens, self.names)

    def knows(self, name: str) -> bool:
        """A full name is known already; the question is recorded."""
        self.now.names.add(name)
        return name in self.names

    def keep(self, number: int, raw: RawDeclaration, stage: int) -> bool:
        """Take a name if it is new."""
        if self.knows(raw.name):
            first = self.module(self.names[raw.name][0])
            reason = f"{raw.name} is declared twice; the first, in {first}, is kept"
            self.problems.append(Problem(self.files[number].file, raw.line, reason))
            return False
        self.take(number, raw, stage)
        return True

    def take(self, number: int, raw: RawDeclaration, stage: int) -> None:
        self.names[raw.name] = (number, raw)
        self.stages[raw.name] = stage

    def module(self, number: int) -> str:
        """Module of a file, resolved now or stored."""
        if number in self.files or self.stored is None:
            return self.files[number].module
        return self.stored.module(number)

    def source_rows(self) -> list[Row]:
        rows: list[Row] = []
        anonymous: list[Row] = []
        public = {
            raw.name for facts in self.files.values() for raw in facts.declarations if raw.visibility != "private"
        }
        for number, facts in self.in_order(SOURCE):
            owners = {
                raw.name: frozenset(name for binder in split_signature(raw.signature)[0] for name in binder.names)
                for raw in facts.declarations
                if raw.kind in {"structure", "class"}
            }
            for raw in facts.declarations:
                if raw.parent_type:
                    raw = self.named_parent(raw, owners.get(raw.generated_by, frozenset()))
                if not raw.name:
                    anonymous.append((number, raw))
                    continue
                if raw.visibility == "private" and (
                    raw.name in public
                    or self.knows(raw.name)
                    or (self.stored is not None and self.stored.is_public(raw.name))
                ):
                    # Private names of two files do not clash in Lean, which prefixes them in this way.
                    self.now.names.add(raw.name)
                    raw = raw._replace(name=f"_private.{facts.module}.0.{raw.name}")
                if self.keep(number, raw, SOURCE):
                    rows.append((number, raw))
        library = self.library(rows)
        taken: dict[str, int] = defaultdict(int)
        for number, raw in self.named_instances(anonymous, library):
            self.enter(ANONYMOUS, number)
            base = raw.name
            while self.knows(raw.name):
                taken[base] += 1
                raw = raw._replace(name=f"{base}_{taken[base]}")
            self.take(number, raw, ANONYMOUS)
            rows.append((number, raw))
        return rows

    def library(self, rows: Sequence[Row]) -> Library:
        """What the naming of instances asks of the constants that are known so far."""
        for number, facts in self.in_order(ANONYMOUS):
            if isinstance(self.names, _Names):
                self.names.file = -1
            self.instance_tables(self.tables[number], facts)
        for number, raw in rows:
            self.enter(ANONYMOUS, number)
            if isinstance(self.names, _Names):
                self.names.file = -1
            table = self.tables[number]
            if raw.kind == "projection":
                match = NAME_RE.match(raw.signature[2:])
                if match:
                    parent = self.resolve(match.group(), raw.namespace, raw.opens) or match.group()
                    table.edges.append((raw.generated_by, parent))
            elif raw.kind == "field":
                self.fields_of.setdefault(raw.generated_by, []).append((raw.name, raw))
                if raw.name.endswith(".carrier") and raw.signature.startswith(": Type"):
                    table.carriers.append(raw.generated_by)
        shared = all_tables(self.tables, self.stored)
        direct: dict[str, set[str]] = {}
        for item in shared.values():
            for source, target in item.edges:
                direct.setdefault(source, set()).add(target)
        first = self.module(0) if self.files or self.stored else ""
        return Library(
            Heads(self.signature_of),
            closure(direct),
            frozenset({"Finset"}.union(*(item.set_like for item in shared.values()))),
            frozenset(name for item in shared.values() for name in item.carriers),
            first.split(".")[0],
        )

    def instance_tables(self, table: FileTables, facts: FileFacts) -> None:
        for raw in facts.declarations:
            if raw.kind != "instance":
                continue
            binders, type_ = split_signature(raw.signature)
            if type_.startswith("SetLike ("):
                match = NAME_RE.match(type_[len("SetLike (") :])
                if match:
                    table.set_like.append(self.resolve(match.group(), raw.namespace, raw.opens) or match.group())
            classes = [binder for binder in binders if binder.bracket == "["]
            words = type_.split()
            if len(classes) == 1 and classes[0].type.split()[1:] == words[1:] and len(words) > 1:
                source = self.resolve(classes[0].type.split()[0], raw.namespace, raw.opens)
                target = self.resolve(words[0], raw.namespace, raw.opens)
                if source and target:
                    table.edges.append((source, target))

    def signature_of(self, name: str) -> tuple[str, str] | None:
        """Section variables and signature, as a function, of a declaration that is written out."""
        if self.stages.get(name) != SOURCE and not (
            self.stored is not None and name not in self.stages and self.stored.is_source(name)
        ):
            return None
        raw = self.names[name][1]
        return raw.variables, self.as_function(raw)

    def members(self, owner: str) -> list[tuple[str, RawDeclaration]]:
        if owner in self.stages or self.stored is None:
            return self.fields_of.get(owner, [])
        return self.stored.fields(owner)

    def named_instances(self, anonymous: Sequence[Row], library: Library) -> Iterator[Row]:
        """The anonymous instances with the names Lean gives them, but for a number where two get the same."""
        count = min(self.workers, len(anonymous) // _PARALLEL_ABOVE + 1)
        if count < 2:
            for number, raw in anonymous:
                yield number, self.named_instance(number, raw, library)
            return
        size = len(anonymous) // (count * 8) + 1
        chunks = [anonymous[at : at + size] for at in range(0, len(anonymous), size)]
        _Naming.task = (self, library)
        # Forked workers share the library; nothing but the chunks and the names crosses a process border.
        with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
            for rows, uses in pool.map(_Naming.names, chunks):
                for number, item in uses.items():
                    self.uses[number].add(item)
                yield from rows
        _Naming.task = None

    def as_function(self, raw: RawDeclaration) -> str:
        """Signature of a constant; a field takes its structure's parameters first, and its arrows are binders."""
        if raw.kind == "constructor" and not raw.signature and raw.generated_by in self.names:
            return self.as_constructor(self.names[raw.generated_by][1])
        if raw.kind != "field" or raw.generated_by not in self.names or not raw.signature.startswith(": "):
            return raw.signature
        owner = self.names[raw.generated_by][1]
        parameters = " ".join(
            f"{{{binder.text[1:-1]}}}" if binder.bracket == "(" else binder.text
            for binder in split_signature(owner.signature)[0]
            if binder.type
        )
        parts = []
        done = 2
        for mark, offset in top_level(raw.signature, 2):
            if mark not in {"→"}:
                return raw.signature
            parts.append(raw.signature[done:offset].strip())
            done = offset + 1
        arguments = " ".join(f"(_ : {part})" for part in parts if part[:1] not in "({[⦃")
        return f"{parameters} {arguments} : {raw.signature[done:].strip()}" if len(parts) else raw.signature

    def as_constructor(self, owner: RawDeclaration) -> str:
        """Signature of the constructor of a structure: its parameters implicit, its fields explicit."""
        binders = [binder for binder in split_signature(owner.signature)[0] if binder.type]
        parameters = " ".join(f"{{{binder.text.strip('({[⦃)}]⦄')}}}" for binder in binders if binder.bracket != "[")
        fields = " ".join(
            f"({name.rsplit('.', 1)[-1]} {raw.signature})"
            for name, raw in self.members(owner.name)
            if raw.signature.startswith(": ")
        )
        applied = " ".join(
            [owner.name, *(name for binder in binders if binder.bracket == "(" for name in binder.names)]
        )
        return f"{parameters} {fields} : {applied}"

    def named_parent(self, raw: RawDeclaration, owner: frozenset[str]) -> RawDeclaration:
        local = {name for binder in split_signature(raw.variables)[0] for name in binder.names}
        tree = parse_term(raw.parent_type, self.grammar, local | owner)
        heads = constants(tree.parts[0] if tree.kind == "app" else tree)
        last = heads[0].rsplit(".", 1)[-1] if heads else "Parent"
        return raw._replace(name=f"{raw.generated_by}.to{last[:1].upper()}{last[1:]}", parent_type="")

    def named_instance(self, number: int, raw: RawDeclaration, library: Library) -> RawDeclaration:
        self.enter(ANONYMOUS, number)
        if isinstance(self.names, _Names):
            self.names.file = -1

        def full(ident: str) -> str:
            return self.resolve(ident, raw.namespace, raw.opens)

        if raw.origin == "deriving":
            target = full(raw.generated_by) or raw.generated_by
            raw = raw._replace(signature=f"{raw.signature} {raw.generated_by}", generated_by=target)
        library.asked = self.now.classes
        library.heads.asked = self.now.signatures
        last = InstanceNamer(library, self.grammar, full, raw.namespace, raw.variables).name(raw.signature)
        return raw._replace(name=f"{raw.namespace}.{last}" if raw.namespace else last)

    def with_attributes(self, rows: list[Row]) -> list[Row]:
        """Add what `attribute [...] x` and `add_decl_doc x` say to the declarations they speak of."""
        for number, facts in self.in_order(ALIAS):
            if isinstance(self.names, _Names):
                self.names.file = -1
            table = self.tables[number]
            for item in facts.attributes:
                given = tuple(a for a in item.attributes if not a.startswith("-"))
                for ident in item.names:
                    name = self.resolve(ident, item.namespace, item.opens)
                    if name:
                        table.applied.append((name, given))
            for ident, doc, namespace, opens in facts.documented:
                name = self.resolve(ident, namespace, opens)
                if name:
                    table.documented.append((name, doc))
        extra: dict[str, tuple[str, ...]] = {}
        docs: dict[str, str] = {}
        for _, table in sorted(all_tables(self.tables, self.stored).items()):
            for name, given in table.applied:
                extra[name] = extra.get(name, ()) + given
            docs.update(table.documented)
        result = []
        for number, raw in rows:
            if raw.name in extra or raw.name in docs:
                raw = raw._replace(
                    attributes=(*raw.attributes, *extra.get(raw.name, ())),
                    docstring=raw.docstring or docs.get(raw.name, ""),
                )
            result.append((number, raw))
        return result

    def alias_rows(self) -> list[Row]:
        rows = []
        for number, facts in self.in_order(ALIAS):
            for alias in facts.aliases:
                raw = alias.declaration
                target = self.resolve(alias.target, raw.namespace, raw.opens)
                if target:
                    self.now.signatures.add(target)
                    source = self.names[target][1]
                    raw = raw._replace(signature=_side(source.signature, alias.side), variables=source.variables)
                raw = raw._replace(generated_by=target or alias.target)
                if self.keep(number, raw, ALIAS):
                    rows.append((number, raw))
        return rows

    def export_rows(self) -> list[Row]:
        rows = []
        for number, facts in self.in_order(EXPORT):
            for export in facts.exports:
                for last in export.names:
                    source = self.resolve(f"{export.source}.{last}", export.namespace, export.opens)
                    if not source:
                        continue
                    name = f"{export.namespace}.{last}" if export.namespace else last
                    if self.knows(name):
                        continue  # An exported name is a reading aid; Lean lets it stand beside a declaration.
                    if self.stored is not None and source not in self.stages:
                        raise NeedsAllFiles(f"{facts.module} exports {source}")
                    self.now.signatures.add(source)
                    raw = self.names[source][1]._replace(
                        name=name, line=export.line, origin="export", generated_by=source, attributes=(), kind="alias"
                    )
                    if self.keep(number, raw, EXPORT):
                        rows.append((number, raw))
        return rows

    def twin_rows(self, rows: list[Row]) -> list[Row]:
        made: list[Row] = []
        for place, attribute in enumerate(DICTIONARIES):
            made += self.twins_of([*rows, *made], attribute, TWIN + 20 * place)
        return made

    def twins_of(self, fresh: list[Row], attribute: str, stage: int) -> list[Row]:
        """Twins that one attribute makes."""
        made: list[Row] = []
        own: dict[str, Translation] = {}
        translator = self.translator(attribute, own)
        # A twin can carry the attribute again (`attr := to_additive`), so what was made is looked at in turn.
        while fresh:
            sources = []
            for number, raw in fresh:
                for text in raw.attributes:
                    if text.startswith(attribute) and (found := parse_translation(text, split_commas)):
                        own[raw.name] = found
                        sources.append((number, raw))
            fresh = [twin for source in sources if (twin := self.twin(*source, translator, stage))]
            made.extend(fresh)
            stage += 10 if len(made) == len(fresh) else 0
        return [self.stated(number, twin, translator) for number, twin in made]

    def translator(self, attribute: str, own: dict[str, Translation]) -> NameTranslator:
        inserted: Mapping[str, str] = {}
        if attribute == "to_additive":
            if self.stored is not None:
                inserted = self.stored.translations()
            else:
                inserted = dict(pair for facts in self.files.values() for pair in facts.translations)
        elsewhere = [
            item
            for number, table in (self.stored.tables() if self.stored else {}).items()
            if number not in self.files
            for item in table.targets
            if item.attribute == attribute
        ]
        translator = NameTranslator(attribute, own, inserted, {item.name: item.target for item in elsewhere})
        translator.known.update((item.name, item.target) for item in elsewhere if item.guessed)
        return translator

    def twin(self, number: int, raw: RawDeclaration, translator: NameTranslator, stage: int) -> Row | None:
        """The declaration that a translation attribute makes; None if it points to one that is written out."""
        stage += self.stages[raw.name] // 10
        self.enter(stage, number)
        translator.asked = self.now.translations
        translation = translator.own[raw.name]
        target = translator.target(raw.name, translation)
        guessed = not translation.target and translation.hint not in {"self", "none"}
        self.tables[number].targets.append(Target(translator.attribute, raw.name, target, guessed))
        if target == raw.name or self.knows(target) or translation.hint == "existing":
            return None
        twin = raw._replace(
            name=target,
            docstring=translation.docstring,
            attributes=translation.passed,
            origin=translator.attribute,
            generated_by=raw.name,
        )
        self.take(number, twin, stage)
        return number, twin

    def stated(self, number: int, twin: RawDeclaration, translator: NameTranslator) -> Row:
        """The twin with its statement, written when all translations of names are known."""
        source = self.names[twin.generated_by][1]
        for text in (source.signature, source.variables):
            self.uses[number].translations.update(NAME_RE.findall(text))
        twin = twin._replace(
            signature=translate_statement(source.signature, translator.attribute, translator.known),
            variables=translate_statement(source.variables, translator.attribute, translator.known),
        )
        self.names[twin.name] = (number, twin)
        return number, twin

    def generated_rows(self, rows: list[Row]) -> list[Row]:
        """Lemmas that attributes make, unless the library writes them out itself."""
        members: dict[str, list[RawDeclaration]] = {}
        for _, raw in rows:
            if raw.kind in {"field", "projection"}:
                members.setdefault(raw.generated_by, []).append(raw)
        made = []
        for number, raw in rows:
            if raw.attributes or raw.kind == "irreducible_def":
                stage = GENERATED + self.stages[raw.name] // 10
                self.enter(stage, number)
                for lemma in generated_lemmas(raw, members.get(raw.name, ())):
                    if not self.knows(lemma.name):
                        self.take(number, lemma, stage)
                        made.append((number, lemma))
        return made

    def declaration(self, module: str, raw: RawDeclaration) -> Declaration:
        deprecated, since, replacement = self.deprecation(raw)
        return Declaration(
            name=raw.name,
            kind=raw.kind,
            module=module,
            line=raw.line,
            signature=raw.signature,
            variables=raw.variables,
            docstring=raw.docstring,
            attributes=raw.attributes,
            namespace=raw.namespace,
            visibility=raw.visibility,
            is_instance=raw.kind == "instance" or any(_INSTANCE.match(text) for text in raw.attributes),
            deprecated=deprecated,
            deprecated_since=since,
            replacement=replacement,
            origin=raw.origin,
            generated_by=raw.generated_by,
        )

    def deprecation(self, raw: RawDeclaration) -> tuple[bool, str, str]:
        for text in raw.attributes:
            if text.startswith("deprecated") and not text[10:11].isalnum() and text[10:11] != "_":
                since = _SINCE.search(text)
                match = NAME_RE.match(text[10:].strip())
                replacement = ""
                if match:
                    ident = plain_name(match.group())
                    replacement = self.resolve(ident, raw.namespace, raw.opens) or ident
                elif raw.kind == "alias":
                    replacement = raw.generated_by
                return True, since.group(1) if since else "", replacement
        return False, "", ""


def all_tables(own: Mapping[int, FileTables], stored: Stored | None) -> dict[int, FileTables]:
    """Tables of all files: the stored ones, with those resolved now in their place."""
    return {**(stored.tables() if stored else {}), **own}


class _Naming:
    """The task of a worker process, inherited when it is forked."""

    task: ClassVar[tuple[Resolver, Library] | None] = None

    @staticmethod
    def names(rows: Sequence[Row]) -> tuple[list[Row], dict[int, Uses]]:
        """The instances with their names, and what naming them asked."""
        if _Naming.task is None:
            raise RuntimeError("no naming task in this process")
        resolver, library = _Naming.task
        numbers = {number for number, _ in rows}
        resolver.uses = {number: Uses() for number in numbers}
        named = [(number, resolver.named_instance(number, raw, library)) for number, raw in rows]
        return named, resolver.uses


def _side(signature: str, side: str) -> str:
    """The signature of one direction of an equivalence."""
    if not side:
        return signature
    binders, type_ = split_signature(signature)
    del binders
    at = next((offset for mark, offset in top_level(type_) if mark == "↔"), -1)
    if at < 0:
        return signature
    left, right = type_[:at].strip(), type_[at + 1 :].strip()
    head = signature[: signature.rindex(type_)]
    return head + (f"{left} → {right}" if side == "mp" else f"{right} → {left}")
