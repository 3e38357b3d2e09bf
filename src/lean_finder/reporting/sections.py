"""Sections of a Markdown file that a program writes: between `<!-- generated: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lean_finder.errors import InputError

_SECTION = re.compile(
    r"(?P<open><!-- generated: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<close><!-- end -->)", re.DOTALL
)
_OPENING = re.compile(r"<!-- generated: ([\w-]+) -->")


def refresh(text: str, writers: Mapping[str, Callable[[], str]], where: object) -> str:
    """The text with every generated section written anew; writers of sections that it lacks are not called.

    Args:
        text: of the file.
        writers: section name -> what makes its content, without the blank lines around it.
        where: the file, for messages.

    Raises:
        InputError: no section, an unknown name, or a section without end.
    """
    opened = _OPENING.findall(text)
    if not opened:
        raise InputError(where, "has no generated section", "add <!-- generated: results --> and <!-- end -->")
    unknown = [name for name in opened if name not in writers]
    if unknown:
        raise InputError(where, f"unknown section {unknown[0]!r}", f"one of {', '.join(writers)}")
    closed = [match["name"] for match in _SECTION.finditer(text) if not _OPENING.search(match["body"])]
    if closed != opened:
        raise InputError(where, "a generated section has no end", "close each with <!-- end -->")
    return _SECTION.sub(lambda match: f"{match['open']}\n{writers[match['name']]().strip()}\n\n{match['close']}", text)
