"""doc-gen4's JSON files in `declarations/` (named .bmp so that web servers compress them).

`declaration-data-<Module>.bmp` holds a module's declarations with docstring, line and an HTML header that shows
arguments and type. `declaration-data.bmp` is the index of all modules: names, kinds and instances only. Of a folder the
modules are read, and the index for what they lack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from tqdm import tqdm

from lean_finder.corpus.importers.contract import Fact, Gathering, Imported, blank, one_line
from lean_finder.corpus.importers.kinds import KINDS, settle_kinds
from lean_finder.corpus.importers.reading import Row, read_document
from lean_finder.errors import InputError

INDEX = "declaration-data.bmp"
PATTERN = "declaration-data*.bmp*"


def import_docgen_json(path: Path) -> Imported:
    """Read one file or a folder of `declaration-data*.bmp` files (also gzipped).

    Raises:
        InputError: a file is damaged, or a key is missing; names the file and the row.
    """
    files = [path] if path.is_file() else sorted(path.rglob(PATTERN), key=lambda item: (_is_index(item), item))
    gathering = Gathering()
    for file in tqdm(files, desc="reading doc-gen4 files", unit="file", disable=None):
        document = read_document(file)
        if not isinstance(document, dict):
            raise InputError(file, "expected a JSON object", "is this a doc-gen4 data file?")
        row = Row(document, str(file))
        if isinstance(document.get("declarations"), dict):
            _index(row, gathering)
        else:
            for name, where, fact in _module(row):
                gathering.add(name, where, fact)
    if not gathering.facts:
        raise InputError(path, "no declaration in it", "build the documentation again")
    return gathering.imported(settle_kinds(gathering.user_facing()), "docgen4", certain_instances=True)


def _is_index(path: Path) -> bool:
    return path.name.removesuffix(".gz") == INDEX


def _module(row: Row) -> Iterator[tuple[str, str, Fact]]:
    module = row.text("name")
    instances = {item.text("name") for item in row.rows("instances")}
    rows = [(item, item.inner("info")) for item in row.rows("declarations")]
    for item, info in sorted(rows, key=lambda pair: (pair[1].number("line"), pair[1].text("name"))):
        name = info.text("name")
        header = Header.parse(item.text("header", ""))
        kind = _kind(info)
        declaration = replace(
            blank("abbrev" if kind == "def" and "abbrev" in header.kind.split() else kind, module),
            line=info.number("line"),
            signature=header.signature,
            docstring=info.text("doc", "").strip(),
            is_instance=name in instances,
        )
        yield name, info.where, Fact(declaration, header.type, written=True, certain=True)


def _index(row: Row, gathering: Gathering) -> None:
    """Take from the index what no module file gave; say of everything whether it is an instance."""
    instances = {name for names in row.inner("instances").values.values() for name in names}
    for name in row.values["declarations"]:
        if name in gathering.facts:
            continue
        entry = row.inner("declarations").inner(name)
        page = unquote(entry.text("docLink")).split("#")[0].removesuffix(".html")
        module = ".".join(part for part in page.split("/") if part not in {"", ".", ".."})
        declaration = replace(blank(_kind(entry), module), is_instance=name in instances)
        gathering.add(name, entry.where, Fact(declaration, written=True, certain=True))


def _kind(row: Row) -> str:
    word = row.text("kind")
    if not KINDS.get(word):
        raise InputError(row.where, f"unknown kind {word!r}", "this version of doc-gen4 is not known")
    return KINDS[word]


@dataclass
class Header:
    """The parts of a declaration's HTML header as text: "def", "Nat.add", ["(n : Nat)"], "extends X", "Nat"."""

    kind: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extends: str = ""
    type: str = ""

    @classmethod
    def parse(cls, html: str) -> Header:
        """Read a header; an empty one gives empty parts."""
        parser = _HeaderParser()
        parser.feed(html)
        parser.close()
        return parser.header()

    @property
    def signature(self) -> str:
        """Binders, parents and type on one line, "" for an empty header."""
        if not self.type:
            return ""
        return " ".join(part for part in [*self.arguments, self.extends, ":", self.type] if part)


class _HeaderParser(HTMLParser):
    """Gathers text by the class of the element directly below `decl_header`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._depth = 0
        self._parts: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += 1
        if self._depth == 2:
            self._parts.append((dict(attrs).get("class") or "", []))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth == 1:
            self._parts.append(("", [data]))  # the commas between parents lie directly in the header
        elif self._parts:
            self._parts[-1][1].append(data)

    def header(self) -> Header:
        found = Header()
        for class_, pieces in self._parts:
            text = one_line("".join(pieces))
            if class_ == "decl_kind":
                found.kind = text
            elif class_ == "decl_name":
                found.name = text.replace(" ", "")
            elif class_ == "decl_type":
                found.type = text
            elif class_ == "decl_extends":
                found.extends = text
            elif class_ in {"decl_args", "impl_arg"}:
                if text != ":":
                    found.arguments.append(text)
            elif text and found.extends:
                found.extends += text if text == "," else f" {text}"
        return found
