"""Formal statements in a form that forgets how they are written down.

`same_key` is equal for two statements that differ only in the names of bound variables, the order and grouping of
binders, bracket kinds, universe names, hypotheses before or after the colon, the direction of ≥ and >, the sides of
a top-level = or ↔, and redundant outer parentheses.

Variables are told apart by colour refinement (the first rounds of Weisfeiler and Leman 1968): a variable's colour
is where it occurs, first with all variables alike, then with the colours so far. Being a summary of occurrences,
it does not depend on names or on the order of binders.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lean_finder.audit.minhash import mix

_TOKEN = re.compile(r"[^\W\d][\w'₀-₉.!?]*|\d+|:=|<->|->|<=|>=|!=|=>|∃!|[^\s\w]|\w")
_SPELLINGS = {
    "->": "→",
    "<->": "↔",
    "=>": "↦",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "λ": "fun",
    "Nat": "ℕ",
    "Int": "ℤ",
    "Rat": "ℚ",
    "Real": "ℝ",
    "Complex": "ℂ",
    "Not": "¬",
    "And": "∧",
    "Or": "∨",
    "Iff": "↔",
}
_OPEN, _CLOSE = frozenset("({[⦃⟨"), frozenset(")}]⦄⟩")
_BINDERS = frozenset(("∀", "∃", "fun", "λ", "∑", "∏", "⋃", "⋂", "⨆", "⨅", "∫", "Σ", "Π", "∃!"))
_UNIVERSE = re.compile(r"\b(Type|Sort)\s*(?:\*|_|[uvw][₀-₉\d']*|\([^()]*\)|\.\{[^}]*\})")
_DECLARATION = re.compile(
    r"^\s*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable|nonrec)\s+)*(?:theorem|lemma|example|axiom|def|instance)\s+"
    r"(?:[^\s:({\[⦃]+)?"
)
_PROOF = re.compile(r":=\s*(?:by\b|sorry\b|fun\b|⟨|[\w(]).*$|:=\s*$", re.DOTALL)
#: An identifier that Lean binds by itself when nothing else does: one letter, perhaps with a subscript or prime.
_AUTO_BOUND = re.compile(r"[^\W\d_][₀-₉0-9']*")
_VARIABLE = "·"
#: Token numbers of a sketch that are no token: any variable, end of a part; real tokens start at `_FIRST`.
_ALIKE, _END, _FIRST = 0, 1, 2
_ROUNDS = 3


@dataclass(frozen=True)
class Statement:
    """A statement taken apart.

    Attributes:
        parts: token lists: the type of every binder (with `owners`), then the conclusion.
        owners: name bound by each binder part; "" for an anonymous one; the conclusion has none.
        variables: every bound name.
    """

    parts: tuple[tuple[str, ...], ...]
    owners: tuple[str, ...]
    variables: frozenset[str]

    @property
    def size(self) -> int:
        """Tokens in all parts."""
        return sum(len(part) for part in self.parts)

    def same_key(self) -> str:
        """Equal exactly for statements that differ only in the ways named at the top of this module."""
        colours = dict.fromkeys(self.variables, _VARIABLE)
        for _ in range(_ROUNDS):
            colours = self._refine(colours)
        painted = [_paint(part, colours) for part in self.parts]
        return " | ".join([*sorted(painted[:-1]), "⊢", painted[-1]])

    def _refine(self, colours: dict[str, str]) -> dict[str, str]:
        seen: dict[str, list[str]] = {name: [] for name in self.variables}
        for number, part in enumerate(self.parts):
            role = "conclusion" if number == len(self.parts) - 1 else "binder"
            sides = _sides(part)
            text = _paint(part, colours)
            for side in sides:
                # The place counts from the start of a side, so that swapping two sides changes nothing.
                own = " ".join(colours.get(token, token) for token in side)
                for place, token in enumerate(side):
                    if token in seen:
                        seen[token].append(f"{role} {place} {own} in {text}")
            if number < len(self.owners) and self.owners[number] in seen:
                seen[self.owners[number]].append(f"type {text}")
        return {name: "v" + _digest([colours[name], *sorted(places)]) for name, places in seen.items()}


@dataclass(frozen=True)
class Sketches:
    """What a fast look at many statements needs of them.

    Attributes:
        constants: (n,) a hash of the tokens that renaming and reordering keep: equal for equal statements.
        shingles: hashes of the runs of three tokens inside each part, variables made alike, statement by statement.
        offsets: (n + 1,) where each statement starts in `shingles`; every statement has at least one.
        sizes: (n,) tokens of each statement.
    """

    constants: NDArray[np.uint64]
    shingles: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def of(self, statement: int) -> NDArray[np.uint64]:
        """Distinct shingles of one statement, sorted."""
        return np.unique(self.shingles[self.offsets[statement] : self.offsets[statement + 1]])

    def take(self, statements: NDArray[np.int64]) -> Sketches:
        """The given statements only, in the given order."""
        sizes = np.diff(self.offsets)[statements]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - self.offsets[statements], sizes)
        return Sketches(self.constants[statements], self.shingles[place], offsets, self.sizes[statements])


def sketch(statements: Sequence[tuple[str, str]]) -> Sketches:
    """Sketch statements.

    Args:
        statements: (signature, variables) of each.
    """
    tokens, kept, ends = array("q"), array("b"), array("q", [0])
    numbers: dict[str, int] = {}
    sizes = array("q")
    for signature, variables in statements:
        statement = parse_statement(signature, variables)
        bound = statement.variables
        for part in statement.parts:
            # Two ends before every part keep each run of three apart from other parts, so their order does not matter.
            tokens.extend((_END, _END))
            kept.extend((0, 0))
            for token in part:
                if token in bound:
                    tokens.append(_ALIKE)
                    kept.append(0)
                    continue
                number = numbers.get(token)
                if number is None:
                    number = numbers[token] = zlib.crc32(token.encode()) + _FIRST
                tokens.append(number)
                kept.append(token[0].isalpha())
        ends.append(len(tokens))
        sizes.append(statement.size)
    offsets = np.array(ends, dtype=np.int64)
    mixed = mix(np.array([*tokens, _END, _END], dtype=np.uint64))
    # A sum of mixed hashes forgets order and keeps multiplicity.
    sums = np.zeros(len(tokens) + 1, dtype=np.uint64)
    np.cumsum(mixed[:-2] * np.array(kept, dtype=np.uint64), out=sums[1:])
    shingles = mix(mix(mix(mixed[:-2]) ^ mixed[1:-1]) ^ mixed[2:])
    return Sketches(sums[offsets[1:]] - sums[offsets[:-1]], shingles, offsets, np.array(sizes, dtype=np.int64))


def join_sketches(parts: Sequence[Sketches]) -> Sketches:
    """Sketches of one statement list after another."""
    steps = [np.diff(part.offsets) for part in parts]
    return Sketches(
        np.concatenate([part.constants for part in parts]),
        np.concatenate([part.shingles for part in parts]),
        np.concatenate([[0], np.cumsum(np.concatenate(steps))]).astype(np.int64),
        np.concatenate([part.sizes for part in parts]),
    )


def bare(declaration: str) -> str:
    """Binders, colon and type of a declaration that may come with keyword, name and proof, on one line."""
    return " ".join(_DECLARATION.sub("", _PROOF.sub("", declaration)).split())


def parse_statement(signature: str, variables: str = "") -> Statement:
    """Take a signature apart.

    Args:
        signature: binders, a colon and the type; a whole declaration is also taken, see `bare`.
        variables: further binders in scope.
    """
    text = _UNIVERSE.sub(r"\1", f"{variables} {bare(signature)}")
    tokens = [_SPELLINGS.get(token, token) for token in _TOKEN.findall(text)]
    parts: list[list[str]] = []
    owners: list[str] = []
    rest = _take_binders(tokens, parts, owners)
    rest = rest[1:] if rest[:1] == [":"] else rest
    _peel(rest, parts, owners)
    bound = {name for name in owners if name} | {name for part in parts for name in _local_names(part)}
    bound |= {token for part in parts for token in part if _AUTO_BOUND.fullmatch(token)}
    split = [_split_projections(part, bound) for part in parts]
    return Statement(tuple(map(tuple, split)), tuple(owners), frozenset(bound))


def _take_binders(tokens: list[str], parts: list[list[str]], owners: list[str]) -> list[str]:
    """Move leading binder groups into `parts`; return what follows them."""
    place = 0
    while place < len(tokens) and tokens[place] in "({[⦃":
        end = _closing(tokens, place)
        _add_group(tokens[place], tokens[place + 1 : end], parts, owners)
        place = end + 1
    return tokens[place:]


def _add_group(bracket: str, inner: list[str], parts: list[list[str]], owners: list[str]) -> None:
    colon = _top_level(inner, ":")
    if colon is None:
        names, kind = ([""], inner) if bracket == "[" else (inner, [])
    else:
        names, kind = inner[:colon], inner[colon + 1 :]
        if ":=" in kind:
            kind = kind[: kind.index(":=")]
    for name in names or [""]:
        owners.append("" if name == "_" or bracket == "[" else name)
        parts.append(_tidy(kind))


def _peel(rest: list[str], parts: list[list[str]], owners: list[str]) -> None:
    """Hypotheses after the colon (∀ binders, A → B) become binders; the last part is what remains."""
    while True:
        rest = _tidy(rest)
        if rest[:1] == ["∀"] and rest[1:2] and rest[1] in "({[⦃":
            comma = _top_level(rest, ",")
            if comma is not None and not _take_binders(rest[1:comma], [], []):
                _take_binders(rest[1:comma], parts, owners)
                rest = rest[comma + 1 :]
                continue
        arrow = _top_level(rest, "→")
        if rest[:1] and rest[0] not in _BINDERS and arrow is not None and _top_level(rest, "↔") is None:
            owners.append("")
            parts.append(_tidy(rest[:arrow]))
            rest = rest[arrow + 1 :]
            continue
        parts.append(rest)
        return


def _tidy(tokens: list[str]) -> list[str]:
    """Without parentheses around the whole or around one token, and with ≥, > turned round."""
    while tokens[:1] == ["("] and _closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    out: list[str] = []
    for place, token in enumerate(tokens):
        lone_open = token == "(" and tokens[place + 2 : place + 3] == [")"]
        lone_close = token == ")" and place >= 2 and tokens[place - 2] == "("
        if not lone_open and not lone_close:
            out.append(token)
    for wide, narrow in (("≥", "≤"), (">", "<")):
        place_of = _top_level(out, wide)
        if place_of is not None and not any(token in _BINDERS or token in "→↔∧∨¬," for token in out):
            out = [*out[place_of + 1 :], narrow, *out[:place_of]]
    return out


def _sides(part: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Left side, sign and right side of a part whose outermost sign is ↔ or =; else the part alone."""
    for sign in ("↔", "="):
        place = _top_level(part, sign)
        if place is not None and part[0] not in _BINDERS:
            return [part[:place], part[place:][:1], part[place + 1 :]]
    return [part]


