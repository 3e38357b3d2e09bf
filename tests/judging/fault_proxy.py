"""A small chat server and a proxy in front of it that breaks answers on order. Both are real HTTP servers."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run a server on a free port of this machine; yields its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


class Chat:
    """A chat server that judges by a rule: consistent if the query's words all occur in the declaration's text.

    Attributes:
        asked: user message of every request that reached it.
        bodies: their whole bodies.
        keys: their Authorization headers.
    """

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        chat = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                chat.bodies.append(body)
                chat.keys.append(self.headers.get("Authorization", ""))
                user = body["messages"][1]["content"]
                chat.asked.append(user)
                document, query = user.split("\n\nQuery (a JSON string):\n")
                consistent = all(word in document for word in json.loads(query).split())
                self.reply(200, completion(json.dumps({"difference": "", "consistent": consistent})))

        self.handler = Handler


class QuietHandler(BaseHTTPRequestHandler):
    """Answers with JSON and keeps no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def completion(text: str | None, finish: str = "stop", refusal: str | None = None) -> bytes:
    """The body of a chat completion that cost 100 + 10 tokens."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
    ).encode()


class FaultProxy:
    """Forwards to `upstream`, unless `fault` names something else for the n-th request (counted from 0).

    Faults: "" (forward), "slow", "429", "500", "400", "401", "404", "cut", "malformed" (no JSON at all), "not_json"
    (an answer whose text is no JSON), "wrong_schema", "refusal", "length", "no_choices", "no_usage" (a good answer
    that does not say what it cost), "endless" (bytes that never end).
    """

    def __init__(self, upstream: str, fault: Callable[[int], str]) -> None:
        self.count = 0
        self.most_at_once = 0
        lock, proxy, address = threading.Lock(), self, urlsplit(upstream)
        open_now = [0]

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    number = proxy.count
                    proxy.count += 1
                    open_now[0] += 1
                    proxy.most_at_once = max(proxy.most_at_once, open_now[0])
                try:
                    getattr(self, f"fault_{fault(number)}", self.plain)(fault(number), body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with lock:
                        open_now[0] -= 1

            def fault_(self, name: str, body: bytes) -> None:
                forward = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
                headers = {"Content-Type": "application/json", "Authorization": self.headers["Authorization"] or ""}
                forward.request("POST", self.path, body, headers)
                answer = forward.getresponse()
                self.reply(answer.status, answer.read())
                forward.close()

            def fault_slow(self, name: str, body: bytes) -> None:
                time.sleep(0.2)
                self.fault_("", body)

            def fault_429(self, name: str, body: bytes) -> None:
                self.reply(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0.05"})

            def fault_cut(self, name: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"id": "1", "cho')
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset
                self.connection.close()
                self.close_connection = True

            def fault_malformed(self, name: str, body: bytes) -> None:
                self.reply(200, b"<html>the gateway says hello</html>")

            def fault_not_json(self, name: str, body: bytes) -> None:
                self.reply(200, completion("Sure! They are consistent."))

            def fault_wrong_schema(self, name: str, body: bytes) -> None:
                self.reply(200, completion('{"consistent": "yes, quite"}'))

            def fault_refusal(self, name: str, body: bytes) -> None:
                self.reply(200, completion(None, refusal="I cannot help with that."))

            def fault_length(self, name: str, body: bytes) -> None:
                self.reply(200, completion('{"difference": "and then, and then, and', finish="length"))

            def fault_no_usage(self, name: str, body: bytes) -> None:
                answer = json.loads(completion('{"difference": "", "consistent": true}'))
                self.reply(200, json.dumps(answer | {"usage": None}).encode())

            def fault_no_choices(self, name: str, body: bytes) -> None:
                self.reply(200, b'{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}')

            def fault_endless(self, name: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while True:
                    self.wfile.write(b"1\r\n \r\n")
                    self.wfile.flush()
                    time.sleep(0.02)

            def plain(self, name: str, body: bytes) -> None:
                self.reply(int(name), json.dumps({"error": {"message": f"status {name} on order"}}).encode())

        self.handler = Handler
