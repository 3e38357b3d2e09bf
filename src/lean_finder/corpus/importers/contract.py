"""What every importer gives: declarations, what it could not take, and the facts that lead to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from lean_finder.corpus.importers.names import dotted, internal_reason, is_auxiliary, name_parts
from lean_finder.records import Declaration

#: At most this many left-out names are listed for each reason; all are counted.
LISTED_PER_REASON = 1000


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A declaration of the input that was not taken, or taken with a doubt.

    Attributes:
        where: file and 1-based row, or the table or key it stands in.
        reason: one of a few fixed texts, so that they can be counted.
        name: the declaration, "" if it is about the whole file.
    """

    where: str
    reason: str
    name: str = ""


@dataclass(frozen=True)
class Imported:
    """What an exact corpus contains.

    Attributes:
        declarations: in the order of the input, names distinct. `line` is 0 where the format gives none.
        problems: at most `LISTED_PER_REASON` for each reason.
        counts: how many there are of each reason, all of them.
        format: the format read.
        certain_instances: the format says of every declaration whether it is an instance (doc-gen4, lean-extract);
            otherwise only what is declared by `instance` is known to be one.
    """

    declarations: list[Declaration]
    problems: list[ImportProblem]
    counts: dict[str, int]
    format: str
    certain_instances: bool


@dataclass(slots=True)
class Fact:
    """One declaration of the input before its kind is settled.

    Attributes:
        declaration: the record; its kind may still be jixia's `inductive`.
        type: its elaborated type as text, "" if unknown: the evidence for kinds.
        written: the input has a command for it, so Lean did not make it by itself.
        certain: its kind was read from a keyword or from the environment and is not to be questioned.
        where: file and row.
    """

    declaration: Declaration
    type: str = ""
    written: bool = False
    certain: bool = False
    where: str = ""


@dataclass
class Gathering:
    """Collects facts: internal names are left out, the first of two equal names stays, everything is counted."""

    facts: dict[str, Fact] = field(default_factory=dict)
    problems: list[ImportProblem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, name: object, where: str, fact: Fact) -> None:
        """Take a fact under the name as the input has it: a list of parts or a dotted text.

        Raises:
            InputError: the name is neither.
        """
        parts = name_parts(name, where)
        text = dotted(parts)
        reason = internal_reason(parts, fact.type)
        if reason:
            self.leave_out(where, reason, text)
        elif text in self.facts:
            self.leave_out(where, "declared twice, the first was kept", text)
        else:
            if fact.declaration.name != text:
                fact.declaration = replace(fact.declaration, name=text)
            fact.where = where
            self.facts[text] = fact

    def leave_out(self, where: str, reason: str, name: str = "") -> None:
        """Count one thing that was not taken."""
        self.counts[reason] += 1
        if self.counts[reason] <= LISTED_PER_REASON:
            self.problems.append(ImportProblem(where, reason, name))

    def user_facing(self) -> list[Fact]:
        """The facts in order, without recursors and constructor lemmas that no command declares."""
        kept = []
        for name, fact in self.facts.items():
            parent, _, last = name.rpartition(".")
            owner = self.facts.get(parent)
            if parent and not fact.written and is_auxiliary(last, owner.declaration.kind if owner else ""):
                self.leave_out(fact.where, "internal: recursor or constructor lemma", name)
            else:
                kept.append(fact)
        return kept

    def imported(self, declarations: list[Declaration], format_: str, certain_instances: bool) -> Imported:
        """The result with the declarations as they came out of the settling of kinds."""
        return Imported(declarations, self.problems, dict(sorted(self.counts.items())), format_, certain_instances)


def blank(kind: str, module: str) -> Declaration:
    """A declaration of which only kind and module are known: importers `replace` the rest."""
    return Declaration(name="", kind=kind, module=module, line=0, signature="")


def one_line(text: str) -> str:
    """Text with every run of white space as one blank."""
    return " ".join(text.split())


def informal_text(name: str, description: str) -> str:
    """An informal name and description as one text: "name: description"."""
    name, description = name.strip(), description.strip()
    return f"{name}: {description}" if name and description else name or description


def module_of_path(path: Path) -> str:
    """Dotted module of a relative path without suffixes: Mathlib/Data/Nat.sym.json -> Mathlib.Data.Nat."""
    return ".".join([*path.parts[:-1], path.name.split(".")[0]])
