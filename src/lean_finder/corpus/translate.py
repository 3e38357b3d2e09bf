"""Names that `to_additive` and `to_dual` give: the rules and dictionaries of Mathlib's name guesser.

Source of the rules: Mathlib v4.28, `Mathlib/Tactic/Translate/` (GuessName, ToAdditive, ToDual). A name's last
part is split into words, each word is looked up, and then runs of words that have an idiom of their own are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for item in text.split():
        left, right = item.split(">")
        yield left, right


@dataclass(frozen=True)
class Dictionary:
    """One translation: word → words (first letters capital), and idiom (lower camel) → idiom (capital)."""

    attribute: str
    words: Mapping[str, tuple[str, ...]]
    idioms: Mapping[str, str]


#: word>Replacement, with + between the words of a replacement.
_ADDITIVE_WORDS = """
one>Zero mul>Add smul>VAdd inv>Neg div>Sub prod>Sum hmul>HAdd hsmul>HVAdd hdiv>HSub hpow>HSMul finprod>Finsum
tprod>TSum pow>NSMul npow>NSMul zpow>ZSMul mabs>Abs monoid>Add+Monoid submonoid>Add+Submonoid group>Add+Group
subgroup>Add+Subgroup semigroup>Add+Semigroup magma>Add+Magma haar>Add+Haar prehaar>Add+Prehaar unit>Add+Unit
units>Add+Units cyclic>Add+Cyclic semigrp>Add+Semigrp grp>Add+Grp commute>Add+Commute semiconj>Add+Semiconj
rootable>Divisible zpowers>ZMultiples powers>Multiples multipliable>Summable gpfree>APFree quantale>Add+Quantale
square>Even mconv>Conv irreducible>Add+Irreducible mlconvolution>LConvolution
"""
_ADDITIVE_IDIOMS = """
isCancelAdd>IsCancelAdd isLeftCancelAdd>IsLeftCancelAdd isRightCancelAdd>IsRightCancelAdd cancelAdd>AddCancel
leftCancelAdd>AddLeftCancel rightCancelAdd>AddRightCancel cancelCommAdd>AddCancelComm commAdd>AddComm
zero_le>Nonneg zeroLE>Nonneg zero_lt>Pos zeroLT>Pos lezero>Nonpos le_zero>Nonpos ltzero>Neg lt_zero>Neg
addSingle>Single addSupport>Support addTSupport>TSupport addIndicator>Indicator isEven>Even isRegular>IsAddRegular
isLeftRegular>IsAddLeftRegular isRightRegular>IsAddRightRegular hasFundamentalDomain>HasAddFundamentalDomain
quotientMeasure>AddQuotientMeasure negFun>InvFun uniqueProds>UniqueSums orderOf>AddOrderOf zeroLePart>PosPart
leZeroPart>NegPart isScalarTower>VAddAssocClass isOfFinOrder>IsOfFinAddOrder isCentralScalar>IsCentralVAdd
function_addSemiconj>Function_semiconj function_addCommute>Function_commute divisionAddMonoid>SubtractionMonoid
subNegZeroAddMonoid>SubNegZeroMonoid modularCharacter>AddModularCharacter
isQuotientCoveringMap>IsAddQuotientCoveringMap addExact>exact
"""
#: a-b stands for both a>b and b>a.
_DUAL_WORDS = """
top-bot inf-sup min-max untop-unbot minimal-maximal lower-upper below-above least-greatest cofinal-coinitial succ-pred
disjoint-codisjoint ioi-iio ici-iic ioc-ico terminal-initial precompose-postcompose cone-cocone cones-cocones fan-cofan
limit-colimit limits-colimits product-coproduct products-coproducts pushout-pullback pushouts-pullbacks span-cospan
kernel-cokernel kernels-cokernels unit-counit monad-comonad monadic-comonadic
"""
_DUAL_IDIOMS = "wellFoundedLT>WellFoundedGT wellFoundedGT>WellFoundedLT succColimit>SuccLimit predColimit>PredLimit"


def _dual_words() -> dict[str, tuple[str, ...]]:
    words: dict[str, tuple[str, ...]] = {"glb": ("LUB",), "lub": ("GLB",), "epi": ("Mono",)}
    for pair in _DUAL_WORDS.split():
        left, right = pair.split("-")
        words[left] = (right.capitalize(),)
        words[right] = (left.capitalize(),)
    return words


ADDITIVE = Dictionary(
    "to_additive",
    {left: tuple(right.split("+")) for left, right in _pairs(_ADDITIVE_WORDS)},
    dict(_pairs(_ADDITIVE_IDIOMS)),
)
DUAL = Dictionary("to_dual", _dual_words(), dict(_pairs(_DUAL_IDIOMS)))
DICTIONARIES = {"to_additive": ADDITIVE, "to_dual": DUAL}

_SHORT_CAPITALS = {"LE": ("",), "LT": ("",), "GE": ("",), "GT": ("",), "WF": ("",), "Coe": ("TC", "T", "HTCT")}
_LOWER = re.compile(r"[^A-Z]")


def split_case(text: str) -> list[str]:
    """Words of one name part: cut at underscores (kept), after `LE`, `LT`, … and before a capital after a non-capital.

    `split_case("InvHMulLEConjugate_ne")` is `["Inv", "HMul", "LE", "Conjugate", "_", "ne"]`.
    """
    words: list[str] = []
    start = 0
    at = 0
    while at + 1 < len(text):
        here, after = text[at], text[at + 1]
        cut = 0
        if here == "_" or after == "_":
            cut = at + 1
        elif _upper(after):
            endings = _SHORT_CAPITALS.get(text[start : at + 1])
            ending = next((e for e in endings if text.startswith(e, at + 1)), None) if endings else None
            if ending is not None:
                cut = at + 1 + len(ending)
            elif not _upper(here):
                cut = at + 1
        if cut:
            words.append(text[start:cut])
            start = at = cut
        else:
            at += 1
    words.append(text[start:])
    return words


def _upper(char: str) -> bool:
    return "A" <= char <= "Z"


def _decapitalize(text: str) -> str:
    """Lower the leading run of capitals."""
    match = _LOWER.search(text)
    at = match.start() if match else len(text)
    return text[:at].lower() + text[at:]


def _like(model: str, text: str) -> str:
    return text if model and _upper(model[0]) else _decapitalize(text)


def _translate_words(words: list[str], dictionary: Dictionary) -> list[str]:
    result: list[str] = []
    for word in words:
        new = dictionary.words.get(word.lower())
        if new is None:
            result.append(word)
        else:
            result.append(_like(word, new[0]))
            result.extend(new[1:])
    return result


def _fix_idioms(words: list[str], dictionary: Dictionary) -> str:
    """Replace the first run of words, from the left, that is an idiom; a run never crosses `_` after a capital."""
    out: list[str] = []
    at = 0
    while at < len(words):
        replaced = False
        run = ""
        for stop in range(at, len(words)):
            run += words[stop]
            if words[stop] == "_" and run and _upper(run[0]):
                break
            idiom = dictionary.idioms.get(_decapitalize(run))
            if idiom is not None:
                out.append(_like(run, idiom))
                at = stop + 1
                replaced = True
                break
        if not replaced:
            out.append(words[at])
            at += 1
    return "".join(out)


@lru_cache(maxsize=200_000)
def guess_part(part: str, attribute: str) -> str:
    """The translation of one name part by `to_additive` or `to_dual`."""
    dictionary = DICTIONARIES[attribute]
    return "'".join(
        _fix_idioms(_translate_words(split_case(piece), dictionary), dictionary) if piece else ""
        for piece in part.split("'")
    )


_HINTS = frozenset({"existing", "self", "none"})
_FLAT = r"\([^()]*\)"
_OPTION = re.compile(rf"\((?:[^()]|\((?:[^()]|\((?:[^()]|{_FLAT})*\))*\))*\)")
_DOC = re.compile(r'/-- (.*) -/|"((?:[^"\\]|\\.)*)"', re.DOTALL)


@dataclass(frozen=True)
class Translation:
    """One `to_additive`/`to_dual` attribute as written.

    Attributes:
        attribute: which of the two.
        target: name given, "" if Lean is to guess it.
        hint: "existing", "self", "none" or "".
        docstring: documentation given for the new declaration.
        passed: attributes passed on with `(attr := …)`.
    """

    attribute: str
    target: str = ""
    hint: str = ""
    docstring: str = ""
    passed: tuple[str, ...] = field(default=())


def parse_translation(text: str, split_commas: Callable[[str], list[str]]) -> Translation | None:
    """A translation attribute's parts, or None if the text is another attribute."""
    match = re.match(r"(to_additive|to_dual)\b\??(?!_)", text)
    if match is None:
        return None
    rest = text[match.end() :]
    # Options first: a date inside of one is quoted like documentation.
    place = _DOC.search(_OPTION.sub(lambda option: " " * len(option.group()), rest))
    doc = _DOC.match(rest, place.start()) if place else None
    docstring = ""
    if doc:
        docstring = next(text for text in doc.groups() if text is not None).strip()
        rest = rest[: doc.start()]
    passed: list[str] = []
    for option in _OPTION.findall(rest):
        inner = option[1:-1].strip()
        if inner.startswith("attr"):
            passed.extend(split_commas(inner.split(":=", 1)[1]))
    words = _OPTION.sub(" ", rest).split()
    hint = next((word for word in words if word in _HINTS), "")
    target = next((word for word in words if word not in _HINTS), "")
    return Translation(match.group(1), target, hint, docstring, tuple(passed))