def _paint(part: tuple[str, ...], colours: dict[str, str]) -> str:
    """The part with variables as their colours, its two sides in sorted order."""
    painted = [" ".join(colours.get(token, token) for token in side) for side in _sides(part)]
    if len(painted) == 3 and painted[0] > painted[2]:
        painted.reverse()
    return " ".join(painted)


def _local_names(tokens: list[str]) -> Iterable[str]:
    """Names bound inside a term: after ∀, ∃, fun, ∑, … up to the colon, comma, ∈ or arrow."""
    for place, token in enumerate(tokens):
        if token in _BINDERS or (token == "{" and tokens[place + 2 : place + 3] in (["|"], [":"])):
            for name in tokens[place + 1 :]:
                if name in _OPEN:
                    continue
                if not name[0].isalpha():
                    break
                yield name


def _split_projections(part: list[str], bound: set[str]) -> list[str]:
    """`h.left` of a bound `h` as two tokens, so that renaming `h` keeps the rest."""
    out: list[str] = []
    for token in part:
        head, dot, tail = token.partition(".")
        out.extend([head, "." + tail] if dot and head in bound else [token])
    return out


def _closing(tokens: list[str], start: int) -> int:
    depth = 0
    for place in range(start, len(tokens)):
        if tokens[place] in _OPEN:
            depth += 1
        elif tokens[place] in _CLOSE:
            depth -= 1
            if depth == 0:
                return place
    return len(tokens) - 1


def _top_level(tokens: Sequence[str], wanted: str) -> int | None:
    depth = 0
    for place, token in enumerate(tokens):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and token == wanted:
            return place
    return None


def _digest(parts: list[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=6).hexdigest()
