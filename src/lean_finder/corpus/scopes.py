"""What is in scope at a point of a Lean file: namespaces, sections, section variables, opened namespaces."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
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


class VariableTable:
    """The section variables of a level, indexed once for all declarations that see them.

    Attributes:
        variables: in order of declaration.
        by_name: name → index; a later variable of the same name hides the earlier one.
        needs: for each variable, the indices of the earlier variables its type speaks of.
        instances: (index, indices spoken of) of the instance binders.
    """

    __slots__ = ("by_name", "instances", "needs", "variables")

    def __init__(self, variables: tuple[Variable, ...] = ()) -> None:
        self.variables = variables
        self.by_name = {v.binder.names[0]: at for at, v in enumerate(variables) if v.binder.names}
        self.needs: list[list[int]] = []
        seen: dict[str, int] = {}
        for at, variable in enumerate(variables):
            self.needs.append([seen[word] for word in variable.needs if word in seen])
            if variable.binder.names:
                seen[variable.binder.names[0]] = at
        self.instances = [(at, self.needs[at]) for at, v in enumerate(variables) if v.binder.bracket == "["]


@dataclass(frozen=True, slots=True)
class Scope:
    """One level: a namespace component, a section, a `mutual` block or the file itself."""

    kind: str
    name: str
    namespace: str
    table: VariableTable = field(default_factory=VariableTable)
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
    variables = list(scope.table.variables)
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
    return replace(scope, table=VariableTable(tuple(variables)))


def used_variables(scope: Scope, words: AbstractSet[str]) -> str:
    """Binders of the section variables that a text with these words pulls in, on one line.

    Lean's rule: variables mentioned, or `include`d, and all their types mention; then every instance binder
    all of whose variables are in. A later variable of the same name hides the earlier one.
    """
    table = scope.table
    if not table.variables:
        return ""
    by_name = table.by_name
    pending = [by_name[word] for word in by_name.keys() & words]
    pending.extend(by_name[word] for word in scope.included if word in by_name)
    chosen: set[int] = set()
    while pending:
        at = pending.pop()
        if at not in chosen:
            chosen.add(at)
            pending.extend(table.needs[at])
    if not chosen:
        return ""
    for at, speaks_of in table.instances:
        if speaks_of and at not in chosen and chosen.issuperset(speaks_of):
            if scope.omitted and table.variables[at].binder.text in scope.omitted:
                continue
            chosen.add(at)
    return _grouped([table.variables[at].binder for at in sorted(chosen)])


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
        while (
            at < len(binders)
            and names
            and head.bracket != "["
            and (binders[at].bracket, binders[at].type)
            == (
                head.bracket,
                head.type,
            )
        ):
            names.extend(binders[at].names)
            at += 1
        texts.append(_single(head.bracket, " ".join(names), head.type).text if len(names) > 1 else head.text)
    return " ".join(texts)
