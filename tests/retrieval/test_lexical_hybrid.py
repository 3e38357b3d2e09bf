"""Guards lexical search, fusion and hard negatives. Run: pytest tests/retrieval/test_lexical_hybrid.py"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lean_finder.errors import InputError
from lean_finder.retrieval import scoring
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.hard_negatives import HardNegativeSettings, mine_hard_negatives
from lean_finder.retrieval.hybrid import HybridRetriever
from lean_finder.retrieval.index import DenseIndex, IndexMeta
from lean_finder.retrieval.lexical import LexicalRetriever, lexical_tokens
from lean_finder.retrieval.retriever import Retriever, clean_query
from lean_finder.retrieval.scoring import ScoringRetriever, competition_ranks
from tests.retrieval.conftest import ToyWorld

DOCUMENTS = {
    "IsCompact.image": "the image of a compact set under a continuous map is compact",
    "Nat.add_comm": "a + b = b + a",
    "Lattice.sup_le": "a ⊔ b ≤ c",
    "IsClosed.preimage": "the preimage of a closed set is closed",
    "Twin.preimage": "the preimage of a closed set is closed",
}


@pytest.fixture
def lexical() -> LexicalRetriever:
    return LexicalRetriever.build(list(DOCUMENTS), list(DOCUMENTS.values()), corpus="c" * 64)


@pytest.fixture(scope="module")
def dense(toy: ToyWorld) -> DenseRetriever:
    encoder = Encoder.load(toy.encoder)
    vectors = encoder.encode_documents(list(toy.documents.values()))
    meta = IndexMeta(encoder.digest, "c" * 64, encoder.contract)
    return DenseRetriever(encoder, DenseIndex.build(list(toy.documents), vectors, meta=meta))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("IsCompact.image", ["is", "compact", "iscompact", "image"]),
        ("Nat.add_comm x2", ["nat", "add", "comm", "x", "2"]),
        ("`⨆ i, f i ≤ a`", ["⨆", "i", "f", "i", "≤", "a"]),
        ("toLTOHom HTML", ["to", "lto", "hom", "toltohom", "html"]),
        ("Übung α→β", ["übung", "α", "→", "β"]),
        ("", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert lexical_tokens(text) == tokens


def test_bm25_by_formula(lexical: LexicalRetriever) -> None:
    """Lucene's BM25: Σ idf · tf / (tf + k1 (1 − b + b |d|/avg)), idf = ln(1 + (N − n + ½)/(n + ½))."""
    rows = [Counter(lexical_tokens(f"{name} {text}")) for name, text in DOCUMENTS.items()]
    average = np.mean([row.total() for row in rows])
    expected = []
    for row in rows:
        total = 0.0
        for word in ("preimage", "compact"):
            holders = sum(word in other for other in rows)
            idf = math.log(1 + (len(rows) - holders + 0.5) / (holders + 0.5))
            total += idf * row[word] / (row[word] + 1.5 * (0.25 + 0.75 * row.total() / average))
        expected.append(total)
    assert lexical.scores(["preimage compact"])[0] == pytest.approx(expected, abs=1e-5)


def test_lexical_ranks(lexical: LexicalRetriever) -> None:
    answer = lexical.rank(["compact image"], 2)[0]
    assert answer.names[0] == "IsCompact.image" and answer.scores[0] > answer.scores[1]
    assert lexical.rank(["⊔"], 1)[0].names == ("Lattice.sup_le",)
    golds = ["Lattice.sup_le", "Nat.add_comm", "Absent", "Lattice.sup_le"]
    assert lexical.gold_ranks(["⊔", "⊔", "⊔", "unknownword"], golds) == [1, 5, None, 5]


def test_lexical_folder(lexical: LexicalRetriever, tmp_path: Path) -> None:
    lexical.save(tmp_path / "bm25")
    again = LexicalRetriever.load(tmp_path / "bm25", corpus="c" * 64)
    queries = ["compact image", "unknownword", "⊔ preimage"]
    assert again.scores(queries).tolist() == lexical.scores(queries).tolist()
    with pytest.raises(InputError, match="another corpus"):
        LexicalRetriever.load(tmp_path / "bm25", corpus="d" * 64)
    meta = tmp_path / "bm25" / "meta.json"
    meta.write_text(meta.read_text().replace("words-v1", "words-v0"))
    with pytest.raises(InputError, match="tokenizer"):
        LexicalRetriever.load(tmp_path / "bm25")
    with pytest.raises(InputError, match="no such file"):
        LexicalRetriever.load(tmp_path / "absent")
    with pytest.raises(InputError, match="at least one"):
        LexicalRetriever.build([], [], corpus="")


