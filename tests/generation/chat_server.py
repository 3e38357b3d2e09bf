"""A real HTTP server that speaks the OpenAI chat protocol, with faults on order."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What every answer costs in tokens, and a client's settings of what a million of them cost.
PROMPT_TOKENS, OUTPUT_TOKENS = 100, 20
PRICES = {"prompt_price": 2.0, "output_price": 10.0}


def cost(answers: int) -> float:
    """What so many answers cost at `PRICES`."""
    return answers * (PROMPT_TOKENS * PRICES["prompt_price"] + OUTPUT_TOKENS * PRICES["output_price"]) / 1e6


@dataclass
class ChatServer:
    """What the server does, and what it saw.

    Attributes:
        faults: responses to the next requests: an HTTP status, "malformed" (200, no JSON body), or a text that the
            model answers instead.
        delay: seconds before every answer.
        asked: declaration of every request, in order of arrival.
        prompts: the last user prompt about each declaration.
        most_at_once: the largest number of requests under way.
    """

    url: str = ""
    faults: list[int | str] = field(default_factory=list)
    delay: float = 0.0
    asked: list[str] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    most_at_once: int = 0
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def times_asked(self) -> Counter[str]:
        """How often each declaration was asked for."""
        return Counter(self.asked)

    def answer(self, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body of one response."""
        question = body["messages"][1]["content"]
        name = question.split()[1]
        with self._lock:
            self.asked.append(name)
            self.prompts[name] = question
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            fault = self.faults.pop(0) if self.faults else None
        time.sleep(self.delay)
        with self._lock:
            self._under_way -= 1
        if isinstance(fault, int):
            return fault, b'{"error": {"message": "not now", "type": "server_error"}}'
        if fault == "malformed":
            return 200, b'{"choices": [{"mess'
        text = fault or json.dumps({"name": f"Title of {name}", "description": f"It is about {name}."})
        answer: dict[str, Any] = {
            "id": "1", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {
                "prompt_tokens": PROMPT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
                "total_tokens": PROMPT_TOKENS + OUTPUT_TOKENS,
            },
        }  # fmt: skip
        return 200, json.dumps(answer).encode()


@contextmanager
def serving() -> Iterator[ChatServer]:
    """A server on a free port of this machine."""
    state = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, data = state.answer(body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
