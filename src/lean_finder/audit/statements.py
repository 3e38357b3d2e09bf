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
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_TOKEN = re.compile(r"[^\W\d][\w'₀-₉.!?]*|\d+|:=|[^\s\w]|\w")
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

    def constants(self) -> str:
        """The tokens that renaming and reordering keep, as one key: a cheap test before `same_key`."""
        counts = Counter(
            token for part in self.parts for token in part if token not in self.variables and token[0].isalpha()
        )
        return " ".join(f"{token}:{count}" for token, count in sorted(counts.items()))

    def shingles(self, width: int = 3) -> set[str]:
        """Runs of `width` tokens of each part with the variables made alike."""
        found: set[str] = set()
        for part in self.parts:
            tokens = [_VARIABLE if token in self.variables else token for token in part]
            found.update(" ".join(tokens[start : start + width]) for start in range(max(1, len(tokens) - width + 1)))
        return found

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
            tokens = _order_sides(part, colours)
            text = " ".join(colours.get(token, token) for token in tokens)
            for place, token in enumerate(tokens):
                if token in seen:
                    seen[token].append(f"{role} {place} {text}")
            if number < len(self.owners) and self.owners[number] in seen:
                seen[self.owners[number]].append(f"type {text}")
        return {name: "v" + _digest([colours[name], *sorted(places)]) for name, places in seen.items()}


def parse_statement(signature: str, variables: str = "") -> Statement:
    """Take a signature apart.

    Args:
        signature: binders, a colon and the type, on one line; a whole declaration (keyword, name, proof) is also taken.
        variables: further binders in scope.
    """
    text = _DECLARATION.sub("", _PROOF.sub("", signature))
    text = _UNIVERSE.sub(r"\1", f"{variables} {text}")
    tokens = _TOKEN.findall(text)
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
    """Hypotheses after the colon (∀ binders, A → B) become binders like those before it; the last part is what remains."""
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


def _order_sides(part: tuple[str, ...], colours: dict[str, str]) -> list[str]:
    """The part with the sides of its top-level ↔ or = in sorted order of their painted text."""
    tokens = list(part)
    for sign in ("↔", "="):
        place = _top_level(tokens, sign)
        if place is not None and not any(token in _BINDERS for token in tokens[:1]):
            left, right = tokens[:place], tokens[place + 1 :]
            painted = [" ".join(colours.get(token, token) for token in side) for side in (left, right)]
            return tokens if painted[0] <= painted[1] else [*right, sign, *left]
    return tokens


def _paint(part: tuple[str, ...], colours: dict[str, str]) -> str:
    return " ".join(colours.get(token, token) for token in _order_sides(part, colours))


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


def _top_level(tokens: list[str], wanted: str) -> int | None:
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
