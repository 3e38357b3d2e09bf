"""jixia's output: for each module `X.sym.json`, and if they were asked for `X.decl.json` and `X.mod.json`.

`sym` lists every constant with its elaborated type, `decl` every command as written. A row exists where `sym` has one;
`decl` adds keyword, docstring, attributes, namespace and visibility. Both the current keys (`typeReadable`, `typeFull`,
`typeFallback`, `pp`) and the older ones (`type`, `str`) are read.

jixia gives places as byte offsets. They become lines when the Lean file lies beside the JSON files, else `line` is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lean_finder.corpus.importers.contract import Fact, Gathering, Imported, blank, module_of_path, one_line
from lean_finder.corpus.importers.kinds import KINDS, settle_kinds
from lean_finder.corpus.importers.reading import Row, as_rows, read_document
from lean_finder.corpus.importers.signatures import binders_beyond, signature_of_type
from lean_finder.errors import InputError
from lean_finder.records import Declaration

SYMBOLS = (".sym.json", ".sym.json.gz")


def import_jixia(path: Path) -> Imported:
    """Read one `.sym.json` file or a folder of them; modules are named after their paths in the folder.

    Raises:
        InputError: a file is damaged, or a key is missing; names the file and the row.
    """
    root, files = symbol_files(path)
    gathering = Gathering()
    for file in tqdm(files, desc="reading jixia files", unit="file", disable=None):
        for name, where, fact in _module(root, file, gathering):
            gathering.add(name, where, fact)
    return gathering.imported(settle_kinds(gathering.user_facing()), "jixia", certain_instances=False)


def symbol_files(path: Path) -> tuple[Path, list[Path]]:
    """The folder that module names are relative to, and the `.sym.json` files, sorted."""
    if path.is_file():
        return path.parent, [path]
    return path, sorted(item for suffix in SYMBOLS for item in path.rglob(f"*{suffix}"))


def _module(root: Path, file: Path, gathering: Gathering) -> Iterator[tuple[object, str, Fact]]:
    """Facts of one module: commands in file order, then what Lean made, by name."""
    module = module_of_path(file.relative_to(root))
    commands = _commands(file, gathering)
    lines = _LineTable(file)
    found = []
    for row in as_rows(read_document(file), str(file)):
        name = row.items("name")
        key = tuple(name)
        fact = _fact(row, commands.get(key), module, lines)
        if fact is None:
            gathering.leave_out(row.where, f"no declaration: {row.text('kind')}", row.dotted("name"))
            continue
        offset = _start(commands[key]) if key in commands else None
        found.append((offset is None, offset or 0, [str(part) for part in name], name, row.where, fact))
    found.sort(key=lambda item: item[:3])
    for *_, name, where, fact in found:
        yield name, where, fact


def _commands(file: Path, gathering: Gathering) -> dict[tuple[Any, ...], Row]:
    """Commands of `X.decl.json` by name, constructors included; none if the file was not written."""
    beside = file.with_name(file.name.replace(".sym.json", ".decl.json"))
    if not beside.exists():
        gathering.leave_out(str(beside), "no .decl.json: keywords, docstrings and attributes are unknown")
        return {}
    commands: dict[tuple[Any, ...], Row] = {}
    for row in as_rows(read_document(beside), str(beside)):
        for command in [row, *row.rows("constructors")]:
            commands.setdefault(tuple(command.items("name")), command)
    return commands


def _fact(symbol: Row, command: Row | None, module: str, lines: _LineTable) -> Fact | None:
    """One constant as a fact; None for what is no declaration of its own."""
    word = symbol.text("kind")
    if word not in KINDS:
        raise InputError(symbol.where, f"unknown kind {word!r}", "is this jixia's symbol file?")
    type_ = one_line(symbol.text("typeReadable", "") or symbol.text("typeFull", "") or symbol.text("type", ""))
    declaration = replace(blank(KINDS[word], module), signature=signature_of_type(type_))
    if command is None:
        return Fact(declaration, type_) if declaration.kind else None
    return _written(declaration, type_, command, lines)


def _written(declaration: Declaration, type_: str, command: Row, lines: _LineTable) -> Fact | None:
    """A constant that a command declares: the command's keyword, texts and place."""
    word = command.text("kind")
    if word not in KINDS:
        raise InputError(command.where, f"unknown kind {word!r}", "is this jixia's declaration file?")
    if not KINDS[word]:
        return None
    keyword = _keyword(command) if word == "structure" else ""
    modifiers = command.inner("modifiers")
    attributes = tuple(row.dotted("name") for row in modifiers.rows("attrs"))
    written = one_line(_printed(command.inner("signature")))
    declaration = replace(
        declaration,
        kind=keyword or KINDS[word],
        line=lines.line(_start(command)),
        signature=declaration.signature or written,
        docstring=_docstring(modifiers),
        attributes=attributes,
        namespace=command.inner("scopeInfo").dotted("currNamespace"),
        visibility=modifiers.text("visibility", "regular").replace("regular", "public"),
        is_instance=word == "instance" or "instance" in attributes,
        deprecated="deprecated" in attributes,
        variables="" if declaration.signature else binders_beyond(type_, written),
    )
    return Fact(declaration, type_, written=True, certain=bool(keyword))


def _keyword(command: Row) -> str:
    """`structure` or `class` as the command's text says, "" if the text is not there or not understood."""
    last = re.escape(str(command.items("name")[-1]))
    head = re.search(rf"\b(structure|class)\s+(?:[^\s({{\[:]*\.)?«?{last}(?![\w.'])", _printed(command.inner("ref")))
    return head.group(1) if head else ""


def _printed(syntax: Row) -> str:
    return syntax.text("pp", "") or syntax.text("str", "")


def _start(command: Row) -> int | None:
    """Byte offset of the declared name, of the command if the name is not in the source."""
    for key in ("id", "ref"):
        place = command.values.get(key)
        range_ = place.get("range") if isinstance(place, dict) else place
        if isinstance(range_, list) and range_ and isinstance(range_[0], int):
            return range_[0]
    return None


def _docstring(modifiers: Row) -> str:
    """`docString` is text, or since Lean 4.23 a pair of text and whether it is Verso."""
    value = modifiers.values.get("docString")
    if isinstance(value, list) and value:
        value = value[0]
    return value.strip() if isinstance(value, str) else ""


class _LineTable:
    """Byte offsets to 1-based lines of the Lean file beside a JSON file, 0 where there is none."""

    def __init__(self, symbols: Path) -> None:
        source = symbols.with_name(symbols.name.split(".sym.json")[0] + ".lean")
        self._text = source.read_bytes() if source.is_file() else b""

    def line(self, offset: int | None) -> int:
        """Line of a byte offset; 0 for an unknown one or one behind the end."""
        if offset is None or offset >= len(self._text):
            return 0
        return self._text.count(b"\n", 0, offset) + 1
