"""One Lean file, command by command, into `FileFacts`.

The file is cut where a command can start (a keyword at the start of a line); a malformed command therefore
costs only itself. What cannot be known without other files (names of anonymous instances, twins,
alias targets) is left to `resolve`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import pairwise

from lean_finder.corpus.facts import FileFacts, Problem, RawAlias, RawAttribute, RawDeclaration, RawExport
from lean_finder.corpus.lexer import Source, read_source
from lean_finder.corpus.members import constructors, structure_members
from lean_finder.corpus.scopes import ScopeStack, add_variables, used_variables
from lean_finder.corpus.syntax import (
    NAME_RE,
    PART_RE,
    closing,
    one_line,
    plain_name,
    read_binders,
    split_commas,
)

_MODIFIERS = "private|protected|public|noncomputable|nonrec|unsafe|partial|meta|scoped|local|computable"
_DECLARING = (
    "theorem|lemma|def|abbrev|instance|structure|class|inductive|coinductive|axiom|opaque|irreducible_def|alias|example"
)
_SCOPING = "namespace|section|end|mutual|variable|open|universe|include|omit|export|attribute|set_option"
#: Commands that end the one before them and are of no interest themselves.
_OTHER = (
    "import|module|prelude|assert_not_exists|assert_not_imported|initialize_simps_projections|initialize|builtin_initialize|"
    "syntax|declare_syntax_cat|elab_rules|elab|macro_rules|macro|deprecated_module|register_[a-z_?]+|suppress_compilation|"
    "library_note|library_note2|grind_pattern|proof_wanted|recommended_spelling|declare_[a-z_]+|unseal|seal|add_[a-z_]+|"
    "simproc_decl|simproc|dsimproc|dsimproc_decl|run_cmd|run_elab|run_meta|compile_inductive|compile_def|extend_docs|"
    "mk_iff_of_inductive_prop|insert_to_additive_translation|infixl|infixr|infix|prefix|postfix|notation3|notation|"
    "unif_hint|binder_predicate|variable_alias|irreducible_def|recall|gen_injective_theorems|init_quot|docs_to_verso|"
    "erase_[a-z_]+|norm_cast_add_elim|attach_[a-z_]+|tactic_extension|count_heartbeats|include_str|show_panel_widgets|"
    "deriving[ \\t]+(?:noncomputable[ \\t]+)?instance|set_premise_selector|in"
)
# Begins with a line end, not with `^`: a literal first character lets the expression jump from line to line.
_START = re.compile(
    rf"\n(?:@\[|(?:{_MODIFIERS}|{_DECLARING}|{_SCOPING}|{_OTHER})\b(?![.'])|#[a-z]"
    rf"|[ \t]+(?:@\[|(?:(?:{_MODIFIERS})[ \t]+)*(?:{_DECLARING}|{_SCOPING})\b(?![.'])))"
)
_HEAD = re.compile(
    rf"\s*(?:(?P<mod>{_MODIFIERS})\b(?!\.)(?:[ \t]*\[[^\]\n]*\])?|(?P<attr>@\[)|(?P<key>[a-z_#][\w!?#']*))"
)
_END_OF_SIGNATURE = re.compile(r"[(\[{⟨⦃⟦⟪)\]}⟩⦄⟧⟫|]|:=|where\b|letI?\b|haveI?\b|deriving\b")
_UNIVERSE = re.compile(r"\.\{[^}]*\}")
_PRIORITY = re.compile(r"\s*\(\s*priority\s*:=")
_IN = re.compile(r"[(\[{⟨⦃⟦⟪)\]}⟩⦄⟧⟫]|\bin\b")
_DERIVING = re.compile(r"\bderiving\b")
_NOTATION_ITEM = re.compile(rf'"((?:[^"\\]|\\.)*)"|({PART_RE.pattern})')
#: `notation3 "Π₀ "(...)", "r:(scoped f => DFinsupp f) => r`: a symbol that binds.
_BINDER_NOTATION = re.compile(
    rf'"\s*(\S+)\s*"\s*\(\.\.\.\)\s*"\s*,\s*"\s*\w+:(?:\d+:)?\(scoped \w+ => ({NAME_RE.pattern})'
)
_FIXITIES = frozenset({"infix", "infixl", "infixr", "prefix", "postfix"})
_SCOPED_COMMANDS = frozenset(
    {"open", "variable", "set_option", "omit", "include", "universe", "attribute", "unseal", "local"}
)

_KINDS = {"coinductive": "inductive"}
_INSTANCE_ATTRIBUTES = re.compile(r"^(?:(?:local|scoped)\s+)?(?:reducible_)?instance\b")
_FUNCTIONS = frozenset({"def", "abbrev", "instance", "irreducible_def"})

TRUNCATED = "declaration is cut off at the end of the file"


@dataclass(slots=True)
class _Prefix:
    """Attributes and modifiers read so far for the next declaration, and where they start."""

    start: int = -1
    attributes: list[str] = field(default_factory=list)
    modifiers: set[str] = field(default_factory=set)


def parse_file(text: str, module: str, file: str) -> FileFacts:
    """Facts of one file.

    Args:
        text: contents.
        module: dotted module name.
        file: path to print in problems.
    """
    return _FileParser(read_source(text), module, file).run()


class _FileParser:
    def __init__(self, source: Source, module: str, file: str) -> None:
        self.source = source
        self.mask = source.mask
        self.code = source.code
        self.facts = FileFacts(module, file, [], [], [], [], [], [], [], [])
        self.scopes = ScopeStack()
        self.prefix = _Prefix()
        self.temporary = 0
        self.last = len(self.mask.rstrip())
        for offset, reason in source.problems:
            self.problem(offset, reason)

    def run(self) -> FileFacts:
        starts = [0, *(match.start() + 1 for match in _START.finditer(self.mask)), len(self.mask)]
        for start, end in pairwise(starts):
            self.command(start, end)
        for level in self.scopes.levels:
            if level.kind == "namespace" and level.name:
                self.problem(len(self.mask), f"namespace {level.name} is never closed")
        return self.facts

    def problem(self, offset: int, reason: str) -> None:
        self.facts.problems.append(Problem(self.facts.file, self.source.line(offset), reason))

    # Commands

    def command(self, start: int, end: int) -> None:
        """Read the command(s) between two offsets; attributes and modifiers may be left for the next call."""
        position = start
        while position < end:
            head = _HEAD.match(self.mask, position, end)
            if head is None:
                # Attributes on a line of their own belong to what the next line declares.
                if self.mask[position:end].strip():
                    self.leave()
                return
            at = head.start() + len(head.group()) - len(head.group().lstrip())
            if self.prefix.start < 0:
                self.prefix.start = at
            if head.group("mod"):
                self.prefix.modifiers.add(head.group("mod"))
                position = head.end()
                continue
            if head.group("attr"):
                close = closing(self.mask, head.end() - 1, end)
                if self.mask[close - 1] != "]":
                    self.problem(at, "attribute list is never closed")
                    self.leave()
                    return
                self.prefix.attributes.extend(self.attribute_texts(head.end(), close - 1))
                position = close
                continue
            word = head.group("key")
            handler = _HANDLERS.get(word)
            position = handler(self, word, head.end(), end) if handler else self.unknown(head.end(), end)

    def attribute_texts(self, start: int, end: int) -> list[str]:
        """Attributes between two offsets; a doc comment inside one is kept as `/-- text -/`."""
        texts = []
        done = start
        for part_end in [*self.top_commas(start, end), end]:
            text = one_line(self.code[done:part_end])
            doc = self.source.doc_inside(done, part_end)
            if doc:
                text = f"{text} /-- {doc} -/"
            if text:
                texts.append(text)
            done = part_end + 1
        return texts

    def top_commas(self, start: int, end: int) -> list[int]:
        depth = 0
        commas = []
        for match in re.finditer(r"[(\[{⟨)\]}⟩,]", self.mask[start:end]):
            if match.group() in "([{⟨":
                depth += 1
            elif match.group() == ",":
                if depth == 0:
                    commas.append(start + match.start())
            else:
                depth -= 1
        return commas

    def leave(self) -> None:
        """Forget the prefix, and the scope of `… in` that was for this command only."""
        self.prefix = _Prefix()
        while self.temporary:
            self.scopes.levels.pop()
            self.temporary -= 1

    def scoped_in(self, position: int, end: int) -> int:
        """Offset after a top-level `in` between two offsets, or -1."""
        depth = 0
        for match in _IN.finditer(self.mask, position, end):
            mark = match.group()
            if mark == "in":
                if depth == 0:
                    return match.end()
            elif mark in "([{⟨⦃⟦⟪":
                depth += 1
            else:
                depth -= 1
        return -1

    def begin_in(self) -> None:
        """What follows, up to the next declaration, has a level of its own."""
        self.scopes.push("in")
        self.temporary += 1
        self.prefix = _Prefix()

    def unknown(self, position: int, end: int) -> int:
        after = self.scoped_in(position, end)
        if after >= 0 and not self.mask[after:end].strip():
            self.prefix = _Prefix()
            return end
        self.leave()
        return end

    def namespace(self, word: str, position: int, end: int) -> int:
        match = NAME_RE.match(
            self.mask, position + len(self.mask[position:end]) - len(self.mask[position:end].lstrip())
        )
        self.leave()
        if match is None:
            if not self.is_quoted(position, end):
                self.problem(position, "namespace without a name")
            return end
        self.scopes.push_namespace(match.group())
        return match.end()

    def section(self, word: str, position: int, end: int) -> int:
        name, position = self.name_on_line(position, end)
        self.leave()
        self.scopes.push(word, name)
        return position

    def end_scope(self, word: str, position: int, end: int) -> int:
        name, after = self.name_on_line(position, end)
        self.leave()
        if not name and self.is_quoted(position, end):
            return end
        wrong = self.scopes.close(name)
        if wrong:
            self.problem(position, wrong)
        return after

    def name_on_line(self, position: int, end: int) -> tuple[str, int]:
        line_end = self.mask.find("\n", position, end)
        line_end = end if line_end < 0 else line_end
        text = self.mask[position:line_end]
        match = NAME_RE.match(text.lstrip())
        if match is None or match.group() in _HANDLERS:
            return "", position
        return match.group(), position + len(text) - len(text.lstrip()) + match.end()

    def scoped_command(self, word: str, position: int, end: int) -> int:
        """`variable`, `open`, … : change the current level, or with `in` a level for the next declaration."""
        after = self.scoped_in(position, end)
        stop = end if after < 0 else after - 2
        if after >= 0:
            self.begin_in()
        else:
            self.leave()
        text = self.code[position:stop]
        scope = self.scopes.top
        if word == "variable":
            self.scopes.replace_top(add_variables(scope, text))
        elif word == "open":
            self.scopes.replace_top(replace(scope, opens=(*scope.opens, *_opened(text))))
        elif word == "include":
            self.scopes.replace_top(replace(scope, included=scope.included | set(PART_RE.findall(text))))
        elif word == "omit":
            binders, _ = read_binders(text)
            names = {name for binder in binders for name in binder.names}
            omitted = scope.omitted | {binder.text for binder in binders}
            self.scopes.replace_top(replace(scope, omitted=omitted, included=scope.included - names))
        elif word == "attribute":
            self.attribute_command(position, stop)
        return end if after < 0 else after

    def attribute_command(self, position: int, end: int) -> None:
        open_at = self.mask.find("[", position, end)
        if open_at < 0:
            return
        close = closing(self.mask, open_at, end)
        texts = tuple(self.attribute_texts(open_at + 1, close - 1))
        names = tuple(plain_name(name) for name in NAME_RE.findall(self.code[close:end]))
        top = self.scopes.top
        self.facts.attributes.append(
            RawAttribute(texts, names, top.namespace, " ".join(top.opens), self.source.line(open_at))
        )

    def export(self, word: str, position: int, end: int) -> int:
        match = re.match(rf"\s*({NAME_RE.pattern})\s*\(([^)]*)\)", self.code[position:end])
        top = self.scopes.top
        if match:
            self.facts.exports.append(
                RawExport(
                    plain_name(match.group(1)),
                    tuple(plain_name(name) for name in NAME_RE.findall(match.group(2))),
                    top.namespace,
                    " ".join(top.opens),
                    self.source.line(position),
                )
            )
        self.leave()
        return end

    def notation(self, word: str, position: int, end: int) -> int:
        """Remember what a notation stands for; needed for parents and instance types written in notation.

        A pattern is kept as its items in order: `"symbol"` for a literal, a bare name for a placeholder.
        """
        arrow = self.mask.find("=>", position, end)
        if arrow >= 0:
            items = _notation_items(self.code[position:arrow], word)
            term = one_line(self.code[arrow + 2 : end])
            binder = _BINDER_NOTATION.search(self.code, position, end)
            if binder:
                self.facts.notations.append((f'binder "{binder.group(1)}"', binder.group(2)))
            elif any(item.startswith('"') for item in items) and term:
                if word in _FIXITIES:
                    term = f"({term}) {' '.join(item for item in items[1:] if not item.startswith(chr(34)))}"
                self.facts.notations.append((" ".join(items), term))
        self.leave()
        return end

    def documented(self, word: str, position: int, end: int) -> int:
        """`add_decl_doc NAME` gives a doc comment to a declaration made elsewhere."""
        match = NAME_RE.search(self.mask, position, end)
        doc = self.source.doc_before(self.prefix.start)
        top = self.scopes.top
        if match and doc:
            self.facts.documented.append((plain_name(match.group()), doc, top.namespace, " ".join(top.opens)))
        self.leave()
        return end

    def translation(self, word: str, position: int, end: int) -> int:
        names = [plain_name(name) for name in NAME_RE.findall(self.code[position:end])]
        if len(names) >= 2:
            self.facts.translations.append((names[0], names[1]))
        self.leave()
        return end

    # Declarations

    def alias(self, word: str, position: int, end: int) -> int:
        define = self.mask.find(":=", position, end)
        target = NAME_RE.search(self.mask, define + 2, end) if define >= 0 else None
        if target is None:
            self.problem(position, TRUNCATED if end >= self.last else "alias without a target")
            self.leave()
            return end
        left = self.mask[position:define].strip()
        sides = [("", left)]
        if left.startswith("⟨"):
            names = [part.strip() for part in left.strip("⟨⟩").split(",")]
            sides = [(side, name) for side, name in zip(("mp", "mpr"), names, strict=False) if name != "_"]
        offset = position
        for side, name in sides:
            match = NAME_RE.match(name)
            if match is None:
                self.problem(position, "alias without a name")
                continue
            offset = self.mask.find(match.group(), offset, end)
            raw = self.raw(match.group(), "alias", offset, "", "", origin="alias")
            self.facts.aliases.append(RawAlias(raw, plain_name(target.group()), side))
        self.leave()
        return end

    def declaration(self, word: str, position: int, end: int) -> int:
        kind = _KINDS.get(word, word)
        if word == "class":
            second = re.match(r"\s+(inductive|abbrev)\b", self.mask[position:end])
            if second:
                position += second.end()
                kind = "class" if second.group(1) == "abbrev" else "class inductive"
        keyword_at = position - len(word)
        if word == "instance" and (priority := _PRIORITY.match(self.mask, position, end)):
            position = closing(self.mask, self.mask.index("(", position), priority.endpos)
        name, name_at, position = self.declared_name(position, end)
        stop, body_at = self.signature_end(position, end, kind)
        if not name and word not in {"instance", "example"}:
            if not self.is_quoted(position, end):
                self.problem(keyword_at, f"{word} without a name")
            self.leave()
            return end
        if word == "example":
            self.leave()
            return end
        signature = one_line(self.code[position:stop])
        if self.is_cut(stop, body_at, end, kind):
            self.problem(keyword_at, TRUNCATED)
        in_body = kind in _FUNCTIONS or kind in {"structure", "class", "inductive", "class inductive"}
        words = set(PART_RE.findall(self.mask, position, end if in_body else stop))
        own, _ = read_binders(signature)
        variables = used_variables(self.scopes.top, words.difference(*(binder.names for binder in own)))
        stored = "inductive" if kind == "inductive" else "class" if kind == "class inductive" else kind
        raw = self.raw(name, stored, name_at if name else keyword_at, signature, variables)
        self.facts.declarations.append(raw)
        if kind in {"structure", "class"} and name:
            self.facts.declarations.extend(structure_members(self.source, raw, position, stop, body_at, end))
        elif kind in {"inductive", "class inductive"}:
            self.facts.declarations.extend(constructors(self.source, raw, body_at, end))
        if name:
            self.derived(raw, body_at, end)
        self.leave()
        return end

    def is_quoted(self, position: int, end: int) -> bool:
        """What stands for a name is a `$` splice: this is the text of a macro, not a command."""
        return self.mask[position:end].lstrip().startswith("$")

    def declared_name(self, position: int, end: int) -> tuple[str, int, int]:
        """Name as written ("" if none), its offset, and the offset after it and its universes."""
        while position < end and self.mask[position].isspace():
            position += 1
        match = NAME_RE.match(self.mask, position, end)
        if match is None:
            return "", position, position
        after = match.end()
        universes = _UNIVERSE.match(self.mask, after, end)
        return match.group(), match.start(), universes.end() if universes else after

    def signature_end(self, position: int, end: int, kind: str) -> tuple[int, int]:
        """Where the signature stops, and where the body starts (after `:=` or `where`)."""
        depth = 0
        skip = 0
        inductive = kind in {"inductive", "class inductive"}
        mask = self.mask
        for match in _END_OF_SIGNATURE.finditer(mask, position, end):
            mark = match.group()
            start = match.start()
            if mark in "([{⟨⦃⟦⟪":
                depth += 1
            elif mark in ")]}⟩⦄⟧⟫":
                depth -= 1
            elif depth > 0:
                continue
            elif mark == ":=":
                if not skip:
                    return start, match.end()
                skip -= 1
            elif mark == "|":
                if mask[start + 1 : start + 2] in {"|", ">"} or mask[start - 1] in "|<":
                    continue
                if inductive or (self.starts_line(start) and self.is_equation(match.end(), end)):
                    return start, start
            elif mask[start - 1].isalnum() or mask[start - 1] in "_.'!?«":
                continue
            elif mark == "where":
                return start, match.end()
            elif mark == "deriving":
                return start, start
            else:
                skip += 1
        return end, end

    def starts_line(self, offset: int) -> bool:
        return not self.mask[self.mask.rfind("\n", 0, offset) + 1 : offset].strip()

    def is_equation(self, position: int, end: int) -> bool:
        """A `|` at a line's start opens an equation if an arrow comes before any `:=` or next such bar."""
        depth = 0
        for match in re.finditer(r"[(\[{⟨)\]}⟩]|=>|:=|^[ \t]*\|", self.mask[position:end], re.MULTILINE):
            mark = match.group().strip()
            if mark in "([{⟨":
                depth += 1
            elif mark in ")]}⟩":
                depth -= 1
            elif depth <= 0:
                return mark == "=>"
        return False

    def is_cut(self, stop: int, body_at: int, end: int, kind: str) -> bool:
        """A declaration that reaches the end of the file and has no proof, body or closing bracket."""
        if end < self.last:
            return False
        if kind in {"theorem", "lemma", "def", "abbrev", "irreducible_def"}:
            return not self.mask[body_at:end].strip()
        return False

    def raw(
        self, name: str, kind: str, offset: int, signature: str, variables: str, origin: str = "source"
    ) -> RawDeclaration:
        top = self.scopes.top
        if name.startswith("_root_."):
            full = plain_name(name)
        elif name:
            plain = plain_name(name)
            full = f"{top.namespace}.{plain}" if top.namespace else plain
        else:
            full = ""
        modifiers = self.prefix.modifiers
        visibility = "private" if "private" in modifiers else "protected" if "protected" in modifiers else "public"
        return RawDeclaration(
            full,
            kind,
            self.source.line(offset),
            signature,
            variables,
            self.source.doc_before(self.prefix.start),
            tuple(self.prefix.attributes),
            top.namespace,
            visibility,
            " ".join(top.opens),
            origin,
        )

    def derived(self, raw: RawDeclaration, body_at: int, end: int) -> None:
        """Instances of a `deriving` clause: anonymous, resolved like hand-written ones."""
        if self.mask.find("deriving", body_at, end) < 0:
            return
        clauses = list(_DERIVING.finditer(self.mask, body_at, end))
        if not clauses:
            return
        clause = clauses[-1]
        for handler in split_commas(self.code[clause.end() : end]):
            match = NAME_RE.match(handler)
            if match:
                self.facts.declarations.append(
                    raw._replace(
                        name="",
                        kind="instance",
                        signature=f": {one_line(handler)}",
                        docstring="",
                        attributes=(),
                        line=self.source.line(clause.start()),
                        origin="deriving",
                        generated_by=raw.name,
                        visibility="public",
                    )
                )

    def deriving_instance(self, word: str, position: int, end: int) -> int:
        """`deriving instance C, D for T, U`."""
        text = one_line(self.code[position:end])
        match = re.match(r"(?:noncomputable )?instance (.*?) for (.*)$", text)
        if match:
            for target in split_commas(match.group(2)):
                for handler in split_commas(match.group(1)):
                    raw = self.raw("", "instance", position, f": {handler}", "", origin="deriving")
                    self.facts.declarations.append(raw._replace(generated_by=plain_name(target), docstring=""))
        self.leave()
        return end


