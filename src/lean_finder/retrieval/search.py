"""One interactive search: filters, hits with what a reader wants to see, and why each was found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lean_finder.errors import InputError
from lean_finder.records import Declaration
from lean_finder.retrieval.lexical import lexical_tokens
from lean_finder.retrieval.retriever import clean_query
from lean_finder.retrieval.scoring import Scorer, best_places

#: Longest docstring head shown, in characters.
_HEAD = 160


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which declarations may be found. None or () asks nothing; True keeps only, False leaves out.

    Attributes:
        kinds: keywords as in `records.Declaration.kind`.
        modules: dotted prefixes, whole components: Mathlib.Order has Mathlib.Order.Basic, not Mathlib.OrderX.
        deprecated: carries a deprecation.
        generated: made by an attribute or command, not written by hand.
        instances: is a type-class instance.
        private: only its own file can name it; left out unless asked for.
    """

    kinds: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    deprecated: bool | None = None
    generated: bool | None = None
    instances: bool | None = None
    private: bool | None = False

    def accepts(self, declaration: Declaration) -> bool:
        """Whether the declaration passes."""
        return (
            (not self.kinds or declaration.kind in self.kinds)
            and (not self.modules or any(_inside(declaration.module, prefix) for prefix in self.modules))
            and self.deprecated in (None, declaration.deprecated)
            and self.generated in (None, declaration.origin != "source")
            and self.instances in (None, declaration.is_instance)
            and self.private in (None, declaration.visibility == "private")
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """One result.

    `rank` is its place in this answer, `corpus_rank` its rank without the filter, ties counted against it;
    `shared` are the query's words and symbols that its name and text contain.
    """

    rank: int
    name: str
    kind: str
    module: str
    line: int
    signature: str
    doc: str
    score: float
    deprecated: bool
    replacement: str
    corpus_rank: int
    shared: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def search(
    retriever: Scorer,
    declarations: Sequence[Declaration],
    query: str,
    k: int,
    wanted: SearchFilter | None = None,
) -> list[Hit]:
    """The k best declarations that pass the filter, best first; exact whatever the filter leaves.

    Args:
        retriever: over the declarations' corpus.
        declarations: in the corpus' order.
        query: as typed.
        k: how many.
        wanted: the filter.

    Raises:
        InputError: an empty query, k below 1, declarations of another corpus, or a kind that no declaration has.
    """
    if k < 1:
        raise InputError("k", str(k), "at least 1")
    if [declaration.name for declaration in declarations] != retriever.names:
        raise InputError("index", "made from other declarations", "build the index again: dvc repro index")
    wanted = wanted or SearchFilter()
    _require_known("kind", wanted.kinds, {declaration.kind for declaration in declarations})
    query = clean_query(query)
    (scores,) = retriever.scores([query])
    mask = np.fromiter(map(wanted.accepts, declarations), dtype=bool, count=len(declarations))
    allowed = np.flatnonzero(mask)
    if not len(allowed):
        return []
    places = allowed[best_places(scores[allowed], min(k, len(allowed)))]
    words = dict.fromkeys(lexical_tokens(query))
    return [
        _hit(rank, declarations[at], scores, int(at), list(words)) for rank, at in enumerate(places.tolist(), start=1)
    ]


def _hit(rank: int, declaration: Declaration, scores: npt.NDArray[np.float32], at: int, words: Sequence[str]) -> Hit:
    text = f"{declaration.name} {declaration.variables} {declaration.signature} {declaration.docstring}"
    own = set(lexical_tokens(f"{text} {declaration.informal}"))
    return Hit(
        rank=rank,
        name=declaration.name,
        kind=declaration.kind,
        module=declaration.module,
        line=declaration.line,
        signature=declaration.signature,
        doc=_head(declaration.docstring or declaration.informal),
        score=float(scores[at]),
        deprecated=declaration.deprecated,
        replacement=declaration.replacement,
        corpus_rank=int((scores >= scores[at]).sum()),
        shared=tuple(word for word in words if word in own),
    )


def _head(text: str) -> str:
    """The first sentence on one line, cut at a word."""
    line = " ".join(text.split())
    sentence = line.split(". ")[0]
    if len(sentence) <= _HEAD:
        return sentence
    return sentence[:_HEAD].rsplit(" ", 1)[0] + " …"


def _inside(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def _require_known(what: str, asked: Collection[str], known: Collection[str]) -> None:
    for value in asked:
        if value not in known:
            listed = ", ".join(sorted(known))
            raise InputError(f"--{what}", f"no declaration has {what} {value!r}", f"there are {listed}")
