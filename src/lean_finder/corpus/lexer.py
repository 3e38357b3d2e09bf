"""The first pass over a Lean file: comments and strings are blanked, offsets and lines stay.

Everything later works on text in which a keyword is a keyword. One compiled expression jumps from one
opening mark to the next, so the cost is linear in the file and no character loop runs in Python.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

_MARK = re.compile(r'--|/-|"|«')
_NEST = re.compile(r"/-|-/")
_STRING_END = re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_GUTTER = re.compile(r"\n[ \t]*")

#: A line that can only be the start of a declaration: used to recover from a string that is never closed.
_FRESH_START = re.compile(
    r"\n\n(?:@\[|(?:theorem|lemma|def|instance|structure|class|inductive|abbrev|namespace|end)\b)"
)

UNCLOSED_COMMENT = "comment is never closed"
UNCLOSED_STRING = "string is never closed"


@dataclass(frozen=True, slots=True)
class DocComment:
    """A `/-- … -/` comment: offsets of its marks and its text without them, on as many lines as written."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Source:
    """One file after the first pass.

    Attributes:
        text: the file, Unix line ends, no byte-order mark.
        code: `text` with comments blanked; same length.
        mask: `code` with string and character literals blanked too; same length.
        docs: doc comments in order.
        problems: (offset, reason) of what could not be closed.
    """

    text: str
    code: str
    mask: str
    docs: list[DocComment] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    _newlines: list[int] = field(default_factory=list)
    _doc_ends: list[int] = field(default_factory=list)

    def line(self, offset: int) -> int:
        """1-based line of an offset."""
        return bisect_left(self._newlines, offset) + 1

    def doc_before(self, offset: int) -> str:
        """Text of the doc comment that ends right before `offset` (only blanks between), or ""."""
        index = bisect_right(self._doc_ends, offset) - 1
        if index < 0 or self.mask[self._doc_ends[index] : offset].strip():
            return ""
        return self.docs[index].text

    def doc_inside(self, start: int, end: int) -> str:
        """Text of the first doc comment that lies between two offsets, or ""."""
        index = bisect_left(self._doc_ends, start)
        if index < len(self.docs) and self.docs[index].start >= start and self.docs[index].end <= end:
            return self.docs[index].text
        return ""


def read_source(text: str) -> Source:
    """Blank the comments and strings of a Lean file. Never raises: what is not closed is in `problems`."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    code: list[str] = []
    mask: list[str] = []
    source = Source(text=text, code="", mask="")
    done = position = 0
    length = len(text)
    while match := _MARK.search(text, position):
        start = match.start()
        mark = match.group()
        in_code = False
        if mark == "--":
            end = text.find("\n", start)
            end = length if end < 0 else end
        elif mark == "/-":
            end = _comment_end(text, start)
            if end < 0:
                source.problems.append((start, UNCLOSED_COMMENT))
                end = length
            elif text.startswith("/--", start) and end - start > 5:
                source.docs.append(DocComment(start, end, tidy_doc(text[start + 3 : end - 2])))
        elif mark == "«":
            close = text.find("»", start)
            line_end = text.find("\n", start)
            position = close + 1 if close >= 0 and (line_end < 0 or close < line_end) else start + 1
            continue
        else:
            end = _string_end(text, start)
            if end < 0:
                source.problems.append((start, UNCLOSED_STRING))
                end = start + 1
            in_code = True
        code.append(text[done:start])
        mask.append(text[done:start])
        blank = _blank(text[start:end])
        code.append(text[start:end] if in_code else blank)
        mask.append(blank)
        done = position = end
    code.append(text[done:])
    mask.append(text[done:])
    source.code = "".join(code)
    source.mask = "".join(mask)
    source._newlines = [match.start() for match in re.finditer("\n", text)]
    source._doc_ends = [doc.end for doc in source.docs]
    return source


def tidy_doc(text: str) -> str:
    """A doc comment's text without the indentation of its lines and outer blanks."""
    return _GUTTER.sub("\n", text).strip()


def _blank(text: str) -> str:
    """Blanks of the same length, line ends kept."""
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _comment_end(text: str, start: int) -> int:
    """Offset after the `-/` that closes the comment opened at `start`, nested ones counted; -1 if none."""
    depth = 1
    position = start + 2
    while match := _NEST.search(text, position):
        position = match.end()
        depth += 1 if match.group() == "/-" else -1
        if depth == 0:
            return position
    return -1


def _string_end(text: str, quote: int) -> int:
    """Offset after the literal that the quote mark at `quote` opens; -1 if it is never closed.

    The mark may itself be a character literal, or open a raw string. A literal that swallows a blank line
    followed by the start of a declaration is taken for unclosed, so that one lost mark loses nothing else.
    """
    if text.startswith("'", quote + 1) and (text.endswith("'", 0, quote) or text.endswith("'\\", 0, quote)):
        return quote + 1
    hashes = 0
    while quote - hashes > 0 and text[quote - hashes - 1] == "#":
        hashes += 1
    before = quote - hashes - 1
    if (
        before >= 0
        and text[before] == "r"
        and not (before and (text[before - 1].isalnum() or text[before - 1] in "_'!?"))
    ):
        close = text.find('"' + "#" * hashes, quote + 1)
        return -1 if close < 0 else close + 1 + hashes
    match = _STRING_END.match(text, quote + 1)
    if match is None or _FRESH_START.search(text, quote, match.end()):
        return -1
    return match.end()
