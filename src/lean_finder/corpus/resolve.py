"""From the facts of all files to declarations: full names, instance names, twins, aliases, generated lemmas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lean_finder.corpus.facts import FileFacts, Problem, RawDeclaration
from lean_finder.corpus.generated import generated_lemmas
from lean_finder.corpus.instances import Heads, InstanceNamer, Library, closure
from lean_finder.corpus.syntax import NAME_RE, plain_name, split_commas, split_signature, top_level
from lean_finder.corpus.terms import CORE, Grammar, constants, notation, parse_term
from lean_finder.corpus.translate import DICTIONARIES, NameTranslator, Translation, parse_translation
from lean_finder.corpus.twins import translate_statement
from lean_finder.records import Declaration

_SINCE = re.compile(r'since\s*:=\s*"([^"]*)"')
_INSTANCE = re.compile(r"^(?:(?:local|scoped)\s+)?(?:reducible_|implicit_reducible_)?instance\b")


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
        for base in _prefixes(namespace):
            candidate = f"{base}{opened}.{ident}"
            if candidate in names:
                return candidate
    return ""


def _prefixes(namespace: str) -> Iterable[str]:
    yield ""
    part = namespace
    while part:
        yield f"{part}."
        part = part.rpartition(".")[0]


class Resolver:
    """Turns the facts of a whole library into declarations; `problems` collects what is dropped and why."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self.files = files
        self.problems: list[Problem] = [problem for facts in files for problem in facts.problems]
        self.names: dict[str, tuple[str, RawDeclaration]] = {}
        self.grammar = Grammar()
        self.binder_names: dict[str, frozenset[str]] = {}
        self.fields_of: dict[str, list[tuple[str, RawDeclaration]]] = {}
        for item in CORE:
            self.grammar.add(item)
        for facts in files:
            for pattern, term in facts.notations:
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
        result = [self.declaration(module, raw) for module, raw in rows]
        result.sort(key=lambda item: (item.module, item.line, item.name))
        return result

    def keep(self, facts: FileFacts, raw: RawDeclaration) -> bool:
        """Take a name if it is new."""
        if raw.name in self.names:
            self.problems.append(
                Problem(
                    facts.file,
                    raw.line,
                    f"{raw.name} is declared twice; the first, in {self.names[raw.name][0]}, is kept",
                )
            )
            return False
        self.names[raw.name] = (facts.module, raw)
        return True

    def source_rows(self) -> list[tuple[str, RawDeclaration]]:
        rows = []
        anonymous = []
        self.binder_names = {
            raw.name: frozenset(name for binder in split_signature(raw.signature)[0] for name in binder.names)
            for facts in self.files
            for raw in facts.declarations
            if raw.kind in {"structure", "class"}
        }
        public = {raw.name for facts in self.files for raw in facts.declarations if raw.visibility != "private"}
        for facts in self.files:
            for raw in facts.declarations:
                if raw.parent_type:
                    raw = self.named_parent(raw)
                if not raw.name:
                    anonymous.append((facts, raw))
                    continue
                if raw.visibility == "private" and (raw.name in public or raw.name in self.names):
                    # Private names of two files do not clash in Lean, which prefixes them in this way.
                    raw = raw._replace(name=f"_private.{facts.module}.0.{raw.name}")
                if self.keep(facts, raw):
                    rows.append((facts.module, raw))
        library = self.library()
        taken: Counter[str] = Counter()
        for facts, raw in anonymous:
            raw = self.named_instance(raw, library)
            base = raw.name
            while raw.name in self.names:
                taken[base] += 1
                raw = raw._replace(name=f"{base}_{taken[base]}")
            if self.keep(facts, raw):
                rows.append((facts.module, raw))
        return rows

    def library(self) -> Library:
        """What the naming of instances asks of the constants that are known so far."""
        direct: dict[str, set[str]] = {}
        set_like = {"Finset"}
        carriers = set()
        for name, (_, raw) in self.names.items():
            if raw.kind == "projection":
                match = NAME_RE.match(raw.signature[2:])
                if match:
                    parent = resolve_names(match.group(), raw.namespace, raw.opens, self.names) or match.group()
                    direct.setdefault(raw.generated_by, set()).add(parent)
            elif raw.kind == "field" and name.endswith(".carrier") and raw.signature.startswith(": Type"):
                carriers.add(raw.generated_by)
        for facts in self.files:
            for raw in facts.declarations:
                if raw.kind != "instance":
                    continue
                binders, type_ = split_signature(raw.signature)
                if type_.startswith("SetLike ("):
                    match = NAME_RE.match(type_[len("SetLike (") :])
                    if match:
                        set_like.add(
                            resolve_names(match.group(), raw.namespace, raw.opens, self.names) or match.group()
                        )
                classes = [binder for binder in binders if binder.bracket == "["]
                words = type_.split()
                if len(classes) == 1 and classes[0].type.split()[1:] == words[1:] and len(words) > 1:
                    source = resolve_names(classes[0].type.split()[0], raw.namespace, raw.opens, self.names)
                    target = resolve_names(words[0], raw.namespace, raw.opens, self.names)
                    if source and target:
                        direct.setdefault(source, set()).add(target)
        for name, (_, raw) in self.names.items():
            if raw.kind == "field":
                self.fields_of.setdefault(raw.generated_by, []).append((name, raw))
        signatures = {name: (raw.variables, self.as_function(raw)) for name, (_, raw) in self.names.items()}
        project = self.files[0].module.split(".")[0] if self.files else ""
        return Library(Heads(signatures), closure(direct), frozenset(set_like), frozenset(carriers), project)

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
            for name, raw in self.fields_of.get(owner.name, ())
            if raw.signature.startswith(": ")
        )
        applied = " ".join(
            [owner.name, *(name for binder in binders if binder.bracket == "(" for name in binder.names)]
        )
        return f"{parameters} {fields} : {applied}"

    def named_parent(self, raw: RawDeclaration) -> RawDeclaration:
        local = {name for binder in split_signature(raw.variables)[0] for name in binder.names}
        owner = self.binder_names.get(raw.generated_by, frozenset())
        tree = parse_term(raw.parent_type, self.grammar, local | owner)
        heads = constants(tree.parts[0] if tree.kind == "app" else tree)
        last = heads[0].rsplit(".", 1)[-1] if heads else "Parent"
        return raw._replace(name=f"{raw.generated_by}.to{last[:1].upper()}{last[1:]}", parent_type="")

    def named_instance(self, raw: RawDeclaration, library: Library) -> RawDeclaration:
        def full(ident: str) -> str:
            return resolve_names(ident, raw.namespace, raw.opens, self.names)

        if raw.origin == "deriving":
            target = full(raw.generated_by) or raw.generated_by
            raw = raw._replace(signature=f"{raw.signature} {raw.generated_by}", generated_by=target)
        last = InstanceNamer(library, self.grammar, full, raw.namespace, raw.variables).name(raw.signature)
        return raw._replace(name=f"{raw.namespace}.{last}" if raw.namespace else last)

    def with_attributes(self, rows: list[tuple[str, RawDeclaration]]) -> list[tuple[str, RawDeclaration]]:
        """Add what `attribute [...] x` and `add_decl_doc x` say to the declarations they speak of."""
        extra: dict[str, tuple[str, ...]] = {}
        docs: dict[str, str] = {}
        for facts in self.files:
            for item in facts.attributes:
                for ident in item.names:
                    name = resolve_names(ident, item.namespace, item.opens, self.names)
                    if name:
                        extra[name] = extra.get(name, ()) + tuple(a for a in item.attributes if not a.startswith("-"))
            for ident, doc, namespace, opens in facts.documented:
                name = resolve_names(ident, namespace, opens, self.names)
                if name:
                    docs[name] = doc
        result = []
        for module, raw in rows:
            if raw.name in extra or raw.name in docs:
                raw = raw._replace(
                    attributes=(*raw.attributes, *extra.get(raw.name, ())),
                    docstring=raw.docstring or docs.get(raw.name, ""),
                )
            result.append((module, raw))
        return result

    def alias_rows(self) -> list[tuple[str, RawDeclaration]]:
        rows = []
        for facts in self.files:
            for alias in facts.aliases:
                raw = alias.declaration
                target = resolve_names(alias.target, raw.namespace, raw.opens, self.names)
                if target:
                    source = self.names[target][1]
                    raw = raw._replace(signature=_side(source.signature, alias.side), variables=source.variables)
                raw = raw._replace(generated_by=target or alias.target)
                if self.keep(facts, raw):
                    rows.append((facts.module, raw))
        return rows

    def export_rows(self) -> list[tuple[str, RawDeclaration]]:
        rows = []
        for facts in self.files:
            for export in facts.exports:
                for last in export.names:
                    source = resolve_names(f"{export.source}.{last}", export.namespace, export.opens, self.names)
                    if not source:
                        continue
                    name = f"{export.namespace}.{last}" if export.namespace else last
                    if name in self.names:
                        continue  # An exported name is a reading aid; Lean lets it stand beside a declaration.
                    raw = self.names[source][1]._replace(
                        name=name, line=export.line, origin="export", generated_by=source, attributes=(), kind="alias"
                    )
                    if self.keep(facts, raw):
                        rows.append((facts.module, raw))
        return rows

    def twin_rows(self, rows: list[tuple[str, RawDeclaration]]) -> list[tuple[str, RawDeclaration]]:
        made: list[tuple[str, RawDeclaration]] = []
        for attribute in DICTIONARIES:
            fresh = [*rows, *made]
            own: dict[str, Translation] = {}
            inserted = (
                dict(pair for facts in self.files for pair in facts.translations) if attribute == "to_additive" else {}
            )
            translator = NameTranslator(attribute, own, inserted)
            # A twin can carry the attribute again (`attr := to_additive`), so what was made is looked at in turn.
            while fresh:
                sources = []
                for module, raw in fresh:
                    for text in raw.attributes:
                        if text.startswith(attribute) and (found := parse_translation(text, split_commas)):
                            own[raw.name] = found
                            sources.append((module, raw))
                fresh = [twin for source in sources if (twin := self.twin(*source, translator))]
                made.extend(fresh)
        return made

    def twin(self, module: str, raw: RawDeclaration, translator: NameTranslator) -> tuple[str, RawDeclaration] | None:
        """The declaration that a translation attribute makes; None if it points to one that is written out."""
        translation = translator.own[raw.name]
        target = translator.target(raw.name, translation)
        if target == raw.name or target in self.names or translation.hint == "existing":
            return None
        twin = raw._replace(
            name=target,
            signature=translate_statement(raw.signature, translator.attribute, translator.known),
            variables=translate_statement(raw.variables, translator.attribute, translator.known),
            docstring=translation.docstring,
            attributes=translation.passed,
            origin=translator.attribute,
            generated_by=raw.name,
        )
        self.names[target] = (module, twin)
        return module, twin

    def generated_rows(self, rows: list[tuple[str, RawDeclaration]]) -> list[tuple[str, RawDeclaration]]:
        """Lemmas that attributes make, unless the library writes them out itself."""
        members: dict[str, list[RawDeclaration]] = {}
        for _, raw in rows:
            if raw.kind in {"field", "projection"}:
                members.setdefault(raw.generated_by, []).append(raw)
        made = []
        for module, raw in rows:
            if raw.attributes or raw.kind == "irreducible_def":
                for lemma in generated_lemmas(raw, members.get(raw.name, ())):
                    if lemma.name not in self.names:
                        self.names[lemma.name] = (module, lemma)
                        made.append((module, lemma))
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
                    replacement = resolve_names(ident, raw.namespace, raw.opens, self.names) or ident
                elif raw.kind == "alias":
                    replacement = raw.generated_by
                return True, since.group(1) if since else "", replacement
        return False, "", ""


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
