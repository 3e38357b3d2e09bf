"""Guards exact search and ranks, the index folder and its refusals. Run: pytest tests/retrieval/test_index.py"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from lean_finder.errors import InputError
from lean_finder.retrieval import exact
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.exact import Vectors, exact_ranks
from lean_finder.retrieval.index import DenseIndex, IndexMeta, IndexOptions, recall_against_exact

META = IndexMeta(model="a" * 64, corpus="b" * 64, contract=TokenizationContract(renderer="plain-v1"))


def _unit(random: np.random.Generator, *shape: int) -> Vectors:
    vectors = random.standard_normal(shape)
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def _index(vectors: Vectors, **options: object) -> DenseIndex:
    return DenseIndex.build([f"d{place}" for place in range(len(vectors))], vectors, meta=META, **options)


def _ranks_by_sorting(queries: Vectors, documents: Vectors, targets: np.ndarray) -> list[int]:
    """The oracle: all scores in double precision, one sum per pair so that equal vectors tie."""
    ranks = []
    for query, target in zip(queries, targets, strict=True):
        scores = (documents.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        ordered = sorted(range(len(documents)), key=lambda at: (-scores[at], at == target))
        ranks.append(ordered.index(target) + 1)
    return ranks


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """So many threads, each block of documents a piece of work of its own."""
    before = torch.get_num_threads()
    monkeypatch.setattr(exact, "_SPAN", 1)
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("dim", [3, 48])
def test_ranks_equal_a_full_sort(dim: int, threads: int) -> None:
    random = np.random.default_rng(dim)
    documents = _unit(random, 9000, dim)
    documents[5000:5040] = documents[17]  # duplicates in another block, all tied
    documents[8999] = documents[4]
    queries = np.concatenate([_unit(random, 90, dim), documents[[17, 4, 8999]]])
    targets = np.concatenate([random.integers(0, 9000, 85), [17, 5003, 4, 8999, 0], [17, 4, 4]])
    assert exact_ranks(queries, documents, targets).tolist() == _ranks_by_sorting(queries, documents, targets)
    assert torch.get_num_threads() == threads  # the pool's own threads have one each, and nobody else
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == threads


def test_ties_count_against_the_target() -> None:
    documents = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=np.float32)
    index = _index(documents)
    assert index.ranks(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32), [0, 3, 3]).tolist() == [3, 4, 1]


def test_search_equals_a_full_sort_and_is_cut_to_the_corpus() -> None:
    random = np.random.default_rng(1)
    documents, queries = _unit(random, 5000, 16), _unit(random, 70, 16)
    ids, scores = _index(documents).search(queries, 10)
    expected = np.argsort(-(queries @ documents.T), axis=1)[:, :10]
    assert ids.tolist() == expected.tolist()
    assert np.allclose(scores, np.take_along_axis(queries @ documents.T, expected, 1), atol=1e-6)
    ids, _ = _index(documents[:1]).search(queries, 10)
    assert ids.shape == (70, 1) and (ids == 0).all()


@pytest.mark.parametrize("kind", ["hnsw", "ivfpq", "fastscan"])
def test_approximate_kinds_find_most_and_rank_exactly(kind: str, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    centres = _unit(random, 40, 32)
    documents = centres[random.integers(0, 40, 4000)] + 0.5 * _unit(random, 4000, 32)
    documents = (documents / np.linalg.norm(documents, axis=1, keepdims=True)).astype(np.float32)
    queries = documents[:50]
    index = _index(documents, kind=kind, options=IndexOptions(probes=32, subvectors=16))
    assert recall_against_exact(index, queries, 10) >= 0.95
    index.save(tmp_path / "index")
    again = DenseIndex.load(tmp_path / "index")
    assert again.search(queries, 5)[0].tolist() == index.search(queries, 5)[0].tolist()
    assert (again.ranks(queries, np.arange(50)) == exact_ranks(queries, documents, np.arange(50))).all()


def test_save_and_load_keep_everything(tmp_path: Path) -> None:
    index = _index(_unit(np.random.default_rng(3), 20, 8))
    index.save(tmp_path / "index")
    again = DenseIndex.load(tmp_path / "index", model=META.model, contract=META.contract, corpus=META.corpus)
    assert again.names == index.names and again.meta == META
    assert (again.vectors == index.vectors).all()


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"model": "c" * 64}, "another model"),
        ({"corpus": "c" * 64}, "another corpus"),
        ({"contract": replace(META.contract, query_prefix="query: ")}, "query_prefix"),
        ({"contract": replace(META.contract, renderer="plain-v2")}, "renderer"),
    ],
)
def test_index_of_something_else_is_refused(expected: dict, message: str, tmp_path: Path) -> None:
    _index(np.eye(4, dtype=np.float32)).save(tmp_path / "index")
    with pytest.raises(InputError, match=message):
        DenseIndex.load(tmp_path / "index", **expected)


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        DenseIndex.load(tmp_path / "absent")
    _index(np.eye(4, dtype=np.float32)).save(tmp_path / "index")
    whole = (tmp_path / "index" / "vectors.npy").read_bytes()
    (tmp_path / "index" / "vectors.npy").write_bytes(whole[:-8])
    with pytest.raises(InputError, match="damaged"):
        DenseIndex.load(tmp_path / "index")
    (tmp_path / "index" / "vectors.npy").write_bytes(whole)
    (tmp_path / "index" / "names.txt").write_text("d0\n")
    with pytest.raises(InputError, match="damaged"):
        DenseIndex.load(tmp_path / "index")


def test_nan_empty_corpus_and_twice_named_are_refused() -> None:
    vectors = np.eye(4, dtype=np.float32)
    broken = vectors.copy()
    broken[2, 1] = np.nan
    with pytest.raises(InputError, match="row 2 has NaN"):
        _index(broken)
    with pytest.raises(InputError, match="NaN"):
        _index(vectors).search(broken, 1)
    with pytest.raises(InputError, match="NaN"):
        _index(vectors).ranks(broken, np.arange(4))
    with pytest.raises(InputError, match="at least one"):
        _index(np.empty((0, 4), dtype=np.float32))
    with pytest.raises(InputError, match="twice"):
        DenseIndex.build(["a", "a"], vectors[:2], meta=META)


def test_bad_requests_are_refused() -> None:
    index = _index(np.eye(4, dtype=np.float32))
    queries = np.eye(4, dtype=np.float32)
    for call in (
        lambda: index.search(queries, 0),
        lambda: index.search(queries[:, :3], 1),
        lambda: index.ranks(queries, np.array([0, 1, 2, 4])),
        lambda: index.ranks(queries, np.array([0])),
        lambda: index.ids_of(["d0", "absent"]),
        lambda: _index(queries, kind="pq"),
        lambda: _index(queries, kind="ivfpq"),
    ):
        with pytest.raises(InputError):
            call()
