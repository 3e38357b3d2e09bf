"""Facts of files that were parsed before, by content: a second extraction parses only what changed.

An entry is named by the digest of the file's bytes, its module and the parser's own source, so it can be stale in no
way:
another text, another place or another version of the parser is another entry. Entries are JSON, written whole or not
at all.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from lean_finder.corpus import facts as facts_module
from lean_finder.corpus import lexer, members, parse, scopes, syntax
from lean_finder.corpus.facts import FileFacts, Problem, RawAlias, RawAttribute, RawDeclaration, RawExport
from lean_finder.corpus.state import FileEntry
from lean_finder.storage import atomic_path

_PARSER = (facts_module, lexer, members, parse, scopes, syntax)


@lru_cache(maxsize=1)
def parser_version() -> str:
    """Digest of the source of every module that decides what the facts of a file are."""
    digest = hashlib.sha256()
    for module in _PARSER:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]


class ParseCache:
    """A folder of parsed files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, content: bytes, module: str, file: str) -> Path:
        """Where the facts of a file with this content at this place belong."""
        digest = hashlib.sha256(f"{parser_version()}\0{module}\0{file}\0".encode() + content).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"

    def load(self, path: Path) -> FileFacts | None:
        """Facts stored at `path`; None if there are none or the entry is damaged."""
        try:
            return _from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def facts_of(self, entry: FileEntry) -> FileFacts | None:
        """Facts of a file that was read before; None if they are not there any more."""
        return self.load(self.folder / entry.digest[:2] / f"{entry.digest}.json") if entry.digest else None

    def store(self, path: Path, facts: FileFacts) -> None:
        """Store facts at `path`."""
        with atomic_path(path) as scratch:
            scratch.write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")


def _declaration(row: list[object]) -> RawDeclaration:
    raw = RawDeclaration(*row)  # type: ignore[arg-type]
    return raw._replace(attributes=tuple(raw.attributes))


def _from_json(value: list[list[list[object]]]) -> FileFacts:
    module, file, declarations, aliases, attributes, exports, notations, translations, documented, problems = value
    return FileFacts(
        str(module),
        str(file),
        [_declaration(row) for row in declarations],
        [RawAlias(_declaration(row[0]), row[1], row[2]) for row in aliases],  # type: ignore[arg-type]
        [RawAttribute(tuple(row[0]), tuple(row[1]), *row[2:]) for row in attributes],  # type: ignore[arg-type]
        [RawExport(row[0], tuple(row[1]), *row[2:]) for row in exports],  # type: ignore[arg-type]
        [tuple(row) for row in notations],  # type: ignore[misc]
        [tuple(row) for row in translations],  # type: ignore[misc]
        [tuple(row) for row in documented],  # type: ignore[misc]
        [Problem(*row) for row in problems],  # type: ignore[arg-type]
    )
