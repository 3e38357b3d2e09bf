"""The small tree of results, once for reading and once to be damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lean_finder.reporting.results import build_results
from tests.reporting.result_tree import Tree, write_tree


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A whole run, to be read only."""
    return write_tree(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def results(tree: Tree) -> dict[str, Any]:
    """Its results, to be read only."""
    return build_results(tree.study())


@pytest.fixture
def own_tree(tmp_path: Path) -> Callable[[], Tree]:
    """A whole run of the test's own, to be damaged."""
    return lambda: write_tree(tmp_path)
