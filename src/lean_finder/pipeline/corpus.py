"""The corpus as stages read it: declarations with their manifest, and every declaration's text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lean_finder.corpus.render import render
from lean_finder.pipeline import paths
from lean_finder.records import Declaration, SplitRow, columns, from_frame
from lean_finder.storage import read_table


@dataclass(frozen=True)
class Corpus:
    """All declarations, in corpus order, with who belongs to which family and split."""

    declarations: list[Declaration]
    manifest: list[SplitRow]
    renderer: str

    @cached_property
    def by_name(self) -> dict[str, Declaration]:
        """Declaration of each name."""
        return {item.name: item for item in self.declarations}

    @cached_property
    def family_of(self) -> dict[str, str]:
        """Family of each name."""
        return {row.declaration: row.family for row in self.manifest}

    @cached_property
    def split_of(self) -> dict[str, str]:
        """Split of each name."""
        return {row.declaration: row.split for row in self.manifest}

    @property
    def names(self) -> list[str]:
        """Names in corpus order: row i of every index is declaration i."""
        return [item.name for item in self.declarations]

    def text(self, name: str, view: str = "full") -> str:
        """A declaration as the encoder reads it; `view` is one of `corpus.render.VIEWS`."""
        return render(self.by_name[name], self.renderer, view)

    def targets(self, split: str) -> list[Declaration]:
        """The declarations of a split that queries are written for: by hand, public, current, with prose."""
        return [
            item
            for item in self.declarations
            if self.split_of[item.name] == split
            and item.origin == "source"
            and item.visibility != "private"
            and not item.deprecated
            and (item.docstring or item.informal)
        ]


def load_corpus(renderer: str) -> Corpus:
    """Read the corpus that `informalize` and `split` wrote."""
    declarations = from_frame(Declaration, read_table(paths.DECLARATIONS, columns(Declaration)))
    manifest = from_frame(SplitRow, read_table(paths.SPLITS, columns(SplitRow)))
    return Corpus(declarations, manifest, renderer)
