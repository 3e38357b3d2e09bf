"""doc-gen4's rendered code as it lies in its SQLite database: a tree of text, tags and lists, as bytes.

A node starts with one byte: 0 text (length, UTF-8), 1 tag (tag byte; tag 2 carries a name) and a node, 2 list (count,
nodes). Numbers are little-endian base 128, the high bit of a byte says that more follow. A name is 0 (empty), 1 (name,
text) or 2 (name, number).
"""

from __future__ import annotations

_CONST_TAG = 2
_TAGS = 8


class BadBlobError(ValueError):
    """Bytes that are no rendered code."""


def rendered_text(blob: bytes) -> str:
    """The plain text of a rendered-code blob.

    Raises:
        BadBlobError: the bytes end too early, go on too long, or hold an unknown node.
    """
    reader = _Reader(blob)
    pieces: list[str] = []
    pending = 1  # nodes still to read: a loop, because lists nest as deep as terms do
    while pending:
        pending -= 1
        node = reader.byte()
        if node == 0:
            pieces.append(reader.text())
        elif node == 1:
            reader.tag()
            pending += 1
        elif node == 2:
            pending += reader.number()
        else:
            raise BadBlobError(f"unknown node {node}")
    if reader.position != len(blob):
        raise BadBlobError(f"{len(blob) - reader.position} bytes too many")
    return "".join(pieces)


class _Reader:
    def __init__(self, blob: bytes) -> None:
        self._blob = blob
        self.position = 0

    def byte(self) -> int:
        if self.position >= len(self._blob):
            raise BadBlobError("ends too early")
        self.position += 1
        return self._blob[self.position - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> str:
        size = self.number()
        data = self._blob[self.position : self.position + size]
        if len(data) != size:
            raise BadBlobError("ends too early")
        self.position += size
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadBlobError("text is not UTF-8") from error

    def tag(self) -> None:
        tag = self.byte()
        if tag >= _TAGS:
            raise BadBlobError(f"unknown tag {tag}")
        if tag == _CONST_TAG:
            self._name()

    def _name(self) -> None:
        suffixes: list[int] = []
        while kind := self.byte():
            if kind > 2:
                raise BadBlobError(f"unknown name part {kind}")
            suffixes.append(kind)
        for kind in reversed(suffixes):  # the prefix comes first, so its texts do
            if kind == 1:
                self.text()
            else:
                self.number()
