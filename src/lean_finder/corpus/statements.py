"""One written form for statements that differ only in names of bound variables, notation and grouping of binders.

Equal normal forms mean: the same statement up to bound names, binder brackets, order and grouping of
binders, ASCII or Unicode notation, universe names, and `a ≥ b` for `b ≤ a`. It is a comparison of texts:
what only an elaborator can see (implicit arguments, unfolding) stays different.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from lean_finder.corpus.syntax import NAME, NAME_RE, Binder, drop_universes, plain_name, read_binders, split_signature

_TOKEN = re.compile(rf"{NAME}|\d+(?:\.\d+)?|:=|<->|->|=>|<=|>=|!=|==|/\\|\\/|<\||\|>|⁻¹|\S")
_KEYWORDS = frozenset(
    [
        "fun",
        "let",
        "have",
        "if",
        "then",
        "else",
        "in",
        "with",
        "by",
        "from",
        "show",
        "at",
        "do",
        "match",
        "Type",
        "Sort",
        "Prop",
        "true",
        "false",
    ]
)
_SPELLINGS = {
    "->": "→",
    "<->": "↔",
    "=>": "↦",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "/\\": "∧",
    "\\/": "∨",
    "λ": "fun",
    "Nat": "ℕ",
    "Int": "ℤ",
    "Rat": "ℚ",
    "Real": "ℝ",
    "Complex": "ℂ",
    "Not": "¬",
    "⟶": "⟶",
    "<|": "$",
    "Iff": "↔",
    "And": "∧",
    "Or": "∨",
}
_UNIVERSE = re.compile(r"\b(Type|Sort)(?:\*|\s+(?:\([^()]*\)|[a-z_]\w*\b)|(?=\W|$))")
_BINDS = frozenset(
    {"∀", "∃", "∃!", "fun", "∑", "∏", "∫", "⋃", "⋂", "⨆", "⨅", "Σ", "Π", "∃ᶠ", "∀ᶠ", "⨁", "⨂", "∐", "∫⁻"}
)
_BIND_ENDS = frozenset({",", "↦", "∈", ":", "in", "<", "≤", "≥", ">", "⊆", "≠", "∉", ")", "→"})
_KEY_TOKEN = re.compile(
    r"Type\*|Sort\*|<->|->|<=|>=|!=|/\\|\\/|[^\W\d_][\w'.«»]{3,}|[^\w\s(){}\[\]⦃⦄:,.'⟨⟩↑⇑!?·«»=<>\-]"
)
_BOUND = re.compile(
    r"[({⦃\[]\s*([^(){}\[\]⦃⦄:]+?)\s*:|(?:[∀∃λ∑∏⋃⋂⨆⨅∫⨁⨂Σ∐⁻!ᶠᵐ]|\bfun)\s*([^,:=↦∈<≤>≥≠⊆(){}\[\]]+)|^(\s*(?:[\w'₀-₉]+\s+)+):"
)
_KEY_SPELLINGS = {"->": "→", "<->": "↔", "<=": "≤", ">=": "≤", "≥": "≤", "!=": "≠", "/\\": "∧", "\\/": "∨"}
_KEY_IGNORED = frozenset(
    [
        "Type*",
        "Sort*",
        "Type",
        "Sort",
        "Prop",
        "∀",
        "↦",
        "Real",
        "Complex",
        "$",
        "<|",
        ";",
        "then",
        "else",
        "have",
        "with",
        "show",
        "from",
    ]
)
_KEY_LETTERS = 4
_FLIPS = {"≥": "≤", ">": "<"}


def normal_form(signature: str, variables: str = "", resolve: Callable[[str], str] | None = None) -> str:
    """The normal form of a statement, tokens separated by blanks.

    Args:
        signature: binders and type, as in `Declaration.signature`.
        variables: binders of section variables it uses, as in `Declaration.variables`.
        resolve: full name of a constant as written; None leaves constants as they are.
    """
    return Statement(signature, variables, resolve).form()


class Statement:
    """A statement on the way to its normal form; `body` is much cheaper than `form`.

    Args:
        signature, variables, resolve: as for `normal_form`.

    Attributes:
        body: normal form of what is claimed, without binders: equal normal forms have equal bodies.
    """

    def __init__(self, signature: str, variables: str = "", resolve: Callable[[str], str] | None = None) -> None:
        own, conclusion = split_signature(drop_universes(signature))
        outer = _section_binders(variables) if variables else ()
        self._binders, conclusion = _peel(_single([*outer, *own]), conclusion)
        self._resolve = resolve
        self._names: dict[str, str] = {}
        self._bound = {name for name, _ in self._binders if name}
        self.body = " ".join(_renamed(_tokens(conclusion), self._names, self._bound, resolve))

    def form(self) -> str:
        """The normal form."""
        typed = [(name, _tokens(type_)) for name, type_ in self._binders]
        hypotheses = _ordered(typed, dict(self._names), self._bound, self._resolve)
        return " ; ".join([*hypotheses, f"⊢ {self.body}"])


@lru_cache(maxsize=20_000)
def _section_binders(variables: str) -> tuple[Binder, ...]:
    """Binders of section variables, which many declarations share."""
    return tuple(read_binders(drop_universes(variables))[0])


@lru_cache(maxsize=200_000)
def _is_name(token: str) -> bool:
    return NAME_RE.fullmatch(token) is not None


def statement_key(signature: str, variables: str = "") -> str:
    """A cheap key that is equal for signatures of equal normal form: which operators and constants occur at all.

    Only names that are not bound and not short count, by their last part.
    """
    text = f"{variables} {signature}"
    bound = {name for groups in _BOUND.findall(text) for group in groups for name in group.split()}
    words = set()
    for token in set(_KEY_TOKEN.findall(text)):
        token = _KEY_SPELLINGS.get(token, token)
        if token in _KEY_IGNORED:
            continue
        if token[0].isalpha():
            # A name's last part survives qualification; a short one is not worth the risk of being a variable.
            head, _, last = token.rpartition(".")
            if len(last) >= _KEY_LETTERS and (head or last).split(".")[0] not in bound:
                words.add(last.strip("»"))
        else:
            words.add(token)
    return " ".join(sorted(words))


def shape(form: str) -> str:
    """A normal form without its constants: only structure, bound variables and punctuation are left."""
    return " ".join(
        "c" if NAME_RE.fullmatch(t) and not re.fullmatch(r"v\d+", t) else _shape_symbol(t) for t in form.split()
    )


def shingles(text: str, size: int = 3) -> frozenset[str]:
    """All runs of `size` consecutive tokens of a normal form (the whole text if it is shorter)."""
    tokens = text.split()
    if len(tokens) <= size:
        return frozenset({" ".join(tokens)})
    return frozenset(" ".join(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _shape_symbol(token: str) -> str:
    return token if token in "()[]{},;:⊢∀∃→" or token.startswith("v") or token.isdigit() else "o"


def _single(binders: Sequence[Binder]) -> list[tuple[str, str]]:
    """(name, type) for each bound name; an anonymous instance has name ""."""
    result: list[tuple[str, str]] = []
    for binder in binders:
        if binder.names:
            result.extend((name, binder.type) for name in binder.names)
        else:
            result.append(("", binder.type))
    return result


def _peel(binders: list[tuple[str, str]], conclusion: str) -> tuple[list[tuple[str, str]], str]:
    """Move leading `∀ x y : T,` and `∀ (x : T),` of the conclusion to the binders."""
    while conclusion.startswith("∀ "):
        rest = conclusion[2:].lstrip()
        groups, position = read_binders(rest)
        after = rest[position:].lstrip()
        if after.startswith(",") and groups:
            binders = binders + _single(groups)
            conclusion = after[1:].lstrip()
            continue
        comma = _top_comma(after)
        if after.startswith(":") and comma > 0 and all(not group.type for group in groups):
            type_ = after[1:comma].strip()
            binders = binders + [(name, type_) for group in groups for name in group.names]
            conclusion = after[comma + 1 :].lstrip()
            continue
        break
    return binders, conclusion


def _top_comma(text: str) -> int:
    depth = 0
    for at, char in enumerate(text):
        if char in "([{⟨⦃":
            depth += 1
        elif char in ")]}⟩⦄":
            depth -= 1
        elif char == "," and depth == 0:
            return at
    return -1


def _tokens(text: str) -> list[str]:
    text = _UNIVERSE.sub(r"\1", text)
    tokens = [_SPELLINGS.get(token, token) for token in _TOKEN.findall(text)]
    return _unflipped(tokens)


def _unflipped(tokens: list[str]) -> list[str]:
    """`a ≥ b` as `b ≤ a` where the relation is the outermost of the text (no other relation or binder beside it)."""
    depth = 0
    at = -1
    for index, token in enumerate(tokens):
        if token in "([{⟨⦃":
            depth += 1
        elif token in ")]}⟩⦄":
            depth -= 1
        elif depth == 0:
            if token in _FLIPS and at < 0:
                at = index
            elif token in _BINDS or token in {"→", "↔", "∧", "∨", "↦", ",", "=", "≤", "<", "≥", ">", "≠", "¬"}:
                return tokens
    if at < 0:
        return tokens
    return [*tokens[at + 1 :], _FLIPS[tokens[at]], *tokens[:at]]


def _renamed(
    tokens: Sequence[str], names: dict[str, str], bound: set[str], resolve: Callable[[str], str] | None
) -> list[str]:
    """Tokens with bound names replaced by v0, v1, … in order of first use, constants resolved."""
    local = set(bound)
    at = 0
    result = []
    while at < len(tokens):
        token = tokens[at]
        if token in _BINDS:
            look = at + 1
            while look < len(tokens) and tokens[look] not in _BIND_ENDS:
                if _is_name(tokens[look]) and "." not in tokens[look]:
                    local.add(tokens[look])
                look += 1
            result.append(token)
        elif _is_name(token):
            head, dot, rest = token.partition(".")
            if head in local:
                new = names.get(head)
                if new is None:
                    new = names[head] = f"v{len(names)}"
                result.append(new)
                if dot:
                    result.append(f".{rest}")
            elif token in _KEYWORDS:
                result.append(token)
            else:
                result.append(resolve(plain_name(token)) if resolve else plain_name(token))
        else:
            result.append(token)
        at += 1
    return result


def _ordered(
    typed: list[tuple[str, list[str]]],
    names: dict[str, str],
    bound: set[str],
    resolve: Callable[[str], str] | None,
) -> list[str]:
    """Binders in an order that does not depend on how they were written.

    First those that the conclusion names, in its order; each brings its type, which may name more. What is left
    (hypotheses nobody names) is sorted by its text with unknown names hidden, then named.
    """
    by_name = {name: tokens for name, tokens in typed if name}
    written: list[str] = []
    done: set[str] = set()

    def follow() -> None:
        """Write the binders of all names that have a number, in the order of the numbers."""
        at = 0
        while at < len(names):
            name = list(names)[at]
            at += 1
            if name in by_name and name not in done:
                done.add(name)
                new = names[name]
                written.append(f"{new} : {' '.join(_renamed(by_name[name], names, bound, resolve))}")

    follow()
    rest = [(name, tokens) for name, tokens in typed if name not in done]
    while rest:
        keyed = sorted(
            (" ".join(names.get(token, "_" if token in bound else token) for token in tokens), at)
            for at, (_, tokens) in enumerate(rest)
        )
        name, tokens = rest[keyed[0][1]]
        done.add(name)
        text = " ".join(_renamed(tokens, names, bound, resolve))
        written.append(f"_ : {text}")
        names.setdefault(name, f"v{len(names)}") if name and any(name in other for _, other in rest) else None
        follow()
        remaining = []
        for at, (other, other_tokens) in enumerate(rest):
            if at != keyed[0][1] and (not other or other not in done):
                remaining.append((other, other_tokens))
        rest = remaining
    return sorted(written)
