"""Base retriever and base generator, checked by hash.

Reads: the sources in `models` (a package's files, a hub name, a folder, or "tiny": made on the spot from the library's
own text). Writes: `artifacts/base/retriever` (with its tokenization contract) and `artifacts/base/generator`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from lean_finder.base_models import copy_model, fetch
from lean_finder.generation.models import make_tiny_generator, save_smollm2
from lean_finder.params import ModelSource, Params
from lean_finder.pipeline import paths
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.tiny_encoder import make_tiny_encoder
from lean_finder.storage import atomic_path
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Fetch or make both base models."""
    texts = _library_text(Path(params.data.library)) if "tiny" in _sources(params) else []
    with tempfile.TemporaryDirectory() as scratch:
        with atomic_path(paths.BASE_RETRIEVER) as out:
            source = params.models.retriever
            if source.source == "tiny":
                make_tiny_encoder(out, seed=params.seed, texts=texts)
            else:
                copy_model(_fetch(source, Path(scratch, "retriever")), out)
            TokenizationContract(renderer=params.corpus.renderer, **params.contract.model_dump()).save(out)
        with atomic_path(paths.BASE_GENERATOR) as out:
            source = params.models.generator
            if source.source == "tiny":
                make_tiny_generator(out, seed=params.seed, texts=texts)
            else:
                found = _fetch(source, Path(scratch, "generator"))
                save_smollm2(found, out) if found.suffix == ".gguf" else copy_model(found, out)
    for folder in (paths.BASE_RETRIEVER, paths.BASE_GENERATOR):
        tracked.output(folder)


def _sources(params: Params) -> set[str]:
    return {params.models.retriever.source, params.models.generator.source}


def _fetch(source: ModelSource, scratch: Path) -> Path:
    scratch.mkdir()
    return fetch(source.source, source.name, source.path, source.sha256, scratch)


def _library_text(library: Path) -> list[str]:
    """Lines of the library that are about as long as a query, so that a tiny generator learns to end."""
    lines = [line.strip() for path in sorted(library.rglob("*.lean")) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if 10 <= len(line) <= 60]
