"""The dense index: a corpus' vectors, searched exactly or approximately, and ranked exactly.

A folder holds `vectors.npy` (memory-mapped when loaded), `names.txt`, `meta.json` and, for the approximate kinds,
`faiss.index`. The meta ties the index to its model, contract and corpus: a query encoded otherwise is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import faiss
import numpy as np

from lean_finder.errors import InputError
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.exact import Ids, Vectors, check_vectors, exact_ranks, exact_search, longest_norm
from lean_finder.storage import atomic_path, read_json, write_json, write_text

logger = logging.getLogger(__name__)

Kind = Literal["flat", "hnsw", "ivfpq", "fastscan"]

_FIX = "build the index again: dvc repro index"

#: Candidates that an approximate index hands to exact scoring, per result wanted (and at least 100). With 30 fastscan's
#: recall@10 is .9995 on benchmarks/bench_index.py's vectors, with 20 it is .996; ten more cost 0.1 ms a query.
_CANDIDATES = {"hnsw": 4, "ivfpq": 40, "fastscan": 30}

#: Vectors that k-means sees at most.
_TRAINING_VECTORS = 50_000


@dataclass(frozen=True, slots=True)
class IndexMeta:
    """What an index was made of.

    Attributes:
        model: digest of the encoder's weights.
        corpus: digest of the rendered corpus (names and texts).
        contract: the encoder's tokenization contract, renderer included.
        dtype: number type that the documents were encoded in; the vectors are float32 always. It is not checked,
            because queries are encoded in float32 whatever it is.
    """

    model: str
    corpus: str
    contract: TokenizationContract
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Knobs of the approximate kinds.

    Attributes:
        links: HNSW neighbours per node (M).
        build_effort, search_effort: HNSW's efConstruction and efSearch.
        cells: IVF cells; 0 = 4 √n.
        probes: IVF cells visited by a query.
        subvectors: product-quantizer parts; must divide the dimension; 0 = dim / 2.
        seed: of k-means.
    """

    links: int = 32
    build_effort: int = 200
    search_effort: int = 256
    cells: int = 0
    probes: int = 64
    subvectors: int = 0
    seed: int = 0


