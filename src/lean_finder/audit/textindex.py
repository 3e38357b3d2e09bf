"""An index of the texts that must stay hidden; training texts are streamed past it.

Only the test side is indexed (some thousands of texts), so the cost grows with the training side alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lean_finder.audit.folding import Folded, Vocabulary
from lean_finder.audit.minhash import candidates, is_in, mix, signatures

#: Kinds of match that show the hidden text itself, strongest first.
SAME_TEXT = ("exact", "folded", "reworded function words", "contained", "truncated")
NEAR = "near"
#: Fewest content words for equality of content words alone, and for nearness: fewer coincide by chance.
_FEWEST_WORDS, _FEWEST_NEAR_WORDS = 2, 3


@dataclass(frozen=True)
class HiddenText:
    """A text of the test side: where it stands, what it says and the declaration that it belongs to."""

    label: str
    text: str
    gold: str


@dataclass(frozen=True)
class Match:
    """A training text met a hidden one.

    Attributes:
        kind: one of `SAME_TEXT`, or `NEAR`.
        hidden: the hidden text.
        similarity: Jaccard similarity of the two sets of content words, 1 for a kind of `SAME_TEXT`.
        edits: content words that one has and the other lacks, counted once per substitution.
    """

    kind: str
    hidden: HiddenText
    similarity: float
    edits: int


class TextIndex:
    """Hidden texts, findable by any training text that repeats, contains, cuts off or nearly repeats one.

    Args:
        hidden: the texts; those that fold to nothing are left out.
        vocabulary: shared with the training texts that will be looked up.
        contained_words: fewest content words for containment and truncation (the anchor length too).
        truncated_share: fewest share of content words that a truncated copy keeps.
        near_similarity: least Jaccard similarity of content-word sets for `NEAR`.
    """

    def __init__(
        self,
        hidden: Sequence[HiddenText],
        vocabulary: Vocabulary,
        contained_words: int,
        truncated_share: float,
        near_similarity: float,
    ) -> None:
        self._anchor, self._share, self._near = contained_words, truncated_share, near_similarity
        folded = vocabulary.fold(item.text for item in hidden)
        kept = [row for row, key in enumerate(folded.keys) if key]
        self._texts = [hidden[row] for row in kept]
        self._folded = folded.take(kept)
        self._known = np.zeros(len(vocabulary), dtype=np.bool_)
        self._known[self._folded.words] = True
        self._by_raw = {item.text: row for row, item in reversed(list(enumerate(self._texts)))}
        self._by_key = {key: row for row, key in reversed(list(enumerate(self._folded.keys)))}
        self._by_words = {
            self._folded.of(row).tobytes(): row
            for row in reversed(range(len(self._texts)))
            if self._folded.sizes[row] >= _FEWEST_WORDS
        }
        self._all_runs = self._run_table()
        self._anchors = self._anchor_table()
        self._near_rows = np.flatnonzero(self._folded.sizes >= _FEWEST_NEAR_WORDS)
        self._near_signatures = _sign(self._folded.take(self._near_rows))

    @property
    def hidden(self) -> list[HiddenText]:
        """The indexed texts."""
        return self._texts

    def matches(self, texts: Sequence[str], folded: Folded) -> dict[int, Match]:
        """The strongest match of each training text that has one.

        Args:
            texts: distinct training texts.
            folded: the same texts, folded with this index's vocabulary.

        Returns:
            Position in `texts` -> match.
        """
        found: dict[int, Match] = {}
        if not self._texts or not texts:
            return found
        sizes = folded.sizes
        for position, (text, key) in enumerate(zip(texts, folded.keys, strict=True)):
            if text in self._by_raw:
                found[position] = self._match("exact", self._by_raw[text])
            elif key in self._by_key:
                found[position] = self._match("folded", self._by_key[key])
        known = self._shares(folded)
        # A text equal in content words has no word that the hidden texts lack.
        for position in np.flatnonzero((known == 1) & (sizes >= _FEWEST_WORDS)).tolist():
            row = self._by_words.get(folded.of(position).tobytes())
            if row is not None:
                found.setdefault(position, self._match("reworded function words", row))
        for position, match in self._by_anchor(folded):
            found.setdefault(position, match)
        # A text most of whose words no hidden text has cannot reach the similarity.
        probes = np.flatnonzero((known >= self._near) & (sizes >= _FEWEST_NEAR_WORDS))
        for position, match in self._by_similarity(folded, probes):
            best = found.get(position)
            if best is None or (best.kind == NEAR and best.similarity < match.similarity):
                found[position] = match
        return found

    def _match(self, kind: str, row: int, similarity: float = 1.0, edits: int = 0) -> Match:
        return Match(kind, self._texts[row], similarity, edits)

    def _shares(self, folded: Folded) -> NDArray[np.float64]:
        """Share of each text's content words that some hidden text has."""
        inside = folded.words < len(self._known)
        hits = np.zeros(len(folded.words) + 1, dtype=np.int64)
        np.cumsum(inside & self._known[np.where(inside, folded.words, 0)], out=hits[1:])
        counts = hits[folded.offsets[1:]] - hits[folded.offsets[:-1]]
        return counts / np.maximum(folded.sizes, 1)

    def _run_table(self) -> dict[bytes, list[int]]:
        """Every run of `anchor` words of the hidden texts -> the texts that have it."""
        table: dict[bytes, list[int]] = {}
        for row in range(len(self._texts)):
            for run in dict.fromkeys(_runs(self._folded.of(row), self._anchor)):
                table.setdefault(run, []).append(row)
        return table

    def _anchor_table(self) -> dict[bytes, list[int]]:
        """The rarest run of each hidden text -> the texts that it stands for: a common phrase is no anchor."""
        table: dict[bytes, list[int]] = {}
        for row in range(len(self._texts)):
            runs = list(_runs(self._folded.of(row), self._anchor))
            if runs:
                table.setdefault(min(runs, key=lambda run: len(self._all_runs[run])), []).append(row)
        return table

    def _by_anchor(self, folded: Folded) -> list[tuple[int, Match]]:
        """Containment either way: runs of `anchor` words are looked up all at once, then the few hits are compared."""
        width = self._anchor
        if len(folded.words) < width or not self._anchors:
            return []
        hashes = _run_hashes(folded.words, width)
        starts = np.flatnonzero(is_in(hashes, _hashes_of(self._all_runs, width)))
        owners = np.searchsorted(folded.offsets, starts, side="right") - 1
        inside = starts + width <= folded.offsets[owners + 1]
        starts, owners = starts[inside], owners[inside]
        anchored = is_in(hashes[starts], _hashes_of(self._anchors, width))
        found: dict[int, Match] = {}
        for owner in np.unique(owners[anchored]).tolist():
            self._keep(found, owner, self._containing(folded.of(owner)))
        # A cut-off copy has no run that the hidden texts lack.
        counts = np.bincount(owners, minlength=len(folded))
        for owner in np.flatnonzero((counts > 0) & (counts == folded.sizes - width + 1)).tolist():
            self._keep(found, owner, self._truncating(folded.of(owner)))
        return list(found.items())

    @staticmethod
    def _keep(found: dict[int, Match], owner: int, match: Match | None) -> None:
        if match is not None:
            found.setdefault(owner, match)

    def _containing(self, words: NDArray[np.int64]) -> Match | None:
        """The hidden text that stands whole inside a training text."""
        for run in _runs(words, self._anchor):
            for row in self._anchors.get(run, ()):
                if _has_run(words, self._folded.of(row)):
                    return self._match("contained", row)
        return None

    def _truncating(self, words: NDArray[np.int64]) -> Match | None:
        """The hidden text of which a training text is the greater part."""
        rows = min((self._all_runs.get(run, []) for run in _runs(words, self._anchor)), key=len)
        for row in rows:
            whole = self._folded.of(row)
            if len(words) >= self._share * len(whole) and _has_run(whole, words):
                return self._match("truncated", row)
        return None

    def _by_similarity(self, folded: Folded, probes: NDArray[np.int64]) -> list[tuple[int, Match]]:
        if not len(probes) or not len(self._near_rows):
            return []
        left, right = candidates(self._near_signatures, _sign(folded.take(probes)), self._near)
        found: list[tuple[int, Match]] = []
        for probe, known in zip(probes[left].tolist(), self._near_rows[right].tolist(), strict=True):
            similarity, edits = compare_words(folded.of(probe).tolist(), self._folded.of(known).tolist())
            if similarity >= self._near:
                found.append((probe, self._match(NEAR, known, similarity, edits)))
        return found


