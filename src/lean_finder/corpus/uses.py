"""What the resolution of one file asked of the others: the reverse of this tells whom a change reaches.

A name can be asked for in four ways: by an identifier that is tried behind every namespace in view, by its full name,
for its signature, and for its translation. Each is a key; keys are stored as 32-bit checksums, so two keys may fall
together, which only makes a file be resolved again that need not be.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt


class Uses:
    """The questions of one file.

    Attributes:
        idents: identifiers as written.
        contexts: (namespace, opened namespaces) in which identifiers were looked up.
        names: full names whose existence mattered.
        signatures: full names whose binders or type mattered.
        translations: words whose translation mattered.
        classes: classes and types of which the library-wide tables were asked.
    """

    __slots__ = ("classes", "contexts", "idents", "names", "signatures", "translations")

    def __init__(self) -> None:
        self.idents: set[str] = set()
        self.contexts: set[tuple[str, str]] = set()
        self.names: set[str] = set()
        self.signatures: set[str] = set()
        self.translations: set[str] = set()
        self.classes: set[str] = set()

    def add(self, other: Uses) -> None:
        """Take over what another record has."""
        for slot in self.__slots__:
            getattr(self, slot).update(getattr(other, slot))

    def questions(self) -> Iterator[str]:
        """Everything asked for, each kind with a mark of its own."""
        prefixes: set[str] = set()
        for namespace, opens in self.contexts:
            bases = list(prefixes_of(namespace))
            prefixes.update(base.removesuffix(".") for base in bases)
            prefixes.update(f"{base}{opened}" for opened in opens.split() for base in bases)
        kinds = (self.idents, prefixes, self.names, self.signatures, self.translations, self.classes)
        for mark, items in zip("ipnstc", kinds, strict=True):
            for item in items:
                yield mark + item


def prefixes_of(namespace: str) -> Iterator[str]:
    """ "" and every enclosing namespace with a dot behind it, the innermost first after ""."""
    yield ""
    part = namespace
    while part:
        yield f"{part}."
        part = part.rpartition(".")[0]


class UseIndex:
    """Key → files that asked for it, as one sorted array of (checksum, file) packed into 64 bits."""

    def __init__(self, packed: npt.NDArray[np.uint64]) -> None:
        self.packed = packed

    @classmethod
    def build(cls, uses: Mapping[int, Uses]) -> UseIndex:
        """Index of the records of some files."""
        parts = []
        for file, item in uses.items():
            marks = np.fromiter((zlib.crc32(key.encode()) for key in item.questions()), dtype=np.uint64)
            parts.append((marks << np.uint64(32)) | np.uint64(file))
        packed = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)
        packed.sort()
        return cls(packed)

    def replaced(self, uses: Mapping[int, Uses]) -> UseIndex:
        """The index with the records of some files put in the place of their old ones."""
        files = (self.packed & np.uint64(0xFFFFFFFF)).astype(np.int64)
        replaced = np.zeros(max([*uses, int(files.max(initial=0))]) + 1, dtype=bool)
        replaced[list(uses)] = True
        kept = self.packed[~replaced[files]]
        new = UseIndex.build(uses).packed
        return UseIndex(np.insert(kept, np.searchsorted(kept, new), new))

    def files(self, key: str) -> set[int]:
        """Files that asked for a key."""
        low = zlib.crc32(key.encode()) << 32
        start, stop = np.searchsorted(self.packed, np.array([low, low + (1 << 32) - 1], dtype=np.uint64))
        stop += stop < len(self.packed) and int(self.packed[stop]) == low + (1 << 32) - 1
        return {int(item) & 0xFFFFFFFF for item in self.packed[start:stop]}

    def asked_for_name(self, name: str) -> set[int]:
        """Files for which it matters that a declaration of this name appears or disappears."""
        found = self.files(f"n{name}") | self.files(f"s{name}")
        parts = name.split(".")
        for at in range(len(parts)):
            readers = self.files("i" + ".".join(parts[at:]))
            if readers:
                found |= readers & self.files("p" + ".".join(parts[:at]))
        return found

    def asked_about(self, names: Iterable[str], mark: str) -> set[int]:
        """Files that asked for the signature ("s"), translation ("t") or class tables ("c") of one of these names."""
        return set().union(*(self.files(mark + name) for name in names))
