"""Descriptions in dependency order, asked once, within the budget. Run: pytest tests/generation/test_informalize.py"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lean_finder.errors import InputError
from lean_finder.generation.informalize import InformalizeSettings, Report, informalize, parse_answer, user_prompt
from lean_finder.judging.client import ChatClient, ClientSettings
from lean_finder.records import Declaration, from_frame
from lean_finder.storage import read_table
from tests.generation.chat_server import PRICES, ChatServer, cost


def decl(name: str, signature: str = ": Prop", **more: str) -> Declaration:
    return Declaration(name=name, kind="def", module="Demo", line=1, signature=signature, **more)


LIBRARY = [
    decl("Demo.main", "(x : Point) : Line x → Far.thing = Demo.Point.zero", namespace="Demo"),
    decl("Demo.Line", "(p : Point) : Type", namespace="Demo"),
    decl("Demo.Point", ": Type", docstring="A point of the plane."),
    decl("Demo.Point.zero", ": Point", namespace="Demo"),
    decl("Far.thing", ": Type"),
]
CHAIN = [decl(f"c{number}", f": c{number - 1}" if number else ": Type") for number in range(12)]


def describe(library: list[Declaration], url: str, folder: Path, batch_size: int = 512, **client: Any) -> Report:
    """Run with a fresh client, as a new process would, over the folder's cache and table."""
    settings = ClientSettings(url, **({"model": "toy", "first_wait_s": 0.01, "max_attempts": 4} | client))
    chat = ChatClient(settings, folder / "cache.sqlite")
    return informalize(library, chat, InformalizeSettings(batch_size=batch_size), folder / "declarations.parquet")


def described(folder: Path) -> dict[str, str]:
    return {item.name: item.informal for item in from_frame(Declaration, read_table(folder / "declarations.parquet"))}


def test_prompts_show_what_was_described_before(server: ChatServer, tmp_path: Path) -> None:
    report = describe(LIBRARY, server.url, tmp_path)
    assert described(tmp_path)["Demo.main"] == "Title of Demo.main: It is about Demo.main."
    assert "- Demo.Line: Title of Demo.Line: It is about Demo.Line." in server.prompts["Demo.main"]
    assert "Docstring: A point of the plane." in server.prompts["Demo.Point"]
    assert (report.answered, report.failed, report.not_asked, report.described) == (5, {}, 0, 5)
    assert (report.attempts, report.prompt_tokens, report.output_tokens, report.levels) == (5, 500, 100, 3)
    assert (server.asked[-1], set(server.asked[:2])) == ("Demo.main", {"Demo.Point", "Far.thing"})


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(server: ChatServer, tmp_path: Path) -> None:
    first = describe(LIBRARY, server.url, tmp_path, **PRICES)
    before = (tmp_path / "declarations.parquet").read_bytes()
    again = describe(LIBRARY, server.url, tmp_path, **PRICES)
    assert len(server.asked) == 5
    assert (again.cached, again.attempts, again.cost) == (5, 0, 0.0)
    assert first.cost == again.total_cost == pytest.approx(cost(5))
    assert (tmp_path / "declarations.parquet").read_bytes() == before


def test_changed_content_is_asked_again_and_nothing_else(server: ChatServer, tmp_path: Path) -> None:
    describe(LIBRARY, server.url, tmp_path)
    server.asked.clear()
    changed = [replace(item, docstring="Another.") if item.name == "Demo.Point" else item for item in LIBRARY]
    describe(changed, server.url, tmp_path)
    assert server.asked == ["Demo.Point"]  # described as before, so nothing that shows it changes
    describe(changed[:1], server.url, tmp_path, model="other")
    assert server.asked == ["Demo.Point", "Demo.main"]


def test_what_has_a_description_is_kept_and_shown(server: ChatServer, tmp_path: Path) -> None:
    imported = replace(LIBRARY[2], informal="Point: imported.")
    library = [imported, LIBRARY[1], replace(decl("old"), deprecated=True), replace(decl("p"), visibility="private")]
    report = describe(library, server.url, tmp_path)
    assert server.asked == ["Demo.Line"]
    assert "- Demo.Point: Point: imported." in server.prompts["Demo.Line"]
    assert described(tmp_path)["old"] == described(tmp_path)["p"] == ""
    assert (report.wanted, report.described) == (1, 2)


@pytest.mark.parametrize("faults", [[429, 500, 503], ["malformed"], ["I think that it is a point.", '{"name": "P"}']])
def test_a_faulty_answer_is_asked_for_again(server: ChatServer, tmp_path: Path, faults: list[int | str]) -> None:
    server.faults = list(faults)
    report = describe(LIBRARY[2:3], server.url, tmp_path)
    assert (report.answered, report.failed, report.attempts) == (1, {}, len(faults) + 1)


