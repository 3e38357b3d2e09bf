"""Declaration names as words."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

#: What the short forms in Lean names stand for.
ABBREVIATIONS = {
    "iff": "if and only if",
    "le": "less or equal",
    "lt": "less than",
    "ge": "greater or equal",
    "gt": "greater than",
    "eq": "equal",
    "ne": "not equal",
    "mul": "multiply",
    "inv": "inverse",
    "neg": "negative",
    "sub": "subtract",
    "div": "divide",
    "pow": "power",
    "smul": "scalar multiply",
    "mem": "member",
    "inter": "intersection",
    "sup": "supremum",
    "inf": "infimum",
    "top": "top",
    "bot": "bottom",
    "comp": "composition",
    "symm": "symmetric",
    "trans": "transitive",
    "refl": "reflexive",
    "comm": "commutative",
    "assoc": "associative",
    "inj": "injective",
    "surj": "surjective",
    "bij": "bijective",
    "cont": "continuous",
    "diff": "difference",
    "compl": "complement",
    "univ": "universe",
    "dvd": "divides",
    "deg": "degree",
    "det": "determinant",
    "hom": "homomorphism",
    "equiv": "equivalence",
    "tendsto": "tends to",
    "nhds": "neighborhoods",
    "mono": "monotone",
    "anti": "antitone",
    "ext": "extensionality",
    "succ": "successor",
    "pred": "predecessor",
    "cast": "cast",
    "coe": "coercion",
    "prod": "product",
    "sum": "sum",
    "card": "cardinality",
    "finrank": "finite rank",
    "deriv": "derivative",
}


@lru_cache(maxsize=400_000)
def split_name(name: str) -> tuple[str, ...]:
    """Lower-case words of a dotted name: cut at dots, underscores, capitals and digits.

    `split_name("Nat.add_comm")` is `("nat", "add", "comm")`; `split_name("IsROrC.innerProductSpace")` is
    `("is", "r", "or", "c", "inner", "product", "space")`.
    """
    return tuple(word.lower() for word in _WORD.findall(name))


def spoken_name(name: str) -> str:
    """The words of a name with its short forms written out: `add_comm` is "add commutative"."""
    return " ".join(ABBREVIATIONS.get(word, word) for word in split_name(name))
