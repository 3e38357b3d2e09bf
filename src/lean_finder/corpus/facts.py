"""What one Lean file says by itself, before names of other files are known.

All records are tuples of strings, numbers, booleans and lists of these, so that they cross process borders cheaply
and are
stored as JSON in the parse cache.
"""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """Something in a file that was not understood: file (relative to the root), 1-based line, reason."""

    file: str
    line: int
    reason: str


class RawDeclaration(NamedTuple):
    """A declaration as its file states it.

    `name` is full, or "" for an instance that Lean will name. `opens` are the opened namespaces, blank-separated.
    `made_by`/`origin` as in `Declaration`. `parent_type` is set for parent projections written in notation, whose
    name needs the notation table. `bare` is the signature up to the class for an anonymous instance of a `deriving`
    clause.
    """

    name: str
    kind: str
    line: int
    signature: str
    variables: str
    docstring: str
    attributes: tuple[str, ...]
    namespace: str
    visibility: str
    opens: str
    origin: str = "source"
    generated_by: str = ""
    parent_type: str = ""


class RawAlias(NamedTuple):
    """`alias a := b` (side ""), `alias ⟨a, _⟩ := b` (side "mp"), `alias ⟨_, a⟩ := b` (side "mpr")."""

    declaration: RawDeclaration
    target: str
    side: str


class RawAttribute(NamedTuple):
    """`attribute [a, b] x y`: texts of the attributes, the names as written, where."""

    attributes: tuple[str, ...]
    names: tuple[str, ...]
    namespace: str
    opens: str
    line: int


class RawExport(NamedTuple):
    """`export A (x y)`: each name becomes an alias of `A.x` in the current namespace."""

    source: str
    names: tuple[str, ...]
    namespace: str
    opens: str
    line: int


class FileFacts(NamedTuple):
    """Everything the later passes need of one file. `notations` are (symbol, head term)."""

    module: str
    file: str
    declarations: list[RawDeclaration]
    aliases: list[RawAlias]
    attributes: list[RawAttribute]
    exports: list[RawExport]
    notations: list[tuple[str, str]]
    translations: list[tuple[str, str]]
    documented: list[tuple[str, str, str, str]]
    problems: list[Problem]
