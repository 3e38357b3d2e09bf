"""Types as trees: just enough of Lean's term grammar to read what an instance is about.

Application, arrows, quantifiers, lambdas, subtypes and any notation whose declaration was seen. What is not
understood becomes a hole; nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lean_finder.corpus.syntax import NAME, NAME_RE, drop_universes, plain_name

_DEPTH_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Node:
    """A term: kind `const`, `local`, `app`, `forall`, `lambda`, `sort`, `number` or `hole`.

    Attributes:
        kind: as above; a `forall` has the domain's types and then the body as parts.
        text: name of a constant or variable, `Prop`/`Type`/`Sort`, a number.
        parts: function and arguments, or the parts of a binder.
        bound: names that a `forall` or `lambda` binds; none for an arrow.
    """

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    bound: tuple[str, ...] = ()


HOLE = Node("hole")


@dataclass(frozen=True, slots=True)
class Notation:
    """A notation: its precedence, items (`"symbol"` or placeholder) and the term it stands for."""

    precedence: int
    items: tuple[str, ...]
    term: str


def notation(pattern: str, term: str) -> Notation | None:
    """A notation from its facts: precedence and items separated by blanks, and the term; None if it has no symbol."""
    precedence, *items = pattern.split(" ")
    merged: list[str] = []
    for item in items:
        if merged and merged[-1].startswith('"') and not (len(merged[-1]) > 1 and merged[-1].endswith('"')):
            merged[-1] += " " + item
        else:
            merged.append(item)
    if not any(item.startswith('"') for item in merged):
        return None
    number = {"max": 1024, "arg": 1023, "min": 10}.get(precedence)
    return Notation(
        number if number is not None else int(precedence) if precedence.isdigit() else 0, tuple(merged), term
    )


def _core(lines: str) -> list[Notation]:
    found = []
    for line in lines.strip().splitlines():
        precedence, symbol, term = line.split()
        found.append(Notation(int(precedence), ("a", f'"{symbol}"', "b"), f"{term} a b"))
    return found


#: Binary notations of Lean's core library: precedence, symbol, constant.
CORE: list[Notation] = _core(
    """
    35 × Prod
    30 ⊕ Sum
    35 ×' PProd
    30 ⊕' PSum
    50 = Eq
    50 ≠ Ne
    50 ≤ LE.le
    50 < LT.lt
    50 ≥ GE.ge
    50 > GT.gt
    50 ∈ Membership.mem
    50 ∣ Dvd.dvd
    50 ⊆ HasSubset.Subset
    50 ≈ HasEquiv.Equiv
    35 ∧ And
    30 ∨ Or
    20 ↔ Iff
    90 ∘ Function.comp
    65 + HAdd.hAdd
    65 - HSub.hSub
    70 * HMul.hMul
    70 / HDiv.hDiv
    70 % HMod.hMod
    75 ^ HPow.hPow
    73 • HSMul.hSMul
    67 :: List.cons
    65 ++ HAppend.hAppend
    70 ∩ Inter.inter
    65 ∪ Union.union
    70 \\ SDiff.sdiff
    69 ⊓ Min.min
    68 ⊔ Max.max
    """
)
#: Core constants whose arguments' type is written into a name before the arguments.
TYPED = frozenset(
    [
        "LE.le",
        "LT.lt",
        "GE.ge",
        "GT.gt",
        "HAdd.hAdd",
        "HSub.hSub",
        "HMul.hMul",
        "HDiv.hDiv",
        "HMod.hMod",
        "HPow.hPow",
        "Eq",
        "Ne",
        "Dvd.dvd",
        "Min.min",
        "Max.max",
    ]
)
_NUMERIC = re.compile(r"\d")
_BINDER_END = {
    "∀": (",",),
    "∃": (",",),
    "Π": (",",),
    "Σ": (",",),
    "Σ'": (",",),
    "fun": ("↦", "=>"),
    "λ": ("↦", "=>", ","),
}
_BINDING = {"∃": "Exists", "Σ": "Sigma", "Σ'": "PSigma"}
_CLOSERS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⟦": "⟧"}
_STOPS = frozenset([")", "]", "}", "⟩", "⦄", "⟧", ",", "↦", "=>", ":=", "|", "//"])


@dataclass(slots=True)
class Grammar:
    """Notations in scope, indexed by the symbol that announces them."""

    infix: dict[str, list[Notation]] = field(default_factory=dict)
    leading: dict[str, list[Notation]] = field(default_factory=dict)
    binders: dict[str, str] = field(default_factory=dict)
    _tokens: re.Pattern[str] | None = None

    def add(self, item: Notation) -> None:
        """Make a notation known; an earlier one of the same first symbol and length keeps its place."""
        first = item.items[0]
        table, symbol = (
            (self.leading, first)
            if first.startswith('"')
            else (self.infix, item.items[1] if len(item.items) > 1 else "")
        )
        if not symbol.startswith('"'):
            return
        table.setdefault(symbol[1:-1], []).append(item)
        self._tokens = None

    def tokens(self, text: str) -> list[str]:
        """Tokens of a text, the longest known symbol first."""
        if self._tokens is None:
            symbols = set()
            for table in (self.infix, self.leading):
                for items in table.values():
                    for item in items:
                        for part in item.items:
                            if part.startswith('"'):
                                symbols.update(part[1:-1].split())
            symbols |= self.binders.keys()
            symbols -= {""}
            odd = sorted((s for s in symbols if not NAME_RE.fullmatch(s)), key=len, reverse=True)
            known = "|".join(map(re.escape, odd))
            first = "|".join(re.escape(s) for s in odd if NAME_RE.match(s)) or "(?!)"
            self._tokens = re.compile(rf"(?:{first})|{NAME}|\d+|=>|:=|//|Σ'|{known or '(?!)'}|⁻¹|\S")
        return self._tokens.findall(drop_universes(text))


def parse_term(text: str, grammar: Grammar, local: frozenset[str] | set[str]) -> Node:
    """The tree of a type.

    Args:
        text: one type, comments blanked.
        grammar: known notations.
        local: names of variables.
    """
    return _Parser(grammar.tokens(text), grammar, set(local)).expression(0)


class _Parser:
    def __init__(self, tokens: Sequence[str], grammar: Grammar, local: set[str], depth: int = 0) -> None:
        self.tokens = tokens
        self.grammar = grammar
        self.local = local
        self.at = 0
        self.depth = depth

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def expression(self, minimum: int) -> Node:
        self.depth += 1
        if self.depth > _DEPTH_LIMIT:
            self.at = len(self.tokens)
            return HOLE
        left = self.application()
        while token := self.peek():
            if token in _STOPS or token == ":":
                break
            if token == "→":
                if minimum > 25:
                    break
                self.at += 1
                bound = left.bound if left.kind == "ascription" else ()
                domain = left.parts if left.kind == "ascription" else (left,)
                self.local.update(bound)
                left = Node("forall", parts=(*domain, self.expression(25)), bound=bound)
                continue
            if token == "$" or token == "<|":
                self.at += 1
                left = _apply(left, self.expression(0))
                continue
            grown = self.infix(left, token, minimum)
            if grown is None:
                break
            left = grown
        self.depth -= 1
        return left.parts[0] if left.kind == "ascription" and left.parts else left

    def infix(self, left: Node, token: str, minimum: int) -> Node | None:
        for item in self.grammar.infix.get(token, ()):
            if item.precedence and item.precedence < minimum:
                continue
            start = self.at
            self.at += 1
            values = {item.items[0]: left}
            if self.fill(item, 2, values):
                return self.expand(item, values)
            self.at = start
        return None

    def fill(self, item: Notation, start: int, values: dict[str, Node]) -> bool:
        """Read the items of a notation after its announcing symbol."""
        for index in range(start, len(item.items)):
            part = item.items[index]
            if part.startswith('"'):
                for symbol in part[1:-1].split():
                    if self.peek() != symbol:
                        return False
                    self.at += 1
            else:
                last = index == len(item.items) - 1
                values[part] = self.expression(item.precedence + 1 if last else 0)
        return True

    def expand(self, item: Notation, values: Mapping[str, Node]) -> Node:
        if self.depth > _DEPTH_LIMIT // 2:
            return HOLE
        inner = _Parser(self.grammar.tokens(item.term), self.grammar, set(values), self.depth + 1)
        return substitute(inner.expression(0), values)

    def application(self) -> Node:
        head = self.atom()
        while (token := self.peek()) and self.starts_atom(token):
            head = _apply(head, self.atom())
        return head

    def starts_atom(self, token: str) -> bool:
        if token in _STOPS or token in {":", "→", "$", "<|"} or (token in self.grammar.infix and token not in _CLOSERS):
            return False
        return (
            bool(NAME_RE.match(token))
            or token in _CLOSERS
            or token in self.grammar.leading
            or token.isdigit()
            or token in "_↑↥@‹"
        )

    def atom(self) -> Node:
        token = self.peek()
        self.at += 1
        node = self.leading(token)
        if node is None:
            node = self.simple(token)
        while self.peek().startswith(".") and len(self.peek()) == 1 and NAME_RE.match(self.peek(1)):
            node = _apply(Node("const", f"?.{self.peek(1)}"), node)
            self.at += 2
        return node

    def leading(self, token: str) -> Node | None:
        if token in self.local:
            return None
        for item in self.grammar.leading.get(token, ()):
            start = self.at
            values: dict[str, Node] = {}
            ahead = item.items[0][1:-1].split()[1:]
            if [self.peek(index) for index in range(len(ahead))] == ahead:
                self.at += len(ahead)
                if self.fill(item, 1, values):
                    return self.expand(item, values)
            self.at = start
        return None

    def simple(self, token: str) -> Node:
        if token in {"Type", "Sort"}:
            if (
                self.peek() == "*"
                or self.peek() in {"u", "v", "w", "_", "max"}
                or re.fullmatch(r"[uvw][₀-₉'\d]*|\d", self.peek())
            ):
                self.at += 1
            elif self.peek() == "(":
                self.skip_bracket()
            return Node("sort", token)
        if token == "Prop":
            return Node("sort", "Prop")
        if token in _BINDER_END or token in self.grammar.binders:
            return self.binder(token)
        if token == "(":
            return self.parenthesis()
        if token == "{":
            return self.braces()
        if token in {"[", "⟨", "⦃", "⟦"}:
            self.at -= 1
            self.skip_bracket()
            return HOLE
        if token in {"↑", "↥", "⇑"}:
            return Node("app", "", (Node("const", "↥"), self.atom()))
        if token == "@":
            return self.atom()
        if token in {"¬", "-"}:
            return _apply(Node("const", "Not" if token == "¬" else "Neg.neg"), self.expression(40))
        if token.isdigit():
            return Node("number", token)
        match = NAME_RE.fullmatch(token)
        if match is None:
            return HOLE
        head, dot, rest = token.partition(".")
        if head in self.local:
            node = Node("local", head)
            if dot:
                for name in rest.split("."):
                    node = _apply(Node("const", f"?.{name}"), node)
            return node
        return Node("const", plain_name(token)) if token != "_" else HOLE

    def skip_bracket(self) -> None:
        depth = 0
        while token := self.peek():
            self.at += 1
            if token in _CLOSERS:
                depth += 1
            elif token in _CLOSERS.values():
                depth -= 1
                if depth <= 0:
                    return

    def parenthesis(self) -> Node:
        start = self.at
        names = []
        while NAME_RE.fullmatch(self.peek()) and "." not in self.peek():
            names.append(self.peek())
            self.at += 1
        if self.peek() == ":" and names:
            self.at += 1
            type_ = self.expression(0)
            self.close(")")
            if self.peek() == "→":
                return Node("ascription", parts=(type_,), bound=tuple(names))
            # `(x : T)` as a term is x, seen at type T.
            self_at, self.at = self.at, start
            inner = self.expression(0)
            self.at = self_at
            return inner
        self.at = start
        inner = self.expression(0)
        if self.peek() == ":":
            self.at += 1
            self.expression(0)
        while self.peek() == ",":
            self.at += 1
            inner = _apply(_apply(Node("const", "Prod.mk"), inner), self.expression(0))
        self.close(")")
        return inner

    def braces(self) -> Node:
        names = []
        start = self.at
        while NAME_RE.fullmatch(self.peek()):
            names.append(self.peek())
            self.at += 1
        type_: Node | None = None
        if self.peek() == ":" and names:
            self.at += 1
            type_ = self.expression(0)
        if self.peek() in {"//", "|"} and len(names) == 1:
            head = "Subtype" if self.peek() == "//" else "setOf"
            self.at += 1
            self.local.update(names)
            body = self.expression(0)
            self.close("}")
            parts = (
                Node("const", head),
                *((type_,) if type_ else ()),
                Node("lambda", parts=(body,), bound=tuple(names)),
            )
            return Node("app", "", parts)
        self.at = start - 1
        self.skip_bracket()
        return HOLE

    def close(self, bracket: str) -> None:
        depth = 0
        while token := self.peek():
            self.at += 1
            if depth == 0 and token == bracket:
                return
            if token in _CLOSERS:
                depth += 1
            elif token in _CLOSERS.values():
                depth -= 1

    def binder(self, word: str) -> Node:
        """`∀ x y : T, body`, `∀ (x : T), body`, `fun x ↦ body`: domain types as written, then the body."""
        ends = _BINDER_END.get(word, (",",))
        bound: list[str] = []
        types: list[Node] = []
        while (token := self.peek()) and token not in ends:
            if token in "({[⦃":
                self.at += 1
                names = []
                mark = self.at
                while NAME_RE.fullmatch(self.peek()) and "." not in self.peek():
                    names.append(self.peek())
                    self.at += 1
                if self.peek() == ":" and names:
                    self.at += 1
                    types.append(self.expression(0))
                    bound.extend(names)
                    self.local.update(names)
                else:
                    self.at = mark
                    types.append(self.expression(0))
                self.close(_CLOSERS[token])
            elif token == ":":
                self.at += 1
                types.append(self.expression(0))
            elif token in {"∈", "<", "≤", ">", "≥", "⊆", "≠"}:
                self.at += 1
                self.expression(51)
            else:
                self.at += 1
                if NAME_RE.fullmatch(token):
                    bound.append(token)
                    self.local.add(token)
        self.at += 1
        body = self.expression(0)
        if word in {"fun", "λ"}:
            return Node("lambda", parts=(body,), bound=tuple(bound))
        head = _BINDING.get(word) or self.grammar.binders.get(word)
        if head:
            return _apply(Node("const", head), Node("lambda", parts=(body,), bound=tuple(bound)))
        return Node("forall", parts=(*types, body), bound=tuple(bound) or ("_",))


def _apply(function: Node, argument: Node) -> Node:
    if argument.kind == "ascription":
        argument = argument.parts[0] if argument.parts else HOLE
    if function.kind == "app":
        return Node("app", "", (*function.parts, argument))
    return Node("app", "", (function, argument))


def substitute(node: Node, values: Mapping[str, Node]) -> Node:
    """The tree with variables replaced by the terms given for them."""
    if node.kind == "local" and node.text in values:
        return values[node.text]
    if not node.parts:
        return node
    parts = [substitute(part, values) for part in node.parts]
    if node.kind == "app" and parts[0].kind == "app":
        parts = [*parts[0].parts, *parts[1:]]
    return Node(node.kind, node.text, tuple(parts), node.bound)


def mentions(node: Node, names: frozenset[str] | set[str]) -> bool:
    """A variable of these names occurs in the tree."""
    if node.kind == "local":
        return node.text in names
    return any(mentions(part, names) for part in node.parts)


def constants(node: Node) -> list[str]:
    """Names of the constants of a tree, in the order of reading."""
    if node.kind == "const":
        return [node.text]
    return [name for part in node.parts for name in constants(part)]
