"""What is in scope at a point of a Lean file: namespaces, sections, section variables, opened namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lean_finder.corpus.syntax import PART_RE, Binder, read_binders


@dataclass(frozen=True, slots=True)
class Variable:
    """A section variable: its binder, and which other variables its type speaks of.

    Attributes:
        binder: with exactly one name, or none for an anonymous instance.
        needs: words of its type.
    """

    binder: Binder
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """One level: a namespace component, a section, a `mutual` block or the file itself."""

    kind: str
    name: str
    namespace: str
    variables: tuple[Variable, ...] = ()
    opens: tuple[str, ...] = ()
    included: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    private: bool = False


@dataclass(slots=True)
class ScopeStack:
    """The open levels of one file; the last is the innermost."""

    levels: list[Scope] = field(default_factory=lambda: [Scope("file", "", "")])

    @property
    def top(self) -> Scope:
        return self.levels[-1]

    def push_namespace(self, name: str) -> None:
        """Open `namespace A.B`: one level for each component, as Lean does."""
        for part in PART_RE.findall(name):
            plain = part.strip("«»")
            inner = f"{self.top.namespace}.{plain}" if self.top.namespace else plain
            self.levels.append(replace(self.top, kind="namespace", name=plain, namespace=inner))

    def push(self, kind: str, name: str = "") -> None:
        """Open a section (one level for each component of its name) or a `mutual` block."""
        for part in PART_RE.findall(name) or [""]:
            self.levels.append(replace(self.top, kind=kind, name=part))

    def close(self, name: str) -> str:
        """Close what `end NAME` closes; returns what is wrong, or ""."""
        parts = [part.strip("«»") for part in PART_RE.findall(name)] or [""]
        wrong = ""
        for part in reversed(parts):
            if len(self.levels) == 1:
                return f"`end {name}` closes nothing".replace(" `", "`")
            if self.top.name.strip("«»") != part:
                depth = next(
                    (at for at in range(len(self.levels) - 1, 0, -1) if self.levels[at].name.strip("«»") == part), 0
                )
                wrong = f"`end {name}` does not match `{self.top.kind} {self.top.name}`".replace(" `", " `")
                if not depth or not part:
                    return wrong
                del self.levels[depth + 1 :]
            self.levels.pop()
        return wrong

    def replace_top(self, scope: Scope) -> None:
        self.levels[-1] = scope


def add_variables(scope: Scope, text: str) -> Scope:
    """The scope after `variable <text>`: new binders are added, `(x)` or `{x}` alone only changes x's bracket."""
    variables = list(scope.variables)
    binders, _ = read_binders(text)
    for binder in binders:
        if binder.names and not binder.type and binder.bracket != "[":
            known = {v.binder.names[0]: at for at, v in enumerate(variables) if v.binder.names}
            for name in binder.names:
                if name in known:
                    old = variables[known[name]]
                    variables[known[name]] = Variable(_single(binder.bracket, name, old.binder.type), old.needs)
                else:
                    variables.append(Variable(_single(binder.bracket, name, ""), frozenset()))
            continue
        needs = frozenset(PART_RE.findall(binder.type))
        if not binder.names:
            variables.append(Variable(binder, needs))
        for name in binder.names:
            variables.append(Variable(_single(binder.bracket, name, binder.type), needs))
    return replace(scope, variables=tuple(variables))


def used_variables(scope: Scope, words: Iterable[str]) -> str:
    """Binders of the section variables that a text with these words pulls in, on one line.

    Lean's rule: variables mentioned, or `include`d, and all their types mention; then every instance binder
    all of whose variables are in. A later variable of the same name hides the earlier one.
    """
    variables = scope.variables
    if not variables:
        return ""
    by_name = {v.binder.names[0]: at for at, v in enumerate(variables) if v.binder.names}
    pending = [by_name[word] for word in set(words) | scope.included if word in by_name]
    chosen: set[int] = set()
    while pending:
        at = pending.pop()
        if at in chosen:
            continue
        chosen.add(at)
        pending.extend(by_name[word] for word in variables[at].needs if word in by_name and by_name[word] < at)
    if not chosen and not scope.included:
        return ""
    names_in = {variables[at].binder.names[0] for at in chosen if variables[at].binder.names}
    for at, variable in enumerate(variables):
        if variable.binder.bracket != "[" or at in chosen or variable.binder.text in scope.omitted:
            continue
        speaks_of = [word for word in variable.needs if word in by_name]
        if speaks_of and all(word in names_in for word in speaks_of):
            chosen.add(at)
            names_in.update(variable.binder.names)
    return _grouped([variables[at].binder for at in sorted(chosen)])


def _single(bracket: str, name: str, type_: str) -> Binder:
    close = {"(": ")", "{": "}", "[": "]", "⦃": "⦄"}[bracket]
    inner = f"{name} : {type_}" if type_ else name
    return Binder(bracket, (name,), type_, f"{bracket}{inner}{close}")


def _grouped(binders: list[Binder]) -> str:
    """Neighbours of equal bracket and type written as one group: `{a : α} {b : α}` is `{a b : α}`."""
    texts: list[str] = []
    at = 0
    while at < len(binders):
        head = binders[at]
        names = list(head.names)
        at += 1
        while at < len(binders) and names and head.bracket != "[" and (binders[at].bracket, binders[at].type) == (
            head.bracket,
            head.type,
        ):
            names.extend(binders[at].names)
            at += 1
        texts.append(_single(head.bracket, " ".join(names), head.type).text if len(names) > 1 else head.text)
    return " ".join(texts)
