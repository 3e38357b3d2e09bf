"""Guards the manifest: families stay whole, golds are test, the draw is fair and seeded.

Run: pytest tests/corpus/test_splits.py"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from lean_finder.corpus.families import Families
from lean_finder.corpus.splits import make_manifest, top_folder
from lean_finder.errors import InputError
from lean_finder.records import Declaration

FOLDERS = {"Order": 200, "Algebra": 400, "Topology": 7}


@pytest.fixture
def corpus() -> tuple[list[Declaration], Families]:
    declarations = [
        Declaration(f"{folder}.d{at:03}", "theorem" if at % 2 else "def", f"L.{folder}.Basic", at, "")
        for folder, count in FOLDERS.items()
        for at in range(count)
    ]
    pairs = {item.name: item.name[:-1] + ("0" if item.name[-1] in "01" else item.name[-1]) for item in declarations}
    return declarations, Families(pairs, [])


def manifest(corpus: tuple[list[Declaration], Families], seed: int = 1, share: float = 0.1):  # type: ignore[no-untyped-def]
    return make_manifest(*corpus, {"bench": ["Order.d001", "Nowhere.x"]}, validation_share=share, seed=seed)


def test_families_are_never_split_and_every_declaration_has_a_row(corpus: tuple[list[Declaration], Families]) -> None:
    rows = manifest(corpus)
    splits = defaultdict(set)
    for row in rows:
        splits[row.family].add(row.split)
    assert all(len(found) == 1 for found in splits.values())
    assert [row.declaration for row in rows] == sorted(item.name for item in corpus[0])


def test_golds_and_their_families_are_test(corpus: tuple[list[Declaration], Families]) -> None:
    test = {row.declaration: row.reason for row in manifest(corpus) if row.split == "test"}
    assert test == {"Order.d000": "family of Order.d001, gold of bench", "Order.d001": "gold of bench"}


def test_validation_is_stratified(corpus: tuple[list[Declaration], Families]) -> None:
    rows = [row for row in manifest(corpus) if row.split == "validation"]
    share = Counter(row.declaration.split(".")[0] for row in rows)
    assert abs(share["Order"] - 20) <= 3 and abs(share["Algebra"] - 40) <= 5
    assert len(rows) == pytest.approx(60, abs=5)


def test_the_seed_decides_and_nothing_else(corpus: tuple[list[Declaration], Families]) -> None:
    assert manifest(corpus) == manifest((corpus[0][::-1], corpus[1]))
    assert manifest(corpus) != manifest(corpus, seed=2)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_an_impossible_share_is_refused(corpus: tuple[list[Declaration], Families], share: float) -> None:
    with pytest.raises(InputError, match="validation_share"):
        manifest(corpus, share=share)


def test_top_folder() -> None:
    assert (top_folder("Atlas.Order.Basic"), top_folder("Atlas")) == ("Order", "Atlas")
