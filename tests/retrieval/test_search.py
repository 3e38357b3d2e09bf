"""Guards interactive search: filters, hits, and the command. Run: pytest tests/retrieval/test_search.py"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lean_finder.cli.search import app
from lean_finder.errors import InputError
from lean_finder.records import Declaration, to_frame
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.index import DenseIndex, IndexMeta
from lean_finder.retrieval.lexical import LexicalRetriever
from lean_finder.retrieval.search import SearchFilter, search
from lean_finder.retrieval.tiny_encoder import make_tiny_encoder
from lean_finder.storage import file_digest, write_table

DECLARATIONS = [
    Declaration("IsCompact.image", "theorem", "Lib.Topology.Compact", 7, "(hs) : IsCompact (f '' s)",
                docstring="The image of a compact set under a continuous map is compact. A second sentence."),
    Declaration("IsCompact.old", "theorem", "Lib.Topology.Compact", 9, ": IsCompact s", deprecated=True,
                replacement="IsCompact.image", docstring="A compact set."),
    Declaration("compactInst", "instance", "Lib.TopologyExtra", 3, ": CompactSpace Unit", is_instance=True),
    Declaration("Group.mul_inv", "lemma", "Lib.Algebra.Group", 5, ": a * a⁻¹ = 1", docstring="word " * 90),
    Declaration("AddGroup.add_neg", "lemma", "Lib.Algebra.Group", 5, ": a + -a = 0", origin="to_additive"),
    Declaration("IsCompact.aux", "lemma", "Lib.Order", 2, ": IsCompact s", visibility="private"),
]  # fmt: skip


@pytest.fixture
def lexical() -> LexicalRetriever:
    return LexicalRetriever.build(
        [item.name for item in DECLARATIONS], [item.docstring for item in DECLARATIONS], corpus=""
    )


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (SearchFilter(), {item.name for item in DECLARATIONS} - {"IsCompact.aux"}),
        (SearchFilter(private=None), {item.name for item in DECLARATIONS}),
        (SearchFilter(private=True), {"IsCompact.aux"}),
        (SearchFilter(kinds=("lemma", "instance")), {"compactInst", "Group.mul_inv", "AddGroup.add_neg"}),
        (SearchFilter(modules=("Lib.Topology",)), {"IsCompact.image", "IsCompact.old"}),
        (SearchFilter(deprecated=True), {"IsCompact.old"}),
        (SearchFilter(deprecated=False, instances=False, generated=False), {"IsCompact.image", "Group.mul_inv"}),
        (SearchFilter(generated=True), {"AddGroup.add_neg"}),
        (SearchFilter(instances=True), {"compactInst"}),
        (SearchFilter(modules=("Lib.Nowhere",)), set()),
    ],
)
def test_filters(wanted: SearchFilter, names: set[str], lexical: LexicalRetriever) -> None:
    hits = search(lexical, DECLARATIONS, "compact", 10, wanted)
    assert {hit.name for hit in hits} == names
    assert [hit.rank for hit in hits] == list(range(1, len(names) + 1))


def test_hits_say_what_and_why(lexical: LexicalRetriever) -> None:
    best = search(lexical, DECLARATIONS, "the compact image ⊔", 2)[0]
    assert best.doc == "The image of a compact set under a continuous map is compact"
    assert best.shared == ("the", "compact", "image") and best.corpus_rank == 1
    filtered = search(lexical, DECLARATIONS, "compact image", 1, SearchFilter(deprecated=True))[0]
    assert filtered.rank == 1 and filtered.corpus_rank > 1
    long = search(lexical, DECLARATIONS, "mul inv", 1)[0]
    assert long.doc.endswith("word …") and len(long.doc) <= 162


def test_bad_requests(lexical: LexicalRetriever) -> None:
    with pytest.raises(InputError, match="there are instance, lemma, theorem"):
        search(lexical, DECLARATIONS, "x", 3, SearchFilter(kinds=("thm",)))
    with pytest.raises(InputError, match="other declarations"):
        search(lexical, DECLARATIONS[1:], "x", 3)
    with pytest.raises(InputError, match="k: 0"):
        search(lexical, DECLARATIONS, "x", 0)
    one = LexicalRetriever.build(["IsCompact.image"], ["text"], corpus="")
    assert len(search(one, DECLARATIONS[:1], "x", 10)) == 1


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    table = folder / "corpus" / "declarations.parquet"
    write_table(table, to_frame(Declaration, DECLARATIONS))
    contract = TokenizationContract(renderer="plain-v1", max_document_tokens=32, max_query_tokens=16)
    texts = [f"{item.name} {item.docstring}" for item in DECLARATIONS]
    make_tiny_encoder(folder / "retriever" / "r0", 0, texts, contract=contract)
    encoder = Encoder.load(folder / "retriever" / "r0")
    meta = IndexMeta(encoder.digest, file_digest(table), contract)
    vectors = encoder.encode_documents(texts)
    DenseIndex.build([item.name for item in DECLARATIONS], vectors, meta=meta).save(folder / "index" / "r0")
    return folder


def _run(artifacts: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments, "--artifacts", str(artifacts)], catch_exceptions=False)


def test_command_prints_results(artifacts: Path) -> None:
    out = _run(artifacts, "compact image", "-k", "2", "--mode", "lexical", "--explain").stdout
    assert "1. IsCompact.image  [theorem]" in out
    assert "Lib.Topology.Compact:7" in out and "shares: compact image" in out and "read as" in out
    assert "nothing passes" in _run(artifacts, "x", "--module", "Lib.Nowhere").stdout


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_command_prints_json(mode: str, artifacts: Path) -> None:
    result = json.loads(_run(artifacts, "compact image", "--mode", mode, "--json", "--no-deprecated").stdout)
    assert len(result["results"]) == 4 and result["mode"] == mode
    assert {"name", "kind", "signature", "doc", "module", "score"} <= result["results"][0].keys()
    assert "shared" not in result["results"][0]


def test_hybrid_is_fused_as_validation_chose(artifacts: Path, tmp_path: Path) -> None:
    for name in ("index", "retriever", "corpus"):
        (tmp_path / name).symlink_to(artifacts / name)
    (tmp_path / "fusion.json").write_text('{"fusions": [{"fusion": "weighted", "weight": 3.0}]}')

    def scores(folder: Path, *options: str) -> list[float]:
        found = json.loads(_run(folder, "compact image", "--mode", "hybrid", "--json", *options).stdout)
        return [item["score"] for item in found["results"]]

    asked = ("--fusion", "weighted", "--weight", "3")
    assert scores(tmp_path) == scores(artifacts, *asked) != scores(artifacts)
    assert scores(tmp_path, "--fusion", "reciprocal_rank", "--weight", "0.5") == scores(artifacts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ",), "empty"),
        (("x", "--mode", "psychic"), "unknown mode"),
        (("x", "--arm", "r9"), "no such file"),
        (("x", "--kind", "thm"), "no declaration has kind"),
    ],
)
def test_command_refuses(arguments: tuple[str, ...], message: str, artifacts: Path) -> None:
    with pytest.raises(InputError, match=message):
        _run(artifacts, *arguments)


def test_command_refuses_an_index_of_other_declarations(artifacts: Path, tmp_path: Path) -> None:
    for name in ("index", "retriever"):
        (tmp_path / name).symlink_to(artifacts / name)
    changed = [replace(DECLARATIONS[0], docstring="Other."), *DECLARATIONS[1:]]
    write_table(tmp_path / "corpus" / "declarations.parquet", to_frame(Declaration, changed))
    with pytest.raises(InputError, match="another corpus"):
        _run(tmp_path, "compact")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no such file"):
        _run(tmp_path / "empty", "compact")
