"""Guards the LLM judge against a real model server behind a proxy that breaks answers (slow: starts the server).

Alone: pytest tests/judging/test_llm_server.py -m slow
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_socket import enable_socket, socket_allow_hosts

from lean_finder.generation.models import make_tiny_generator
from lean_finder.judging.client import ChatClient, ClientSettings
from lean_finder.judging.llm import LlmJudge
from tests.judging.fault_proxy import FaultProxy, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("transformers") is None, reason="transformers[serving] is a development extra"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """`transformers serve` on a tiny model; yields its base URL and the model's name."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1"])
    folder = tmp_path_factory.mktemp("served") / "tiny"
    make_tiny_generator(folder, seed=1, texts=['{"difference": "", "consistent": true}'] * 20)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["transformers", "serve", str(folder), "--device", "cpu", "--host", "127.0.0.1"]
    with (folder.parent / "log").open("w") as log:
        process = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1", str(folder)
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        assert process.poll() is None, "the server died"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(1)
    raise AssertionError("the server did not start")


def test_a_real_server_behind_faults(server: tuple[str, str], tmp_path: Path) -> None:
    upstream, model = server
    enable_socket()  # closed again before every test; this one talks to this machine alone
    socket_allow_hosts(["127.0.0.1"])
    faults = ["slow", "429", "500", "cut", "malformed", "wrong_schema", "endless"]
    proxy = FaultProxy(upstream, lambda number: faults[number] if number < len(faults) else "")
    with serving(proxy.handler) as url:
        settings = ClientSettings(
            url, model, concurrency=2, timeout_s=60, first_wait_s=0.01, max_attempts=8, max_output_tokens=40
        )
        judge = LlmJudge(ChatClient(settings, tmp_path / "cache.sqlite"), lambda name: f"theorem {name}")
        queries, names = [f"query {i}" for i in range(4)], [f"t{i}" for i in range(4)]
        started = time.monotonic()
        verdicts = judge.judge(queries, names)
        assert time.monotonic() - started < 60 + 240  # the endless answer, and whatever a tiny model babbles
        summary = judge.client.summary
        asked = proxy.count
        again = LlmJudge(ChatClient(settings, tmp_path / "cache.sqlite"), lambda name: f"theorem {name}")
        assert again.judge(queries, names) == verdicts
    assert proxy.count == asked  # what the first judge paid for, failures included, is not asked again
    assert summary.retries >= len(faults) - 1 and summary.output_tokens > 0
    failed = sum(summary.failures.values())
    assert verdicts.count(None) == failed  # a tiny model may well babble: then it is a failure, not a verdict
    assert set(summary.failures) <= {"invalid"}
