"""A tiny generator and a small made-up library for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lean_finder.generation.models import make_tiny_generator
from lean_finder.records import Declaration, to_frame
from tests.generation.toy_library import library


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny base generator folder."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    texts = [f"{item.name} {item.signature} {item.docstring}" for item in library()]
    make_tiny_generator(folder, seed=3, texts=texts)
    return folder


@pytest.fixture
def declarations() -> pd.DataFrame:
    """`library` as a frame."""
    return to_frame(Declaration, library())
