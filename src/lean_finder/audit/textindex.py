"""An index of the texts that must stay hidden; training texts are streamed past it.

Only the test side is indexed (some thousands of texts), so the cost grows with the training side alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lean_finder.audit.folding import content, fold_tokens, squeeze
from lean_finder.audit.minhash import candidates, mix, signatures

#: Kinds of match that show the hidden text itself, strongest first.
SAME_TEXT = ("exact", "folded", "reworded function words", "contained", "truncated")
NEAR = "near"


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
        contained_words: fewest content words for containment and truncation (the anchor length too).
        truncated_share: fewest share of content words that a truncated copy keeps.
        near_similarity: least Jaccard similarity of content-word sets for `NEAR`.
    """

    def __init__(
        self, hidden: Sequence[HiddenText], contained_words: int, truncated_share: float, near_similarity: float
    ) -> None:
        self._anchor = contained_words
        self._share = truncated_share
        self._near = near_similarity
        self._vocabulary: dict[str, int] = {}
        self._texts: list[HiddenText] = []
        self._words: list[list[int]] = []
        self._raw: dict[str, int] = {}
        self._folded: dict[str, int] = {}
        self._content: dict[tuple[int, ...], int] = {}
        for item in hidden:
            tokens = fold_tokens(item.text)
            if not tokens:
                continue
            key, words = squeeze(tokens), self._ids(content(tokens), grow=True)
            position = len(self._texts)
            self._texts.append(item)
            self._words.append(words)
            self._raw.setdefault(item.text, position)
            self._folded.setdefault(key, position)
            if len(words) >= 2:
                self._content.setdefault(tuple(words), position)
        self._anchors = self._anchor_table()
        self._near_rows = [row for row, words in enumerate(self._words) if len(set(words)) >= 3]
        self._near_signatures = self._sign([self._words[row] for row in self._near_rows])

    def __len__(self) -> int:
        return len(self._texts)

    def matches(self, texts: Sequence[str]) -> dict[int, Match]:
        """The strongest match of each training text that has one.

        Args:
            texts: distinct training texts.

        Returns:
            Position in `texts` -> match.
        """
        found: dict[int, Match] = {}
        words: list[list[int]] = []
        for position, text in enumerate(texts):
            tokens = fold_tokens(text)
            ids = self._ids(content(tokens), grow=False)
            words.append(ids)
            if text in self._raw:
                found[position] = self._match("exact", self._raw[text])
            elif tokens and squeeze(tokens) in self._folded:
                found[position] = self._match("folded", self._folded[squeeze(tokens)])
            elif len(ids) >= 2 and tuple(ids) in self._content:
                found[position] = self._match("reworded function words", self._content[tuple(ids)])
        for position, match in self._by_anchor(words):
            found.setdefault(position, match)
        for position, match in self._by_similarity(words):
            if position not in found or (found[position].kind == NEAR and found[position].similarity < match.similarity):
                found[position] = match
        return found

    def _ids(self, words: list[str], grow: bool) -> list[int]:
        """Word numbers; a training word that no hidden text has gets a number below 0: it only counts as a difference."""
        table = self._vocabulary
        if grow:
            return [table.setdefault(word, len(table)) for word in words]
        return [table.get(word, -1 - place) for place, word in enumerate(words)]

    def _match(self, kind: str, row: int, similarity: float = 1.0, edits: int = 0) -> Match:
        return Match(kind, self._texts[row], similarity, edits)

    def _anchor_table(self) -> dict[tuple[int, ...], list[int]]:
        table: dict[tuple[int, ...], list[int]] = {}
        for row, words in enumerate(self._words):
            for start in range(len(words) - self._anchor + 1):
                rows = table.setdefault(tuple(words[start : start + self._anchor]), [])
                if not rows or rows[-1] != row:
                    rows.append(row)
        return table

    def _by_anchor(self, words: list[list[int]]) -> list[tuple[int, Match]]:
        """Containment either way: a run of `anchor` words is looked up, then the whole is compared."""
        width = self._anchor
        flat, offsets = _flatten(words)
        if len(flat) < width or not self._anchors:
            return []
        known = np.sort(_run_hashes(np.array(list(self._anchors), dtype=np.int64).ravel(), width)[::width])
        runs = _run_hashes(flat, width)
        hits = np.flatnonzero(_is_in(runs, known))
        owners = np.searchsorted(offsets, hits, side="right") - 1
        inside = hits + width <= offsets[owners + 1]
        found: list[tuple[int, Match]] = []
        for owner in np.unique(owners[inside]):
            match = self._contained(words[owner])
            if match is not None:
                found.append((int(owner), match))
        return found

    def _contained(self, words: list[int]) -> Match | None:
        rows: dict[int, None] = {}
        for start in range(len(words) - self._anchor + 1):
            rows.update(dict.fromkeys(self._anchors.get(tuple(words[start : start + self._anchor]), ())))
        for row in rows:
            if _has_run(words, self._words[row]):
                return self._match("contained", row)
        for row in rows:
            if len(words) >= self._share * len(self._words[row]) and _has_run(self._words[row], words):
                return self._match("truncated", row)
        return None

    def _sign(self, words: list[list[int]]) -> NDArray[np.uint32]:
        flat, offsets = _flatten([sorted(set(item)) for item in words])
        return signatures(mix(flat.astype(np.uint64)), offsets)

    def _by_similarity(self, words: list[list[int]]) -> list[tuple[int, Match]]:
        known_share = [sum(item >= 0 for item in ids) / max(len(ids), 1) for ids in words]
        # A text whose words are mostly unknown to the test side cannot reach the similarity: skip it.
        probes = [row for row, ids in enumerate(words) if len(set(ids)) >= 3 and known_share[row] >= self._near]
        if not probes or not self._near_rows:
            return []
        left, right = candidates(self._near_signatures, self._sign([words[row] for row in probes]))
        found: list[tuple[int, Match]] = []
        for probe, known in zip(left.tolist(), right.tolist(), strict=True):
            position, row = probes[probe], self._near_rows[known]
            similarity, edits = compare_words(words[position], self._words[row])
            if similarity >= self._near:
                found.append((position, self._match(NEAR, row, similarity, edits)))
        return found


def compare_words(left: Sequence[int], right: Sequence[int]) -> tuple[float, int]:
    """Jaccard similarity of two word sets, and how many words must be replaced, added or removed."""
    one, two = set(left), set(right)
    shared = len(one & two)
    return shared / (len(one | two) or 1), max(len(one), len(two)) - shared


def _flatten(rows: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    flat = np.fromiter((item for row in rows for item in row), dtype=np.int64, count=int(offsets[-1]))
    return flat, offsets


def _run_hashes(flat: NDArray[np.int64], width: int) -> NDArray[np.uint64]:
    """A hash of every run of `width` consecutive words, (len(flat) - width + 1,)."""
    size = len(flat) - width + 1
    key = np.zeros(size, dtype=np.uint64)
    for shift in range(width):
        key = mix(key ^ flat[shift : shift + size].astype(np.uint64))
    return key


def _is_in(values: NDArray[np.uint64], ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return ordered[place] == values


def _has_run(longer: Sequence[int], shorter: Sequence[int]) -> bool:
    size = len(shorter)
    wanted = list(shorter)
    return any(list(longer[start : start + size]) == wanted for start in range(len(longer) - size + 1))
