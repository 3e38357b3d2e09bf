"""Guards vectors, contract and refusals of the encoder. Run: pytest tests/retrieval/test_encoder.py"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import Qwen3Config, Qwen3Model

from lean_finder.errors import InputError
from lean_finder.retrieval import encoder as encoder_module
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.embedding import embed, pool, tokenize
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.model_folder import load_backbone, load_tokenizer, save_model_folder
from lean_finder.retrieval.tiny_encoder import make_tiny_encoder
from lean_finder.storage import file_digest
from tests.retrieval.conftest import ToyWorld


def test_vectors_equal_sentence_transformers(toy: ToyWorld) -> None:
    texts = [*list(toy.documents.values())[:50], "sum", " ".join(["the sum of a group is finite"] * 40)]
    encoder = Encoder.load(toy.encoder)
    peer = SentenceTransformer(str(toy.encoder), device="cpu")
    assert np.abs(encoder.encode_documents(texts) - peer.encode(texts)).max() < 1e-5


def test_own_forward_pass_equals_transformers(toy: ToyWorld, tmp_path: Path) -> None:
    """Tokens and vectors, with and without padding, empty and overlong texts included."""
    texts = [*list(toy.documents.values())[:9], "", "[CLS] sum [MASK]", "x" * 10_000, "sum " * 500]
    ours = Encoder.load(toy.encoder)
    contract = ours.contract
    tokenizer = load_tokenizer(toy.encoder, contract)
    rows, others = (tokenize(item, texts, contract, "document") for item in (ours.tokenizer, tokenizer))
    assert [row.tolist() for row in rows] == [row.tolist() for row in others]
    peer = load_backbone(toy.encoder, torch.float32)
    place = torch.device("cpu")
    with torch.inference_mode():
        for batch in (rows, rows[:1]):
            expected = embed(peer, batch, contract, 0, place)
            assert (embed(ours.model, batch, contract, 0, place) - expected).abs().max() < 1e-5
    shutil.copytree(toy.encoder, tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 3}))
    with pytest.raises(InputError, match="do not fit the config"):
        Encoder.load(tmp_path / "model")


def test_half_precision_moves_a_vector_by_less_than_a_rank(toy: ToyWorld) -> None:
    """What `index.dtype: bfloat16` rests on; rounding is 2^-9 of a number, and float32 is what queries keep."""
    texts = list(toy.documents.values())
    whole = Encoder.load(toy.encoder, device="cpu").encode_documents(texts)
    half = Encoder.load(toy.encoder, device="cpu", dtype="bfloat16").encode_documents(texts)
    assert half.dtype == np.float32
    assert 0 < np.abs(whole - half).max() < 0.02
    assert (whole * half).sum(axis=1).min() > 0.999


def test_encoding_needs_no_transformers(toy: ToyWorld) -> None:
    """Ten seconds of a core at every start of a stage and of `lean-finder search`."""
    code = "import sys; from pathlib import Path; from lean_finder.retrieval.encoder import Encoder; "
    code += "Encoder.load(Path(sys.argv[1])).encode_queries(['sum']); sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, str(toy.encoder)], check=False).returncode == 0


def test_order_and_batching_do_not_change_vectors(toy: ToyWorld) -> None:
    encoder = Encoder.load(toy.encoder)
    texts = list(toy.documents.values())
    together = encoder.encode_documents(texts)
    assert np.abs(together[::-1] - encoder.encode_documents(texts[::-1])).max() < 1e-5
    assert np.abs(together[7] - encoder.encode_documents([texts[7]])[0]).max() < 1e-5
    assert encoder.encode_documents([]).shape == (0, encoder.dim)


def test_vectors_do_not_depend_on_the_number_of_threads(toy: ToyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads take batches of their own, so that no sum is split between them; several batches, or nothing is seen."""
    monkeypatch.setitem(encoder_module._BATCH_TOKENS, ("cpu", True), 64)
    encoder = Encoder.load(toy.encoder, device="cpu")
    texts = list(toy.documents.values())
    before = torch.get_num_threads()
    seen: list[tuple[int, int]] = []

    def watched(*args: Any) -> torch.Tensor:
        seen.append((threading.get_ident(), torch.get_num_threads()))
        return embed(*args)

    monkeypatch.setattr(encoder_module, "embed", watched)
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(encoder.encode_documents(texts))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert len({thread for thread, _ in seen}) > 2 and {threads for _, threads in seen} == {1}


