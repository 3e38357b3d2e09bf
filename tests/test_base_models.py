"""Base models are whole, checked and free of pickles. Run alone: pytest tests/test_base_models.py"""

from __future__ import annotations

from pathlib import Path

import pytest

from lean_finder.base_models import copy_model, fetch
from lean_finder.errors import InputError
from lean_finder.storage import file_digest


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    return folder


def test_a_local_folder_with_the_right_hash(model: Path, tmp_path: Path) -> None:
    assert fetch("folder", str(model), "", file_digest(model), tmp_path) == model


def test_a_changed_byte_is_an_error_that_names_both_hashes(model: Path, tmp_path: Path) -> None:
    expected = file_digest(model)
    (model / "model.safetensors").write_bytes(b"weightz")
    with pytest.raises(InputError, match=expected):
        fetch("folder", str(model), "", expected, tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        fetch("folder", str(tmp_path / "nowhere"), "", "", tmp_path)


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty"):
        fetch("folder", str(tmp_path / "empty"), "", "", tmp_path)


def test_a_package_that_cannot_be_had_is_one_clear_error(tmp_path: Path) -> None:
    # Not a valid requirement, so pip refuses before it asks any server.
    with pytest.raises(InputError, match="download failed"):
        fetch("package", "not a requirement==", "model", "", tmp_path)


def test_pickles_stay_behind(model: Path, tmp_path: Path) -> None:
    copy_model(model, tmp_path / "copy")
    assert sorted(item.name for item in (tmp_path / "copy").iterdir()) == ["config.json", "model.safetensors"]


def test_weights_that_would_need_unpickling_are_refused(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").unlink()
    with pytest.raises(InputError, match="safetensors"):
        copy_model(model, tmp_path / "copy")