def _notation_items(text: str, word: str) -> list[str]:
    """Items of a notation's left side; an infix symbol gets placeholders `a` and `b`, and its precedence goes first."""
    head = re.match(r"\s*:\s*(\w+)", text)
    precedence = head.group(1) if head else "0"
    items = []
    for match in _NOTATION_ITEM.finditer(text):
        literal, placeholder = match.group(1), match.group(2)
        if literal is not None:
            if literal.strip():
                items.append(f'"{literal.strip()}"')
        elif placeholder not in {"name", "priority", "max", "arg"} and not text[: match.start()].rstrip().endswith(":"):
            items.append(placeholder)
    if word in {"infix", "infixl", "infixr"}:
        items = ["a", *[item for item in items if item.startswith('"')], "b"]
    elif word in {"prefix", "postfix"}:
        symbols = [item for item in items if item.startswith('"')]
        items = [*symbols, "a"] if word == "prefix" else ["a", *symbols]
    return [precedence, *items]


def _opened(text: str) -> list[str]:
    """Namespaces of an `open` command; `open A (x)`, `hiding` and `renaming` open no whole namespace but A's names."""
    text = re.sub(r"\([^)]*\)", " ", text)
    text = re.split(r"\b(?:hiding|renaming)\b", text)[0]
    return [plain_name(name) for name in NAME_RE.findall(text) if name != "scoped"]


_HANDLERS = {
    **dict.fromkeys(_DECLARING.split("|"), _FileParser.declaration),
    "alias": _FileParser.alias,
    "namespace": _FileParser.namespace,
    "section": _FileParser.section,
    "mutual": _FileParser.section,
    "end": _FileParser.end_scope,
    **dict.fromkeys(_SCOPED_COMMANDS, _FileParser.scoped_command),
    "export": _FileParser.export,
    **dict.fromkeys(("infix", "infixl", "infixr", "prefix", "postfix", "notation", "notation3"), _FileParser.notation),
    "add_decl_doc": _FileParser.documented,
    "insert_to_additive_translation": _FileParser.translation,
    "deriving": _FileParser.deriving_instance,
}