def test_a_failure_is_counted_and_named_and_the_rest_goes_on(server: ChatServer, tmp_path: Path) -> None:
    server.faults = ["no", "no"]
    report = describe([LIBRARY[2], LIBRARY[4], LIBRARY[1]], server.url, tmp_path, concurrency=1, max_attempts=2)
    assert (report.answered, report.failed, report.failures) == (2, {"invalid": 1}, ["Demo.Point"])
    assert described(tmp_path)["Demo.Point"] == ""
    assert "- Demo.Point: A point of the plane." in server.prompts["Demo.Line"]  # its docstring stands in


def test_a_server_that_only_fails_is_left_alone(server: ChatServer, tmp_path: Path) -> None:
    server.faults = [500] * 1000
    wide = [decl(f"w{number}") for number in range(200)]
    report = describe(wide, server.url, tmp_path, batch_size=25, max_attempts=1)
    assert (report.stopped, report.failed, report.not_asked) == ("the endpoint only fails", {"unreachable": 25}, 175)


def test_requests_run_at_once_up_to_the_limit(server: ChatServer, tmp_path: Path) -> None:
    server.delay = 0.15
    describe([decl(f"w{number}") for number in range(12)], server.url, tmp_path, concurrency=3)
    assert server.most_at_once == 3


def test_a_chain_is_never_asked_out_of_order(server: ChatServer, tmp_path: Path) -> None:
    describe(list(reversed(CHAIN)), server.url, tmp_path)
    assert server.asked == [item.name for item in CHAIN]


@pytest.mark.parametrize(
    "budget",
    [{"budget_tokens": 1500}, {"budget_money": 0.0015, "prompt_price": 1.0, "output_price": 1.0}],
    ids=["tokens", "money"],
)
def test_a_spent_budget_stops_cleanly_and_a_larger_one_goes_on(
    server: ChatServer, tmp_path: Path, budget: dict[str, Any]
) -> None:
    wide = [decl(f"w{number}") for number in range(30)]
    report = describe(wide, server.url, tmp_path, max_output_tokens=50, concurrency=2, batch_size=8, **budget)
    assert report.stopped == "budget"
    assert 0 < report.answered < 30
    assert report.prompt_tokens + report.output_tokens <= 1500
    assert report.answered + report.not_asked == 30
    assert sum(map(bool, described(tmp_path).values())) == report.answered
    rest = describe(wide, server.url, tmp_path, max_output_tokens=50)
    assert (rest.cached, rest.answered, rest.stopped) == (report.answered, 30 - report.answered, "")
    assert set(server.times_asked.values()) == {1}


def test_an_unreachable_endpoint_is_one_clear_error_and_loses_nothing(server: ChatServer, tmp_path: Path) -> None:
    describe(CHAIN[:3], server.url, tmp_path)
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9/v1: cannot be reached"):
        describe(CHAIN, "http://127.0.0.1:9/v1", tmp_path, max_attempts=1)
    assert describe(CHAIN, server.url, tmp_path).cached == 3


def test_a_killed_run_asks_nothing_twice(server: ChatServer, tmp_path: Path) -> None:
    server.delay = 0.05
    script = f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent)]!r}
        from pathlib import Path
        from test_informalize import decl, describe
        describe([decl(f"w{{n}}") for n in range(60)], {server.url!r}, Path({str(tmp_path)!r}), concurrency=2)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    deadline = time.monotonic() + 60
    while len(server.asked) < 15 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.3)  # the server finishes what the killed client asked
    with closing(sqlite3.connect(tmp_path / "cache.sqlite")) as cache:
        (stored,) = cache.execute("SELECT count(*) FROM answers").fetchone()
    assert 10 < stored < 60
    report = describe([decl(f"w{number}") for number in range(60)], server.url, tmp_path)
    assert (report.described, report.cached) == (60, stored)
    assert sum(times - 1 for times in server.times_asked.values()) <= 3  # under way at the kill


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ('{"name": "A", "description": "b\\nc"}', "A: b c"),
        ('```json\n{"name": "A", "description": "b"}\n```', "A: b"),
        ('<think>{"name": "no", "description": "no"} {x}</think> {"name": "A", "description": "b"}', "A: b"),
        (
            r'{"name": "A", "description": "$\frac{1}{2} \times \mathbb{R} \{x\}$"}',
            r"A: $\frac{1}{2} \times \mathbb{R} \{x\}$",
        ),
        (r'{"name": "A", "description": "$\\nabla$ \"q\" \u00e9"}', 'A: $\\nabla$ "q" é'),
    ],
)
def test_answers(text: str, parsed: str) -> None:
    assert parse_answer(text) == parsed


@pytest.mark.parametrize(
    "text",
    ["", '["name"]', '{"name": "", "description": "b"}', '{"name": "A", "description": 3}', '{"name": "A", "descr'],
)
def test_no_answers(text: str) -> None:
    with pytest.raises(ValueError, match="no description in"):
        parse_answer(text)


def test_long_texts_are_cut() -> None:
    item = decl("a", ": " + "x " * 3000, docstring="word " * 3000)
    prompt = user_prompt(item, [("b", "y" * 1000)], InformalizeSettings(statement_chars=100, dependency_chars=50))
    assert len(prompt) < 400
    assert prompt.count("…") == 3