def test_competition_ranks_count_ties_against() -> None:
    assert competition_ranks(np.array([0.5, 0.9, 0.5, 0.1], dtype=np.float32)).tolist() == [3, 1, 3, 4]
    assert competition_ranks(np.zeros(3, dtype=np.float32)).tolist() == [3, 3, 3]
    drawn = np.random.default_rng(0).integers(-20, 20, 300).astype(np.float32)
    assert competition_ranks(drawn).tolist() == (drawn >= drawn[:, None]).sum(1).tolist()


class Fixed(ScoringRetriever):
    """Scores given by hand."""

    def __init__(self, *values: float) -> None:
        self.names = ["a", "b", "c"]
        self.values = np.array(values, dtype=np.float32)

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        return np.tile(self.values, (len(queries), 1))


def test_fusions_by_hand() -> None:
    left, right = Fixed(0.9, 0.8, 0.1), Fixed(0.0, 5.0, 5.0)
    reciprocal = HybridRetriever([left, right], [1.0, 0.5], constant=60).scores(["x"])[0]
    expected = [1 / 61 + 0.5 / 63, 1 / 62 + 0.5 / 62, 1 / 63 + 0.5 / 62]
    assert reciprocal == pytest.approx(expected, rel=1e-6)
    weighted = HybridRetriever([left, right], [1.0, 0.5], fusion="weighted").scores(["x"])[0]
    assert weighted == pytest.approx([1.0, 0.875 + 0.5, 0.5], rel=1e-6)
    flat = HybridRetriever([left, Fixed(2, 2, 2)], [1.0, 1.0], fusion="weighted").scores(["x"])[0]
    assert flat == pytest.approx([1.0, 0.875, 0.0], rel=1e-6)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -0.1], [0.0, 0.0]])
def test_impossible_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(InputError, match="weights"):
        HybridRetriever([Fixed(1, 2, 3), Fixed(1, 2, 3)], weights)


def test_parts_of_different_corpora_are_refused(lexical: LexicalRetriever) -> None:
    with pytest.raises(InputError, match="different corpora"):
        HybridRetriever([Fixed(1, 2, 3), lexical], [1.0, 1.0])
    with pytest.raises(InputError, match="unknown"):
        HybridRetriever([lexical], [1.0], fusion="sum")


def test_every_retriever_agrees_with_itself(dense: DenseRetriever, toy: ToyWorld) -> None:
    """A gold's exact rank is its place in the full list, for dense, lexical and both fusions."""
    lexical = LexicalRetriever.build(dense.names, list(toy.documents.values()), corpus="")
    hybrids = [HybridRetriever([dense, lexical], [1, 0.5], fusion=kind) for kind in ("reciprocal_rank", "weighted")]
    retrievers: list[Retriever] = [dense, lexical, *hybrids]
    queries = [f"{toy.documents[name]} {at}" for at, name in enumerate(dense.names[:12])]
    golds = dense.names[5:17]
    for retriever in retrievers:
        answers = retriever.rank(queries, len(dense.names))
        for answer, gold, rank in zip(answers, golds, retriever.gold_ranks(queries, golds), strict=True):
            place = answer.names.index(gold)
            last_equal = max(at for at, score in enumerate(answer.scores) if score >= answer.scores[place] - 1e-6)
            assert type(rank) is int and place + 1 <= rank <= last_equal + 1
            assert list(answer.scores) == sorted(answer.scores, reverse=True)


