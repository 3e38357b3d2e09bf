"""What holds for every test: no network, no telemetry, its own tracking store, a fixed number of threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_socket import socket_allow_hosts

from tests.generation.chat_server import ChatServer, serving

# Set before any library is imported: they read their environment once.
os.environ.update(
    {
        "DVC_NO_ANALYTICS": "1",
        "GX_ANALYTICS_ENABLED": "false",
        "HF_HUB_OFFLINE": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "OMP_NUM_THREADS": "1",  # tiny models: a second thread only waits, and other workers need it
        "TOKENIZERS_PARALLELISM": "false",
    }
)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Connections to this machine stay possible: some tests run a real server."""
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout that the tests belong to."""
    return ROOT


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A chat server for clients that write descriptions."""
    with serving() as running:
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest chain starts first, so that the other worker's tests run beside it."""
    items.sort(key=lambda item: item.path.name != "test_end_to_end.py")
