"""Texts and names brought to the form in which two disguises of the same thing are equal.

Folding forgets case, spacing, punctuation, accents, invisible characters, look-alike letters and whether mathematics
is written in LaTeX, in Unicode, in ASCII or in words. It never forgets a word or an operator.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lean_finder.corpus.symbols import written_form

#: What `fold_piece` makes.
Piece = tuple[list[str], list[str], NDArray[np.int64], NDArray[np.int64]]

#: Letters of other alphabets that a reader takes for Latin ones.
_CYRILLIC = str.maketrans(
    dict(zip("авсеһіјкмнорѕтухԁԛԝАВСЕНІЈКМОРЅТУХ", "abcehijkmhopstyxdqwABCEHIJKMOPSTYX", strict=True))
)
_GREEK = dict(zip("αεικνορτυχγηωβΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeikvoptuxynwbABEZHIKMNOPTYX", strict=True))

_MIXED = re.compile(r"[A-Za-z][Α-ω]|[Α-ω][A-Za-z]")
_INVISIBLE = {
    code: None
    for code in (*range(0x3000), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0080))
    if unicodedata.category(chr(code)) == "Cf"
}
#: Characters that folding replaces or drops one for one: most texts have none, and looking is cheaper than translating.
_DISGUISED = re.compile(f"[{re.escape(''.join(map(chr, [*_CYRILLIC, *_INVISIBLE])))}]")
#: Marks that stand apart once a letter is decomposed.
_ACCENTS = ("Mn", "Me")
_LETTERS = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[+*/^|<>=-]")
#: Text that is already folded but for its case.
_PLAIN = re.compile(r"[A-Za-z0-9 .,;:'()`_]*\Z")
_AROUND = '`" \t\r\n\u00a0'
_NAME_KEY = re.compile(r"[^a-z0-9']")

#: Words that a rewording adds or drops without changing the mathematics.
_STOPWORD_TEXT = """a an the of in on at by to for from with and is are be been being was were it its this that these
those there which who whose as we let then such so has have do does can may must i you please find show me lemma theorem
lean mathlib"""
STOPWORDS = frozenset(re.findall(r"\w+", _STOPWORD_TEXT))


def fold_tokens(text: str) -> list[str]:
    """The words, numbers and operators of a text, folded, in order."""
    if not _PLAIN.match(text):
        # Markdown's bold marks are no multiplication.
        text = _plain(text.replace("**", " "))
    return _TOKEN.findall(text.lower())


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: blanks and invisible characters only."""
    return not text[:1].isalnum() and not text.translate(_INVISIBLE).strip()


def squeeze(tokens: Iterable[str]) -> str:
    """The key under which two spellings of the same text meet ("non-empty" and "nonempty")."""
    return "".join(tokens).replace("-", "")


def stem(token: str) -> str:
    """The token as content: "" for a stop word and for a hyphen, a plural as its singular."""
    if token in STOPWORDS or token == "-":
        return ""
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
        return token[:-1]
    return token


class Vocabulary:
    """Numbers for content words, given in order of first sight; stop words have none."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def fold(self, texts: Iterable[str]) -> Folded:
        """Fold texts; new words get new numbers."""
        return self.join([fold_piece(list(texts))])

    def join(self, pieces: Iterable[Piece]) -> Folded:
        """Pieces one after another, each piece's own word numbers exchanged for ours: as if folded here."""
        keys: list[str] = []
        words: list[NDArray[np.int64]] = []
        sizes: list[NDArray[np.int64]] = []
        for piece_keys, vocabulary, flat, piece_sizes in pieces:
            ours = [self._number.setdefault(word, len(self._number)) for word in vocabulary]
            keys.extend(piece_keys)
            words.append(np.array(ours, dtype=np.int64)[flat])
            sizes.append(piece_sizes)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        return Folded(keys, np.concatenate(words), offsets)


def fold_piece(texts: Sequence[str]) -> Piece:
    """Keys, content words in order of first sight, word numbers of all texts one after another, words of each."""
    keys: list[str] = []
    vocabulary: dict[str, int] = {}
    known: dict[str, int] = {}
    flat, sizes = array("i"), array("i")
    for text in texts:
        tokens = fold_tokens(text)
        keys.append(squeeze(tokens))
        before = len(flat)
        for token in tokens:
            number = known.get(token)
            if number is None:
                word = stem(token)
                number = known[token] = vocabulary.setdefault(word, len(vocabulary)) if word else -1
            if number >= 0:
                flat.append(number)
        sizes.append(len(flat) - before)
    return keys, list(vocabulary), np.array(flat, dtype=np.int64), np.array(sizes, dtype=np.int64)


class Folded:
    """Many texts, folded.

    Attributes:
        keys: squeezed text of each; "" when nothing is left of it.
        words: numbers of the content words of all texts, one text after another.
        offsets: (texts + 1,) where each text starts in `words`.
    """

    def __init__(self, keys: list[str], words: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
        self.keys = keys
        self.words = words
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Content words of each text."""
        return np.diff(self.offsets)

    def of(self, text: int) -> NDArray[np.int64]:
        """Content words of one text."""
        return self.words[self.offsets[text] : self.offsets[text + 1]]

    def take(self, texts: Sequence[int] | NDArray[np.int64]) -> Folded:
        """The given texts only, in the given order."""
        chosen = np.asarray(texts, dtype=np.int64)
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - self.offsets[chosen], sizes)
        return Folded([self.keys[text] for text in chosen.tolist()], self.words[place], offsets)


def words_of_name(name: str) -> list[str]:
    """The words of a Lean name: `IsCompact.isClosed_iff` gives is, compact, is, closed, iff."""
    return [word.lower() for word in re.findall(r"[^\W\d_]+|\d+", _CAMEL.sub(" ", name))]


def clean_name(name: str) -> str:
    """A name without what surrounds it in text: space, invisible characters, quotes, `_root_.`, `@`.

    A prime at the end belongs to the name ("det_comm'" is another theorem than "det_comm"), a pair of them does not.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", name.translate(_INVISIBLE)).replace("«", "").replace("»", "")
    name = name.strip(_AROUND)
    if name[:1] == "'" == name[-1:]:
        name = name[1:-1].strip(_AROUND)
    return name.removeprefix("@").removeprefix("_root_.")


def name_key(name: str) -> str:
    """The key under which disguises of one name meet: case, dots, underscores, look-alikes forgotten."""
    name = clean_name(name)
    if name.isascii():
        return _NAME_KEY.sub("", name.lower())
    text = unicodedata.normalize("NFKC", _unmix(name)).lower()
    return "".join(char for char in text if char.isalnum() or char == "'")


def _plain(text: str) -> str:
    """LaTeX, Unicode and ASCII mathematics in one written form, invisible and look-alike characters resolved."""
    if text.isascii():
        return written_form(text)
    if _DISGUISED.search(text):
        text = text.translate(_INVISIBLE)
    text = written_form(_unmix(text))
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if char.isascii() or unicodedata.category(char) not in _ACCENTS)


def _unmix(text: str) -> str:
    """Look-alikes as the Latin letters that they imitate.

    Cyrillic ones always (no mathematics here uses them); Greek ones only inside a word that also has Latin letters,
    since a word of Greek alone is mathematics.
    """
    if _DISGUISED.search(text):
        text = text.translate(_CYRILLIC)
    return _LETTERS.sub(lambda match: _latin(match[0]), text) if _MIXED.search(text) else text


def _latin(word: str) -> str:
    if not word.isascii() and any(char.isascii() for char in word):
        return "".join(_GREEK.get(char, char) for char in word)
    return word