def test_many_queries_at_once_are_ranked_as_each_alone(
    dense: DenseRetriever, toy: ToyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of three queries; a query that comes twice, and golds asked after the ranking, change nothing."""
    monkeypatch.setattr(scoring, "_BLOCK_SCORES", 3 * len(dense.names) + 1)
    lexical = LexicalRetriever.build(dense.names, list(toy.documents.values()), corpus="")
    queries = [toy.query(name) for name in dense.names[::48]]
    queries += [toy.documents[name] for name in dense.names[7:384:60]] + queries[:2]
    golds = [dense.names[11 * at] for at in range(len(queries))]
    for kind in ("reciprocal_rank", "weighted"):
        together = HybridRetriever([dense, lexical], [1, 0.3], fusion=kind)
        answers, ranks = together.rank(queries, 20), together.gold_ranks(queries, golds)
        for query, gold, answer, rank in zip(queries, golds, answers, ranks, strict=True):
            alone = HybridRetriever([dense, lexical], [1, 0.3], fusion=kind)
            assert alone.rank([query], 20)[0].names == answer.names
            assert alone.gold_ranks([query], [gold]) == [rank]


class Counting(Fixed):
    """Notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(0.9, 0.8, 0.1)
        self.asked: list[list[str]] = []

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        self.asked.append(list(queries))
        return super().scores(queries)


def test_a_batch_is_scored_once_for_its_ranking_and_its_golds(monkeypatch: pytest.MonkeyPatch) -> None:
    part, unused = Counting(), Counting()
    hybrid = HybridRetriever([part, unused], [1.0, 0.0])
    queries = ["x", "y", "x"]
    assert hybrid.rank(queries, 2)[2].names == ("a", "b")
    assert hybrid.gold_ranks(["x", "x", "y"], ["b", "Absent", "c"]) == [2, None, 3]
    assert (part.asked, unused.asked) == ([["x", "y"]], [])
    monkeypatch.setattr(scoring, "_BLOCK_SCORES", 2 * len(hybrid.names))
    hybrid.rank(["p", "q", "r"], 1)
    assert part.asked[1:] == [["p", "q"], ["r"]]


def test_dense_retriever_refuses_another_model_or_contract(dense: DenseRetriever) -> None:
    meta = IndexMeta("e" * 64, "c" * 64, dense.encoder.contract)
    with pytest.raises(InputError, match="another model"):
        DenseRetriever(dense.encoder, DenseIndex.build(dense.names, dense.index.vectors, meta=meta))
    meta = IndexMeta(dense.encoder.digest, "c" * 64, TokenizationContract(renderer="other"))
    with pytest.raises(InputError, match="contract"):
        DenseRetriever(dense.encoder, DenseIndex.build(dense.names, dense.index.vectors, meta=meta))


@pytest.mark.parametrize("query", ["", "   ", "\x00\x1b", "\n\t"])
def test_empty_queries_are_refused(query: str, dense: DenseRetriever, lexical: LexicalRetriever) -> None:
    for retriever in (dense, lexical):
        with pytest.raises(InputError, match="empty"):
            retriever.rank([query], 3)
        with pytest.raises(InputError, match="empty"):
            retriever.gold_ranks([query], [retriever.names[0]])


def test_strange_queries_have_sane_answers(dense: DenseRetriever, lexical: LexicalRetriever) -> None:
    for retriever in (dense, lexical):
        plain = retriever.rank(["sum of a group"], 5)[0]
        assert retriever.rank(["sum\x00of\x07 a\n group"], 5)[0] == plain
        long = retriever.rank(["sum of a group " * 700], 5)[0]
        assert len(long.names) == 5 and np.isfinite(long.scores).all()
    assert clean_query("a\ud800b") == "a b"


def test_golds_outside_the_corpus_have_no_rank(dense: DenseRetriever) -> None:
    assert dense.gold_ranks(["sum", "sum"], ["Absent", dense.names[0]])[0] is None
    assert dense.gold_ranks([], []) == [] and dense.rank([], 3) == []


def test_hard_negatives_keep_window_margin_and_family() -> None:
    angles = np.linspace(0, 1.2, 30)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    names = [f"d{place}" for place in range(30)]
    meta = IndexMeta("m", "c", TokenizationContract())
    index = DenseIndex.build(names, vectors, meta=meta)
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    family = {"d9": "d8"}

    def mined(seen_as: str = "d8", **settings: float) -> set[str]:
        asked = HardNegativeSettings(per_query=99, **settings)
        return set(mine_hard_negatives(index, query, vectors[[names.index(seen_as)]], ["d8"], family, asked)[0])

    # cos(q, d) falls with the number: d0 … d7 beat the positive d8, d9 is its family.
    assert mined(first_rank=3, last_rank=12, margin=1.0) == {f"d{at}" for at in (2, 3, 4, 5, 6, 7, 10, 11)}
    assert mined(first_rank=3, last_rank=12, margin=0.0) == {"d10", "d11"}
    assert mined(first_rank=1, last_rank=9, margin=0.0) == set()
    # Training sees the positive without what the query quotes, where it is no nearer than d10: that is the limit.
    assert mined("d10", first_rank=3, last_rank=12, margin=0.0) == {"d10", "d11"}
    assert mined("d6", first_rank=3, last_rank=12, margin=0.0) == {"d6", "d7", "d10", "d11"}
    few, again = (
        mine_hard_negatives(index, query, vectors[8:9], ["d8"], family, HardNegativeSettings(2, 1, 30, 1.0, seed=5))
        for _ in range(2)
    )
    assert few == again
    assert len(few[0]) == 2
    for bad in ({"per_query": 0}, {"first_rank": 0}, {"first_rank": 9, "last_rank": 8}):
        with pytest.raises(InputError, match="hard_negatives"):
            HardNegativeSettings(**bad)