def test_without_onednn_the_usual_product_gives_the_same(toy: ToyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list(toy.documents.values())
    packed = Encoder.load(toy.encoder, device="cpu")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    usual = Encoder.load(toy.encoder, device="cpu")
    assert np.abs(packed.encode_documents(texts) - usual.encode_documents(texts)).max() < 1e-5
    assert {layer._packed is None for layer in packed.model._linears.values()} == {False}
    assert {layer._packed is None for layer in usual.model._linears.values()} == {True}


@pytest.mark.parametrize(("dtype", "short"), [("float16", "fp16"), ("bfloat16", "bf16")])
def test_a_processor_without_half_wide_products_encodes_all_the_same(
    dtype: str, short: str, toy: ToyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = list(toy.documents.values())[:20]
    whole = Encoder.load(toy.encoder, device="cpu").encode_documents(texts)
    assert np.abs(Encoder.load(toy.encoder, device="cpu", dtype=dtype).encode_documents(texts) - whole).max() < 0.02
    monkeypatch.setattr(torch.ops.mkldnn, f"_is_mkldnn_{short}_supported", lambda: False)
    half = Encoder.load(toy.encoder, device="cpu", dtype=dtype)
    assert {layer._packed is None for layer in half.model._linears.values()} == {True}
    assert np.abs(half.encode_documents(texts) - whole).max() < 0.02


def test_prefix_and_lengths_belong_to_the_side(toy: ToyWorld) -> None:
    base = Encoder.load(toy.encoder).contract
    folder = toy.encoder
    plain = replace(base, query_prefix="union ", max_query_tokens=8)
    (contractless := folder.parent / "contractless").mkdir(exist_ok=True)
    for item in folder.iterdir():
        if item.is_file() and item.name != "contract.json":
            shutil.copy(item, contractless / item.name)
    encoder = Encoder.load(contractless, plain)
    whole = Encoder.load(folder)
    assert np.allclose(encoder.encode_queries(["sum"]), whole.encode_queries(["union sum"]), atol=1e-6)
    assert np.allclose(encoder.encode_documents(["sum"]), whole.encode_documents(["sum"]), atol=1e-6)
    long = "sum of a group is finite and empty and positive"
    assert not np.allclose(encoder.encode_queries([long]), whole.encode_queries(["union " + long]), atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_last_token_pooling_ignores_the_padding(side: str) -> None:
    hidden = torch.arange(24.0).reshape(2, 4, 3)
    rows = {"left": [[0, 0, 1, 1], [1, 1, 1, 1]], "right": [[1, 1, 0, 0], [1, 1, 1, 1]]}
    last = pool(hidden, torch.tensor(rows[side]), "last")
    assert last[0].tolist() == hidden[0, 3 if side == "left" else 1].tolist()
    assert last[1].tolist() == hidden[1, 3].tolist()


def test_qwen3_kind_of_encoder(toy: ToyWorld, tmp_path: Path) -> None:
    """Last token, left padding, instruction, end token: equal to one text at a time, and to sentence-transformers."""
    torch.manual_seed(0)
    contract = TokenizationContract(
        query_prefix="find ", pooling="last", padding_side="left", end_token="[SEP]", max_query_tokens=16
    )
    tokenizer = load_tokenizer(toy.encoder, contract)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        pad_token_id=0,
    )
    save_model_folder(Qwen3Model(config), tokenizer, contract, tmp_path / "qwen")
    encoder = Encoder.load(tmp_path / "qwen")
    assert encoder.contract == contract
    texts = ["sum of a group", "union", "the kernel of a ring is finite and the image is empty"]
    together = encoder.encode_documents(texts)
    alone = np.concatenate([encoder.encode_documents([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    peer = SentenceTransformer(str(tmp_path / "qwen"), device="cpu")
    assert np.abs(together - peer.encode(texts)).max() < 1e-5
    assert np.abs(encoder.encode_queries(["sum"]) - peer.encode_query(["sum"])).max() < 1e-5


def test_contract_mismatch_is_an_error(toy: ToyWorld) -> None:
    contract = Encoder.load(toy.encoder).contract
    assert Encoder.load(toy.encoder, contract).contract == contract
    with pytest.raises(InputError, match="query_prefix"):
        Encoder.load(toy.encoder, replace(contract, query_prefix="query: "))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": "cls"}, "pooling"),
        ({"max_query_tokens": 0}, "max_query_tokens"),
        ({"normalise": "yes"}, "normalise"),
        ({"surprise": 1}, "unknown field 'surprise'"),
        ({"renderer": None}, "renderer"),
    ],
)
def test_damaged_contract_is_refused(change: dict, message: str, toy: ToyWorld, tmp_path: Path) -> None:
    shutil.copytree(toy.encoder, tmp_path / "model")
    path = tmp_path / "model" / "contract.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        Encoder.load(tmp_path / "model")


def test_contract_that_contradicts_the_models_pooling_is_refused(toy: ToyWorld, tmp_path: Path) -> None:
    shutil.copytree(toy.encoder, tmp_path / "model")
    path = tmp_path / "model" / "contract.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pooling": "last"}))
    with pytest.raises(InputError, match="pooling"):
        Encoder.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "model.safetensors"])
def test_incomplete_folder_is_refused(name: str, toy: ToyWorld, tmp_path: Path) -> None:
    shutil.copytree(toy.encoder, tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    with pytest.raises(InputError, match=name):
        Encoder.load(tmp_path / "model")


def test_missing_folder_truncated_weights_and_unknown_device(toy: ToyWorld, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such model folder"):
        Encoder.load(tmp_path / "absent")
    shutil.copytree(toy.encoder, tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(InputError, match="truncated"):
        Encoder.load(tmp_path / "model")
    with pytest.raises(InputError, match="device"):
        Encoder.load(toy.encoder, device="abacus")
    with pytest.raises(InputError, match="dtype"):
        Encoder.load(toy.encoder, dtype="int3")


def test_tiny_encoder_is_the_same_twice(tmp_path: Path) -> None:
    texts = ["the sum of two even numbers is even", "a closed subset of a compact space is compact"]
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make_tiny_encoder(tmp_path / name, seed, texts)
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b") != file_digest(tmp_path / "c")
    with pytest.raises(InputError, match="no text"):
        make_tiny_encoder(tmp_path / "d", 1, [" "])