class NameTranslator:
    """Full names under one attribute: own attribute, else the longest translated prefix and a guessed last part.

    Args:
        attribute: to_additive or to_dual.
        own: what source says of each declaration that carries the attribute.
        inserted: extra prefix translations (`insert_to_additive_translation`).
        elsewhere: targets of declarations with the attribute that are not in `own`.

    `asked` collects the names whose translation was asked for.
    """

    def __init__(
        self,
        attribute: str,
        own: Mapping[str, Translation],
        inserted: Mapping[str, str],
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.attribute = attribute
        self.own = own
        self.elsewhere = elsewhere or {}
        self.asked: set[str] = set()
        self.known = dict(inserted)
        if attribute == "to_dual":
            self.known.update({target: source for source, target in inserted.items()})

    def prefix(self, name: str) -> str:
        """A namespace after translation."""
        if not name:
            return ""
        self.asked.add(name)
        known = self.known.get(name)
        if known is not None:
            return known
        if name in self.own:
            return self.target(name, self.own[name])
        if name in self.elsewhere:
            return self.elsewhere[name]
        head, _, last = name.rpartition(".")
        new_head = self.prefix(head)
        return f"{new_head}.{last}" if head else last

    def target(self, name: str, translation: Translation) -> str:
        """Full name of the declaration that the attribute on `name` makes or points to."""
        if translation.hint in {"self", "none"}:
            return name
        if not translation.target and name in self.known:
            return self.known[name]
        given = translation.target
        if "." in given:
            result = given.removeprefix("_root_.").replace("«", "").replace("»", "")
        else:
            head, _, last = name.rpartition(".")
            new_last = given.replace("«", "").replace("»", "") or guess_part(last, self.attribute)
            new_head = self.prefix(head)
            result = f"{new_head}.{new_last}" if new_head else new_last
        if not translation.target:
            self.known[name] = result
        return result
