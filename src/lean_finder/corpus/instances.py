"""Names that Lean gives to anonymous instances.

Source of the scheme: Lean 4, `Lean/Elab/DeclNameGen.lean`. The type is read as a tree of constants: each constant's last
part is written with a capital, every subterm once, explicit and type arguments only; hypotheses about other things are
added as `Of…`. Without elaboration implicit arguments are unknown; what is guessed here is the name in the usual case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lean_finder.corpus.syntax import NAME, Binder, closing, drop_universes, plain_name, split_signature

_TOKEN = re.compile(rf"{NAME}|\d+|[(\[{{⟨⦃⟦)\]}}⟩⦄⟧,]|:=|[^\s\w()\[\]{{}}⟨⟩,]+|\S")

#: Symbols of core and of the common algebra of types, and the constants they stand for.
CORE_NOTATION = {
    "×": "Prod", "⊕": "Sum", "×'": "PProd", "⊕'": "PSum", "+": "HAdd.hAdd", "*": "HMul.hMul", "-": "HSub.hSub", "/": "HDiv.hDiv",
    "≤": "LE.le", "<": "LT.lt", "≥": "GE.ge", ">": "GT.gt", "=": "Eq", "≠": "Ne", "∈": "Membership.mem", "∧": "And",
    "∨": "Or", "↔": "Iff", "∣": "Dvd.dvd", "⊆": "HasSubset.Subset", "∘": "Function.comp", "¬": "Not", "%": "HMod.hMod",
    "^": "HPow.hPow", "::": "List.cons", "++": "HAppend.hAppend", "•": "HSMul.hSMul", "∩": "Inter.inter",
    "∪": "Union.union", "⊓": "Min.min", "⊔": "Max.max",
}


def instance_name(
    signature: str,
    variables: frozenset[str],
    namespace: str,
    resolve: Callable[[str], str],
    notation: Mapping[str, str],
) -> str:
    """`inst…` as Lean would name it (without namespace and without a suffix for collisions).

    Args:
        signature: binders and type.
        variables: names of the section variables in scope.
        namespace: current namespace; constants that are its prefixes are not mentioned.
        resolve: full name of a constant as written.
        notation: symbol to constant.
    """
    binders, type_ = split_signature(signature)
    local = set(variables)
    for binder in binders:
        local.update(binder.names)
    seen: set[str] = set()
    part = namespace
    while part:
        seen.add(part)
        part = part.rpartition(".")[0]
    words = _words(drop_universes(type_), local, seen, resolve, notation)
    text = "inst" + "".join(words)
    del binders
    return text


def _words(
    type_: str, local: set[str], seen: set[str], resolve: Callable[[str], str], notation: Mapping[str, str]
) -> list[str]:
    words = []
    for token in _TOKEN.findall(type_):
        if token in notation:
            full = notation[token]
        elif re.match(NAME, token) and token.split(".")[0] not in local:
            if token in {"fun", "Type", "Sort"}:
                if token != "fun":
                    words.append(token)
                continue
            full = resolve(token)
        else:
            continue
        if full in seen:
            continue
        seen.add(full)
        last = plain_name(full).rsplit(".", 1)[-1]
        words.append(last[:1].upper() + last[1:])
    return words


__all__ = ["CORE_NOTATION", "Binder", "closing", "instance_name"]
