"""What must stay hidden, indexed once: golds, their families, statements, queries and descriptions."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import pandas as pd

from lean_finder.audit.folding import Vocabulary, clean_name, name_key
from lean_finder.audit.inputs import AuditInputs
from lean_finder.audit.textindex import HiddenText, TextIndex

#: Kinds whose signature is their statement; a definition's signature says little about what it defines.
PROPOSITIONS = frozenset({"theorem", "lemma", "axiom", "alias"})

#: Names that Lean makes for a declaration and that a source-level library does not list.
_COMPANION = re.compile(
    r"(?:rec|recOn|casesOn|recAux|brecOn|below|binductionOn|noConfusion|noConfusionType|mk|inj|injEq|sizeOf_spec|ndrec|"
    r"ext|ext_iff|eq_def|eq_\d+|congr_simp|induct|induct_unfolding|match_\d+|proof_\d+|toCtorIdx|ctorIdx)"
)
_SIMPS = re.compile(r"_(?:apply|symm_apply|coe|val|toFun|invFun|carrier|def|assoc|apply_coe|obj|map|hom|inv)\b.*")


class TestSide:
    """The hidden side of an audit."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    def __init__(self, inputs: AuditInputs) -> None:
        self._inputs = inputs
        self.settings = inputs.settings
        self.vocabulary = Vocabulary()
        golds: dict[str, list[str]] = defaultdict(list)
        rows = _lists(inputs.benchmark, "gold", "query_id")
        for gold, query_id in zip(*rows, strict=True):
            golds[clean_name(gold)].append(str(query_id))
        self.golds = dict(golds)
        names, splits, families = _lists(inputs.manifest, "declaration", "split", "family")
        self.split_of = dict(zip(names, splits, strict=True))
        self.family_of = dict(zip(names, families, strict=True))
        library = inputs.declarations
        (known,) = _lists(library, "name")
        self.text_of = dict(zip(known, zip(*_lists(library, "docstring", "informal"), strict=True), strict=True))
        stated = zip(*_lists(library, "kind", "signature", "variables"), strict=True)
        self._signature_of = dict(zip(known, stated, strict=True))
        self._why: dict[str, str] = {}  # what `why_hidden` has said: every check asks it about every name
        self._hidden = self._walk_families()
        self._spellings = self._spelling_table()

    def knows(self, name: str) -> bool:
        """Whether the library or the benchmark has this exact name."""
        return name in self.split_of or name in self._signature_of or name in self.golds

    @property
    def has_library(self) -> bool:
        """Whether an unknown name can be told from a known one."""
        return bool(self.split_of or self._signature_of)

    def resolve(self, raw: str) -> str:
        """The declaration that a written name means: itself, or the one that its disguise hides."""
        for name in (raw, clean_name(raw)):
            if self.knows(name):
                return name
        return self._spellings.get(name_key(raw), clean_name(raw))

    def is_gold(self, name: str) -> bool:
        """Whether a benchmark asks for this declaration."""
        return name in self.golds

    def why_hidden(self, name: str) -> str:
        """Why a declaration that no benchmark asks for is hidden all the same; "" if it is not hidden."""
        if name in self.golds:
            return ""
        if name not in self._why:
            self._why[name] = self._look_up(name)
        return self._why[name]

    def _look_up(self, name: str) -> str:
        if name in self._hidden:
            return self._hidden[name]
        if self.split_of.get(name) == "test":
            return f"the manifest holds it out with family {self.family_of[name]}"
        return "" if self.knows(name) else self._companion(name)

    def split(self, name: str) -> str:
        """train, validation, test, or "" for a name that nobody knows."""
        if name in self.golds or self.why_hidden(name):
            return "test"
        return str(self.split_of.get(name, ""))

    def family(self, name: str) -> str:
        """Family of a declaration; itself when the manifest does not have it."""
        return str(self.family_of.get(name, name))

    def statement(self, name: str) -> tuple[str, str] | None:
        """Signature and variables of a proposition of the library; None for anything else."""
        kind, signature, variables = self._signature_of.get(name, ("", "", ""))
        return (signature, variables) if kind in PROPOSITIONS and signature else None

    @cached_property
    def queries(self) -> TextIndex:
        """The benchmark's queries."""
        frame = self._inputs.benchmark
        rows = zip(frame["query_id"], frame["query"], frame["gold"], strict=True)
        return self._index(
            HiddenText(f"test query {label}", text, gold) for label, text, gold in rows if isinstance(text, str)
        )

    @cached_property
    def descriptions(self) -> TextIndex:
        """Docstrings and informal descriptions of the benchmark's golds."""
        return self._index(
            HiddenText(f"{what} of {gold}", text, gold)
            for gold in self.golds
            for what, text in zip(("docstring", "description"), self.text_of.get(gold, ("", "")), strict=True)
            if text
        )

    @cached_property
    def statements(self) -> dict[str, tuple[str, str]]:
        """Signature and variables of the propositions among the golds and their families."""
        hidden = dict.fromkeys([*self.golds, *self._hidden, *self.split_of])
        found = {name: self.statement(name) for name in hidden if self.split(name) == "test"}
        return {name: item for name, item in found.items() if item is not None}

    def _index(self, hidden: Iterable[HiddenText]) -> TextIndex:
        chosen = self.settings
        return TextIndex(
            list(hidden), self.vocabulary, chosen.contained_words, chosen.truncated_share, chosen.near_similarity
        )

    def _walk_families(self) -> dict[str, str]:
        """Every declaration that a chain of joins ties to a gold, with the chain in words."""
        edges: dict[str, list[tuple[str, str]]] = defaultdict(list)
        joins = self._inputs.joins
        for left, right, reason in zip(joins["left"], joins["right"], joins["reason"], strict=True):
            edges[left].append((right, reason))
            edges[right].append((left, reason))
        reasons: dict[str, str] = {}
        queue = deque(self.golds)
        while queue:
            name = queue.popleft()
            for other, reason in edges.get(name, ()):
                if other not in reasons and other not in self.golds:
                    reasons[other] = f"{reason} of {name}" + (f", {reasons[name]}" if name in reasons else "")
                    queue.append(other)
        families = {self.family_of[name]: name for name in [*self.golds, *reasons] if name in self.family_of}
        for name, family in self.family_of.items():
            if family in families and name not in reasons and name not in self.golds:
                reasons[name] = f"same family as {families[family]}"
        return {name: f"{reason} (test)" for name, reason in reasons.items()}

    def _spelling_table(self) -> dict[str, str]:
        """Disguise key -> the name it hides; hidden names win over others, and golds over their families."""
        table: dict[str, str] = {}
        unsplit = [name for name in self._signature_of if name not in self.split_of]
        for names in (unsplit, self.split_of, self._hidden, self.golds):
            for name in names:
                table[name_key(name)] = name
        return table

    def _companion(self, name: str) -> str:
        """Names that Lean derives from a hidden declaration without writing them in the source."""
        parent, _, last = name.rpartition(".")
        if parent and _COMPANION.fullmatch(last) and (parent in self.golds or parent in self._hidden):
            return f"generated by Lean from {parent} (test)"
        stem = _SIMPS.sub("", name)
        if stem != name and (stem in self.golds or stem in self._hidden):
            return f"generated by simps from {stem} (test)"
        return ""


def _lists(frame: pd.DataFrame, *columns: str) -> list[list[Any]]:
    """Columns as lists: going through a column of Arrow strings itself is slow."""
    return [frame[column].tolist() for column in columns]