@dataclass(slots=True)
class DenseIndex:
    """Vectors of a corpus with their names.

    Attributes:
        names: of the declarations; an id is a place in this list.
        vectors: (n, dim) float32.
        kind: "flat" is exact; "hnsw", "ivfpq" and "fastscan" pick candidates by FAISS and score them exactly.
        meta: what it was made of.
        device: where exact search and ranks run: cpu or cuda.
    """

    names: list[str]
    vectors: Vectors
    kind: Kind
    meta: IndexMeta
    device: str = "cpu"
    _faiss: Any = None
    _ids: dict[str, int] = field(default_factory=dict)
    _longest: float | None = None

    def __post_init__(self) -> None:
        self._ids = {name: place for place, name in enumerate(self.names)}

    @classmethod
    def build(
        cls,
        names: Sequence[str],
        vectors: Vectors,
        *,
        kind: Kind = "flat",
        meta: IndexMeta,
        options: IndexOptions | None = None,
        device: str = "cpu",
    ) -> DenseIndex:
        """Index `vectors` (n, dim), one per name.

        Raises:
            InputError: empty corpus, another number of names, a name twice, NaN or infinity in a vector, an
                unknown kind, or too few vectors to train the kind's quantizer.
        """
        if kind not in get_args(Kind):
            raise InputError("index.kind", f"unknown kind {kind!r}", f"one of {', '.join(get_args(Kind))}")
        vectors = check_vectors(vectors, "vectors")
        if len(names) != len(vectors) or not len(names):
            raise InputError("index", f"{len(names)} names for {len(vectors)} vectors", "one vector each, at least one")
        if len(set(names)) != len(names):
            raise InputError("index", "a name occurs twice", "names identify declarations: make them unique")
        index = cls(list(names), vectors, kind, meta, device)
        if kind != "flat":
            index._faiss = _make_faiss(vectors, kind, options or IndexOptions())
        return index

    def save(self, folder: Path) -> None:
        """Write the folder, atomically."""
        with atomic_path(folder) as scratch:
            scratch.mkdir(parents=True)
            np.save(scratch / "vectors.npy", self.vectors)
            write_text(scratch / "names.txt", "".join(f"{name}\n" for name in self.names))
            if self._faiss is not None:
                faiss.write_index(self._faiss, str(scratch / "faiss.index"))
            values = asdict(self.meta) | {"kind": self.kind, "size": len(self.names), "dim": self.vectors.shape[1]}
            write_json(scratch / "meta.json", values)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        model: str | None = None,
        contract: TokenizationContract | None = None,
        corpus: str | None = None,
        device: str = "cpu",
    ) -> DenseIndex:
        """Read an index; whatever of model digest, contract and corpus digest is given must be its own.

        Raises:
            InputError: missing or damaged file, or an index of another model, contract or corpus.
        """
        folder = Path(folder)
        values = read_json(folder / "meta.json")
        try:
            meta = IndexMeta(
                model=values["model"],
                corpus=values["corpus"],
                contract=TokenizationContract.from_dict(values["contract"], folder / "meta.json"),
                dtype=values["dtype"],
            )
            kind, size, dim = values["kind"], values["size"], values["dim"]
        except (KeyError, TypeError) as error:
            raise InputError(folder / "meta.json", "damaged", _FIX) from error
        if model is not None and model != meta.model:
            raise InputError(folder, f"index of another model ({meta.model[:12]}, not {model[:12]})", _FIX)
        if corpus is not None and corpus != meta.corpus:
            raise InputError(folder, f"index of another corpus ({meta.corpus[:12]}, not {corpus[:12]})", _FIX)
        if contract is not None:
            contract.require_equal(meta.contract, folder)
        try:
            # Copy-on-write mapping: pages are shared between processes, and torch accepts the array.
            vectors = np.load(folder / "vectors.npy", mmap_mode="c", allow_pickle=False)
            names = (folder / "names.txt").read_text(encoding="utf-8").split("\n")[:-1]
            approximate = faiss.read_index(str(folder / "faiss.index")) if kind != "flat" else None
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(folder, f"damaged index: {str(error).splitlines()[0][:160]}", _FIX) from error
        if vectors.shape != (size, dim) or len(names) != size or vectors.dtype != np.float32:
            raise InputError(folder, f"damaged index: {len(names)} names, vectors {vectors.shape}", _FIX)
        return cls(names, vectors, kind, meta, device, approximate)

    def search(self, query_vectors: Vectors, k: int) -> tuple[Ids, Vectors]:
        """The k best documents (fewer if the corpus is smaller): ids (n, k), scores (n, k), best first.

        Equal scores are ordered by id. An approximate kind may miss some; the scores it gives are exact.

        Raises:
            InputError: k below 1, another dimension, NaN or infinity.
        """
        if k < 1:
            raise InputError("k", str(k), "at least 1")
        queries = check_vectors(query_vectors, "query vectors", self.vectors.shape[1])
        if self.kind == "flat" or len(queries) == 0:
            return exact_search(queries, self.vectors, k, self.device)
        return self._search_candidates(queries, min(k, len(self.names)))

    def ranks(self, query_vectors: Vectors, target_ids: Ids) -> Ids:
        """Exact 1-based rank (n,) of each query's target over the whole corpus, ties counted against it.

        Raises:
            InputError: a target that is not an id, another dimension, NaN or infinity.
        """
        queries = check_vectors(query_vectors, "query vectors", self.vectors.shape[1])
        targets = np.asarray(target_ids, dtype=np.int64)
        if targets.shape != (len(queries),):
            raise InputError("targets", f"{targets.shape} for {len(queries)} queries", "one each")
        if len(targets) and not (targets.min() >= 0 and targets.max() < len(self.names)):
            raise InputError("targets", "an id outside the corpus", f"ids are 0 to {len(self.names) - 1}")
        if self._longest is None:
            self._longest = longest_norm(self.vectors)
        return exact_ranks(queries, self.vectors, targets, self.device, self._longest)

    def ids_of(self, names: Sequence[str]) -> Ids:
        """Ids of declarations.

        Raises:
            InputError: a name that is not in the corpus.
        """
        missing = [name for name in names if name not in self._ids]
        if missing:
            raise InputError(missing[0], "not in the index", "check the name: lean-finder corpus check")
        return np.array([self._ids[name] for name in names], dtype=np.int64)

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def _search_candidates(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        wanted = min(len(self.names), max(100, k * _CANDIDATES[self.kind]))
        _, candidates = self._faiss.search(queries, wanted)  # (n, wanted), -1 where nothing was found
        ids = np.full((len(queries), k), -1, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        for row, found in enumerate(candidates):
            found = np.sort(found[found >= 0])
            values = self.vectors[found] @ queries[row]
            order = np.argsort(-values, kind="stable")[:k]
            ids[row, : len(order)], scores[row, : len(order)] = found[order], values[order]
        return ids, scores


def recall_against_exact(index: DenseIndex, query_vectors: Vectors, k: int) -> float:
    """Mean share of the exact top k that the index finds: what an approximate kind costs."""
    found, _ = index.search(query_vectors, k)
    right, _ = exact_search(check_vectors(query_vectors, "query vectors"), index.vectors, k, index.device)
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), right.tolist(), strict=True)]))


def _make_faiss(vectors: Vectors, kind: Kind, options: IndexOptions) -> Any:
    size, dim = vectors.shape
    if kind == "hnsw":
        graph: Any = faiss.IndexHNSWFlat(dim, options.links, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction, graph.hnsw.efSearch = options.build_effort, options.search_effort
        graph.add(vectors)
        return graph
    parts = options.subvectors or dim // 2
    if dim % parts:
        raise InputError("index.subvectors", f"{parts} do not divide {dim} dimensions", "choose a divisor")
    needed = 256 if kind == "ivfpq" else 16
    if size < needed:
        raise InputError("index.kind", f"{kind} needs {needed} vectors to train, there are {size}", "use flat")
    index: Any
    if kind == "ivfpq":
        cells = options.cells or max(1, min(size // 39, round(4 * size**0.5)))
        index = faiss.IndexIVFPQ(faiss.IndexFlatIP(dim), dim, cells, parts, 8, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = min(options.probes, cells)
        index.cp.seed = options.seed
    else:
        index = faiss.IndexPQFastScan(dim, parts, 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.seed = options.seed
    sample = np.random.default_rng(options.seed).permutation(size)[:_TRAINING_VECTORS]
    index.train(np.ascontiguousarray(vectors[np.sort(sample)]))
    index.add(vectors)
    return index
