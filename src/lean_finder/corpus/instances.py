"""Names that Lean gives to anonymous instances.

Source of the scheme: Lean 4, `Lean/Elab/DeclNameGen.lean`. The type is read as a tree of constants: each constant's
last
part is written with a capital, every constant once, explicit and type arguments only; binders of the instance itself
that
its type does not depend on are added as `Of…`; the constants of the current namespace are left out; a name
that mentions nothing of this project ends in the project's name. Lean elaborates first; here implicit
arguments and coercions are reconstructed from the signatures in the corpus, which is right in the usual case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lean_finder.corpus.syntax import NAME_RE, Binder, plain_name, read_binders, split_signature
from lean_finder.corpus.terms import HOLE, TYPED, Grammar, Node, mentions, parse_term, substitute

Resolve = Callable[[str], str]

#: How many constants deep the types of arguments are followed.
_INFER_DEPTH = 3
_AUTO_BOUND = 2


@dataclass(frozen=True, slots=True)
class Head:
    """What the naming scheme needs to know of a constant: its binders in order, and its result type."""

    binders: tuple[Binder, ...]
    result: str


class Heads:
    """Binders and result types of constants, read from their signatures when first asked for.

    Args:
        signature_of: (section variables, signature) of a full name; None if the corpus does not declare it.
    """

    def __init__(self, signature_of: Callable[[str], tuple[str, str] | None]) -> None:
        self._signature_of = signature_of
        self._known: dict[str, Head | None] = {}
        self.asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def get(self, name: str) -> Head | None:
        """The head, or None if the corpus does not declare the name; `asked` remembers the question."""
        self.asked.add(name)
        if name not in self._known:
            found = self._signature_of(name)
            head = None
            if found is not None:
                outer, _ = read_binders(found[0]) if found[0] else ([], 0)
                own, result = split_signature(found[1])
                head = Head((*outer, *own), result)
            self._known[name] = head
        return self._known[name]


@dataclass(slots=True)
class Library:
    """Constants of the corpus as the scheme sees them.

    Attributes:
        heads: binders and result types.
        provides: class → classes that an instance of it brings (its ancestors).
        set_like: types whose elements are sets with a membership (`Subgroup`, `Finset`, …).
        carriers: bundled types, whose coercion to a type is their field `carrier`.
        project: root of the module names.
        asked: names whose place in the three tables was asked for.
    """

    heads: Heads
    provides: Mapping[str, frozenset[str]] = field(default_factory=dict)
    set_like: frozenset[str] = frozenset()
    carriers: frozenset[str] = frozenset()
    project: str = ""
    asked: set[str] = field(default_factory=set)

    def ancestors(self, name: str) -> frozenset[str]:
        """Classes that an instance of a class brings."""
        self.asked.add(name)
        return self.provides.get(name, frozenset())

    def is_set_like(self, name: str) -> bool:
        """Elements of the type are sets with a membership."""
        self.asked.add(name)
        return name in self.set_like

    def is_carrier(self, name: str) -> bool:
        """The type is bundled."""
        self.asked.add(name)
        return name in self.carriers


class InstanceNamer:
    """Names one anonymous instance."""

    def __init__(self, library: Library, grammar: Grammar, resolve: Resolve, namespace: str, variables: str) -> None:
        self.library = library
        self.grammar = grammar
        self.resolve = resolve
        self.namespace = namespace
        self.types: dict[str, str] = {}
        self.asked = 0
        for binder in read_binders(variables)[0] if variables else ():
            self.learn(binder)

    def learn(self, binder: Binder) -> None:
        for name in binder.names:
            self.types[name] = binder.type

    def name(self, signature: str) -> str:
        """`inst…`, without namespace and without a suffix against collisions."""
        binders, type_ = split_signature(signature)
        for binder in binders:
            self.learn(binder)
        seen: set[str] = set()
        used: set[str] = set()
        part = self.namespace
        while part:
            if part in self.library.heads:
                seen.add(part)
                used.add(part)
            part = part.rpartition(".")[0]
        tree = self.tree(type_)
        while tree.kind == "forall":
            names = tree.bound or ("",)
            for domain in tree.parts[:-1]:
                binders = [*binders, Binder("(", names if names != ("_",) else (), "", "")]
                del domain
            tree = tree.parts[-1]
        words = [self.words(tree, seen, used)]
        later = [tree]
        suffixes: list[str] = []
        for binder in reversed(binders):
            binder_tree = self.tree(binder.type) if binder.type else None
            if binder_tree is not None and not self.is_needed(binder, binder_tree, later):
                word = self.words(binder_tree, seen, used, top=True)
                if word:
                    suffixes.append("Of" + word)
            if binder_tree is not None:
                later.append(binder_tree)
        name = "inst" + "".join(words) + "".join(reversed(suffixes))
        if self.library.project and not any(constant in self.library.heads for constant in used):
            name += "_" + self.library.project[:1].lower() + self.library.project[1:]
        return name

    def tree(self, type_: str) -> Node:
        return self.full(parse_term(type_, self.grammar, set(self.types)))

    def full(self, node: Node) -> Node:
        """The tree with resolved constants; `A.field` of a constant A is read as the field applied to A."""
        if node.kind == "const":
            if node.text.startswith("?.") or node.text == "↥":
                return node
            return self.constant(node.text)
        if not node.parts:
            return node
        parts = [self.full(part) for part in node.parts]
        if node.kind == "app":
            if parts[0].kind == "app":
                parts = [*parts[0].parts, *parts[1:]]
            if parts[0].kind == "const" and parts[0].text.startswith("?.") and len(parts) > 1:
                field_name = self.projection(parts[0].text[2:], parts[1])
                parts = [Node("const", field_name), *parts[1:]]
        return Node(node.kind, node.text, tuple(parts), node.bound)

    def constant(self, ident: str) -> Node:
        full = self.resolve(ident)
        if full:
            return Node("const", full)
        head, dot, last = ident.rpartition(".")
        if dot:
            owner = self.resolve(head)
            if owner:
                return Node(
                    "app", "", (Node("const", self.projection(last, Node("const", owner))), Node("const", owner))
                )
        # A short lower-case word that is no constant is a variable bound by itself.
        return HOLE if len(ident) <= _AUTO_BOUND and not "A" <= ident[0] <= "Z" else Node("const", ident)

    def projection(self, last: str, owner: Node) -> str:
        """Full name of `owner.last`."""
        type_head = self.type_head(owner)
        candidate = f"{type_head}.{last}" if type_head else ""
        return candidate if candidate in self.library.heads else last

    def type_head(self, node: Node) -> str:
        """Full name of the constant that heads the type of a term, "" if unknown."""
        type_ = self.type_of(node, 0)
        if type_ is None:
            return ""
        head = type_.parts[0] if type_.kind == "app" else type_
        return head.text if head.kind == "const" else ""

    def words(self, node: Node, seen: set[str], used: set[str], top: bool = False) -> str:
        """The text of a tree: constants not seen before, in order."""
        if node.kind == "const":
            if node.text in seen:
                return ""
            seen.add(node.text)
            used.add(node.text)
            last = plain_name(node.text).rsplit(".", 1)[-1]
            return last[:1].upper() + last[1:]
        if node.kind == "sort":
            if node.text in seen:
                return ""
            seen.add(node.text)
            return node.text
        if node.kind == "number":
            return self.words(Node("const", "OfNat.ofNat"), seen, used) + self.words(Node("const", "Nat"), seen, used)
        if node.kind == "lambda":
            return self.words(node.parts[-1], seen, used)
        if node.kind == "forall":
            body = node.parts[-1]
            dependent = any(mentions(body, {name}) for name in node.bound)
            domains = "" if dependent else "".join(self.words(part, seen, used) for part in node.parts[:-1])
            rest = self.words(body, seen, used, top and not domains)
            return rest if top and not domains else "Forall" + domains + rest
        if node.kind == "app":
            return self.application(node, seen, used)
        return ""

    def application(self, node: Node, seen: set[str], used: set[str]) -> str:
        head, arguments = node.parts[0], node.parts[1:]
        if head.kind == "const" and head.text == "↥":
            return self.coerced(arguments[0], seen, used)
        text = self.words(head, seen, used)
        if head.kind == "const" and head.text in TYPED and arguments:
            text += self.operand_type(arguments, seen, used)
        if head.kind == "const" and head.text == "Membership.mem" and len(arguments) > 1:
            return (
                text
                + self.type_words(arguments[1], seen, used)
                + "".join(self.words(argument, seen, used) for argument in reversed(arguments))
            )
        known = self.library.heads.get(head.text) if head.kind == "const" else None
        if known is None:
            return text + "".join(self.words(argument, seen, used) for argument in arguments)
        implicit = self.implicit_types(known, arguments)
        rest = list(arguments)
        for binder in known.binders:
            for name in binder.names or ("",):
                if binder.bracket == "(" and rest:
                    argument = rest.pop(0)
                    is_type = binder.type.startswith(("Type", "Sort"))
                    text += self.coerced(argument, seen, used) if is_type else self.words(argument, seen, used)
                elif name in implicit:
                    text += self.words(implicit[name], seen, used)
        return text + "".join(self.words(argument, seen, used) for argument in rest)

    def implicit_types(self, known: Head, arguments: tuple[Node, ...], depth: int = 0) -> dict[str, Node]:
        """The implicit type arguments of a constant, read off the types of its explicit arguments."""
        wanted = {
            name
            for binder in known.binders
            if binder.bracket in "{⦃" and (binder.type.startswith(("Type", "Sort")) or "→ Type" in binder.type)
            for name in binder.names
        }
        found: dict[str, Node] = {}
        if not wanted or depth > _INFER_DEPTH:
            return found
        names = {name for binder in known.binders for name in binder.names}
        explicit = [binder.type for binder in known.binders if binder.bracket == "(" for _ in binder.names or ("",)]
        for type_, argument in zip(explicit, arguments, strict=False):
            if wanted - found.keys() and any(name in type_ for name in wanted):
                actual = self.type_of(argument, depth + 1)
                if actual is not None:
                    _match(self.full(parse_term(type_, self.grammar, names)), actual, wanted, found)
        return found

    def type_of(self, node: Node, depth: int) -> Node | None:
        """The type of a term as far as signatures tell it; implicit arguments that are unknown stay variables."""
        # Types mention terms whose types are asked for in turn; a shadowed name can make that a circle.
        if self.asked > _INFER_DEPTH or depth > _INFER_DEPTH:
            return None
        self.asked += 1
        try:
            if node.kind == "local":
                return self.tree(self.types[node.text]) if self.types.get(node.text) else None
            head, arguments = (node.parts[0], node.parts[1:]) if node.kind == "app" else (node, ())
            known = self.library.heads.get(head.text) if head.kind == "const" else None
            return self.result_type(known, arguments, depth) if known and known.result else None
        finally:
            self.asked -= 1

    def result_type(self, known: Head, arguments: tuple[Node, ...], depth: int) -> Node:
        names = {name for binder in known.binders for name in binder.names}
        explicit = [name for binder in known.binders if binder.bracket == "(" for name in binder.names or ("",)]
        values = dict(zip(explicit, arguments, strict=False))
        values.update(self.implicit_types(known, arguments, depth))
        return substitute(self.full(parse_term(known.result, self.grammar, names)), values)

    def coerced(self, node: Node, seen: set[str], used: set[str]) -> str:
        """A term in the place of a type: itself, or its coercion if it is a set, a set-like or a bundled object."""
        head = self.type_head(node)
        if head == "Set":
            return self.words(Node("const", "Set.Elem"), seen, used) + self.words(node, seen, used)
        if self.library.is_set_like(head):
            text = self.words(Node("const", "Subtype"), seen, used) + self.words(
                Node("const", "Membership.mem"), seen, used
            )
            return text + self.words(Node("const", head), seen, used) + self.words(node, seen, used)
        if self.library.is_carrier(head):
            return self.words(Node("const", f"{head}.carrier"), seen, used) + self.words(node, seen, used)
        return self.words(node, seen, used)

    def operand_type(self, arguments: tuple[Node, ...], seen: set[str], used: set[str]) -> str:
        for argument in arguments:
            if argument.kind == "local":
                return self.type_words(argument, seen, used)
        return self.words(Node("const", "Nat"), seen, used) if any(a.kind == "number" for a in arguments) else ""

    def type_words(self, node: Node, seen: set[str], used: set[str]) -> str:
        if node.kind == "local" and self.types.get(node.text):
            return self.words(self.tree(self.types[node.text]), seen, used)
        head = self.type_head(node)
        return self.words(Node("const", head), seen, used) if head else ""

    def is_needed(self, binder: Binder, tree: Node, later: list[Node]) -> bool:
        """The type or a later binder depends on this binder: by name, or as an instance that a class there asks for."""
        if binder.names and any(mentions(other, set(binder.names)) for other in later):
            return True
        if binder.bracket != "[":
            return False
        head = tree.parts[0] if tree.kind == "app" else tree
        offered = self.library.ancestors(head.text) | {head.text}
        variables = _locals(tree)
        return any(self.asks(other, offered, variables) for other in later)

    def asks(self, node: Node, offered: frozenset[str], variables: set[str]) -> bool:
        """Some constant in the tree has an instance argument that a class in `offered` over `variables` gives."""
        if node.kind in {"app", "const"}:
            head, arguments = (node.parts[0], node.parts[1:]) if node.kind == "app" else (node, ())
            known = self.library.heads.get(head.text) if head.kind == "const" else None
            if known is not None and self.head_asks(known, arguments, offered, variables):
                return True
        return any(self.asks(part, offered, variables) for part in node.parts)

    def head_asks(self, known: Head, arguments: tuple[Node, ...], offered: frozenset[str], variables: set[str]) -> bool:
        explicit = [name for binder in known.binders if binder.bracket == "(" for name in binder.names or ("",)]
        given = {name: _locals(argument) for name, argument in zip(explicit, arguments, strict=False)}
        for binder in known.binders:
            if binder.bracket != "[":
                continue
            words = NAME_RE.findall(binder.type)
            if not words or (words[0] not in offered and not any(c.rsplit(".", 1)[-1] == words[0] for c in offered)):
                continue
            speaks_of = set().union(*(given[word] for word in words[1:] if word in given)) if given else set()
            if speaks_of <= variables:
                return True
        return False


def _match(pattern: Node, actual: Node, wanted: set[str], found: dict[str, Node]) -> None:
    """Assign the wanted variables of a pattern so that it becomes the actual term."""
    if pattern.kind == "local" and pattern.text in wanted:
        found.setdefault(pattern.text, actual)
    elif pattern.kind == actual.kind and len(pattern.parts) == len(actual.parts):
        for left, right in zip(pattern.parts, actual.parts, strict=True):
            _match(left, right, wanted, found)


def _locals(node: Node) -> set[str]:
    if node.kind == "local":
        return {node.text}
    return set().union(*(_locals(part) for part in node.parts)) if node.parts else set()


def closure(direct: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """For every key, all that can be reached from it."""
    result: dict[str, frozenset[str]] = {}
    for start in direct:
        found: set[str] = set()
        pending = list(direct[start])
        while pending:
            item = pending.pop()
            if item not in found:
                found.add(item)
                pending.extend(direct.get(item, ()))
        result[start] = frozenset(found)
    return result
