"""Guards resumable encoding: same vectors, nothing done twice, nothing foreign reused.

Run: pytest tests/retrieval/test_shards.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lean_finder.retrieval.encoder import Encoder, Vectors
from lean_finder.retrieval.shards import encode_in_shards, forget_shards
from tests.retrieval.conftest import ToyWorld


class CountingEncoder(Encoder):
    """Counts the documents that it encodes, and stops like a killed process after so many calls."""

    encoded = 0
    calls_left = 99

    def encode_documents(self, texts: list[str], progress: bool = False) -> Vectors:
        if not self.calls_left:
            raise KeyboardInterrupt
        self.calls_left -= 1
        self.encoded += len(texts)
        return super().encode_documents(texts, progress)


def test_a_killed_encoding_goes_on_where_it_was(toy: ToyWorld, tmp_path: Path) -> None:
    texts = list(toy.documents.values())[:100]
    encoder = CountingEncoder.load(toy.encoder)
    encoder.calls_left = 2
    with pytest.raises(KeyboardInterrupt):
        encode_in_shards(encoder, texts, tmp_path / "shards", 30)
    encoder.calls_left = 99
    vectors = encode_in_shards(encoder, texts, tmp_path / "shards", 30)
    assert encoder.encoded == 100
    assert np.abs(vectors - Encoder.load(toy.encoder).encode_documents(texts)).max() < 1e-6
    # A damaged piece and a changed text are encoded again, the rest is not.
    next((tmp_path / "shards").glob("*.npy")).write_bytes(b"half")
    assert (encode_in_shards(encoder, texts, tmp_path / "shards", 30) == vectors).all()
    assert encoder.encoded in (130, 110)
    half = CountingEncoder.load(toy.encoder, dtype="bfloat16")  # not the pieces of another number type
    encode_in_shards(half, texts, tmp_path / "shards", 30)
    assert half.encoded == 100
    before = encoder.encoded
    encode_in_shards(encoder, [*texts[:-1], "sum"], tmp_path / "shards", 30)
    assert encoder.encoded == before + 10
    forget_shards(tmp_path / "shards")
    assert not (tmp_path / "shards").exists()
    assert encode_in_shards(encoder, [], tmp_path / "shards").shape == (0, encoder.dim)