def compare_words(left: Sequence[int], right: Sequence[int]) -> tuple[float, int]:
    """Jaccard similarity of two word sets, and how many words must be replaced, added or removed."""
    one, two = set(left), set(right)
    shared = len(one & two)
    return shared / (len(one | two) or 1), max(len(one), len(two)) - shared


def _sign(folded: Folded) -> NDArray[np.uint32]:
    return signatures(mix(folded.words.astype(np.uint64)), folded.offsets)


def _runs(words: NDArray[np.int64], width: int) -> Iterator[bytes]:
    for start in range(len(words) - width + 1):
        yield words[start : start + width].tobytes()


def _run_hashes(flat: NDArray[np.int64], width: int) -> NDArray[np.uint64]:
    """A hash of every run of `width` consecutive words, (len(flat) - width + 1,)."""
    size = len(flat) - width + 1
    key = np.zeros(size, dtype=np.uint64)
    for shift in range(width):
        key = mix(key ^ flat[shift : shift + size].astype(np.uint64))
    return key


def _hashes_of(runs: Collection[bytes], width: int) -> NDArray[np.uint64]:
    flat = np.frombuffer(b"".join(runs), dtype=np.int64)
    return np.sort(_run_hashes(flat, width)[::width])


def _has_run(longer: NDArray[np.int64], shorter: NDArray[np.int64]) -> bool:
    text, wanted = longer.tobytes(), shorter.tobytes()
    place = text.find(wanted)
    # A match must begin where a word begins.
    while place >= 0 and place % longer.itemsize:
        place = text.find(wanted, place + 1)
    return place >= 0
