"""Encoding a large corpus so that a kill loses minutes: finished pieces stay on disk and are found again by content."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from lean_finder.retrieval.encoder import Encoder, Vectors
from lean_finder.storage import atomic_path

logger = logging.getLogger(__name__)

#: Raised with every change of the forward pass that moves a bit: an index is not made of two kinds of vectors.
_FORWARD_PASS = "2"
#: Documents of one shard: some fifteen seconds of two cores for a 22M encoder.
SHARD = 4096


def encode_in_shards(encoder: Encoder, texts: Sequence[str], folder: Path, shard: int = SHARD) -> Vectors:
    """Vectors (n, dim) of rendered documents, in the given order; resumable.

    A shard's file is named by a hash of forward pass, kind of device, model, number type, contract and its texts, so
    that a changed corpus reuses the shards that did not change and never one of another model. Resumed or not, the
    vectors are the same: shards do not depend on which of them were there already.

    Args:
        encoder: of the documents.
        texts: rendered.
        folder: for the pieces; the caller removes it with `forget_shards` once the vectors are stored elsewhere.
        shard: documents of a piece.
    """
    vectors = np.empty((len(texts), encoder.dim), dtype=np.float32)
    starts = range(0, len(texts), shard)
    for start in tqdm(starts, unit="shard", desc="encode", disable=len(starts) < 2):
        part = texts[start : start + shard]
        path = folder / f"{_key(encoder, part)}.npy"
        found = _read(path, (len(part), encoder.dim))
        if found is None:
            found = encoder.encode_documents(part, progress=len(starts) < 2)
            with atomic_path(path) as scratch, scratch.open("wb") as stream:
                np.save(stream, found, allow_pickle=False)
        vectors[start : start + len(part)] = found
    return vectors


def forget_shards(folder: Path) -> None:
    """Remove the pieces."""
    shutil.rmtree(folder, ignore_errors=True)


def _key(encoder: Encoder, texts: Sequence[str]) -> str:
    parts = (_FORWARD_PASS, encoder.device.type, encoder.digest, encoder.dtype, encoder.contract.digest(), "")
    digest = hashlib.sha256("\0".join(parts).encode())
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:32]


def _read(path: Path, shape: tuple[int, int]) -> Vectors | None:
    if not path.is_file():
        return None
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        logger.warning("%s is not readable (%s): encoded again", path, error)
        return None
    return vectors if vectors.shape == shape and vectors.dtype == np.float32 and np.isfinite(vectors).all() else None
