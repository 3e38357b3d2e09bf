"""Descriptions in dependency order, asked once, within the budget. Run: pytest tests/generation/test_informalize.py"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_socket
from chat_server import ChatServer, SdkChat, serving
from hypothesis import given, settings
from hypothesis import strategies as st

from lean_finder.errors import InputError
from lean_finder.generation.informalize import (
    InformalizeSettings,
    Journal,
    dependency_plan,
    informalize,
    parse_answer,
    user_prompt,
)
from lean_finder.records import Declaration, from_frame
from lean_finder.storage import read_table


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


@pytest.fixture
def server() -> Iterator[ChatServer]:
    pytest_socket.enable_socket()
    pytest_socket.socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    with serving() as running:
        yield running


def described(out: Path) -> dict[str, str]:
    return {item.name: item.informal for item in from_frame(Declaration, read_table(out / "declarations.parquet"))}


def names(library: list[Declaration], positions: list[int]) -> list[str]:
    return [library[index].name for index in positions]


def test_names_in_statements_are_dependencies_found_as_lean_finds_them() -> None:
    plan = dependency_plan(LIBRARY)
    assert names(LIBRARY, plan.dependencies[0]) == ["Demo.Point", "Demo.Line", "Far.thing", "Demo.Point.zero"]
    assert names(LIBRARY, plan.dependencies[3]) == ["Demo.Point"]
    order = names(LIBRARY, plan.order)
    assert order == ["Demo.Point", "Demo.Line", "Demo.Point.zero", "Far.thing", "Demo.main"]
    assert plan.broken == 0


def test_a_generated_declaration_builds_on_its_source() -> None:
    library = [decl("add_x", ": True", generated_by="mul_x"), decl("mul_x", ": True")]
    assert names(library, dependency_plan(library).order) == ["mul_x", "add_x"]


def test_the_innermost_namespace_wins_and_bound_letters_are_no_names() -> None:
    library = [
        decl("A.B.t", "(x : foo) : x = x", namespace="A.B"),
        decl("A.foo"),
        decl("foo"),
        decl("x"),
        decl("A.B.foo"),
    ]
    assert names(library, dependency_plan(library).dependencies[0]) == ["A.B.foo"]


def test_a_cycle_is_broken_inside_and_nothing_else_loses_a_dependency() -> None:
    library = [decl("dd", ": aa"), decl("aa", ": bb → zz"), decl("bb", ": cc"), decl("cc", ": aa"), decl("zz")]
    plan = dependency_plan(library)
    assert names(library, plan.order) == ["zz", "aa", "dd", "cc", "bb"]
    assert names(library, plan.dependencies[0]) == ["aa"]
    assert names(library, plan.dependencies[1]) == ["zz"]
    assert plan.broken == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), max_size=4), min_size=1, max_size=12))
def test_any_graph_gets_an_order_that_it_keeps(edges: list[list[int]]) -> None:
    library = [decl(f"n{index}", ": " + " ".join(f"n{other}" for other in found)) for index, found in enumerate(edges)]
    plan = dependency_plan(library)
    place = {index: number for number, index in enumerate(plan.order)}
    assert sorted(plan.order) == list(range(len(library)))
    assert all(place[other] < place[index] for index, found in enumerate(plan.dependencies) for other in found)
    assert dependency_plan(library) == plan


def test_prompts_show_what_was_described_before(server: ChatServer, tmp_path: Path) -> None:
    report = informalize(LIBRARY, SdkChat(server.url), InformalizeSettings(concurrency=4), tmp_path)
    assert described(tmp_path)["Demo.main"] == "Title of Demo.main: It is about Demo.main."
    assert "- Demo.Line: Title of Demo.Line: It is about Demo.Line." in server.prompts["Demo.main"]
    assert "Docstring: A point of the plane." in server.prompts["Demo.Point"]
    assert (report.answered, report.failed, report.not_asked, report.described) == (5, 0, 0, 5)
    assert (report.requests, report.prompt_tokens, report.completion_tokens) == (5, 500, 100)
    order = server.asked
    assert order.index("Demo.Point") < order.index("Demo.Line") < order.index("Demo.main")


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(server: ChatServer, tmp_path: Path) -> None:
    price = InformalizeSettings(prompt_price=2.0, completion_price=10.0)
    first = informalize(LIBRARY, SdkChat(server.url), price, tmp_path)
    before = (tmp_path / "declarations.parquet").read_bytes()
    again = informalize(LIBRARY, SdkChat(server.url), price, tmp_path)
    assert len(server.asked) == 5
    assert (again.from_journal, again.requests, again.cost) == (5, 0, 0.0)
    assert first.cost == again.total_cost == pytest.approx((500 * 2.0 + 100 * 10.0) / 1e6)
    assert (tmp_path / "declarations.parquet").read_bytes() == before


def test_only_changed_content_is_asked_again(server: ChatServer, tmp_path: Path) -> None:
    informalize(LIBRARY, SdkChat(server.url), InformalizeSettings(), tmp_path)
    server.asked.clear()
    changed = [replace(item, docstring="Another.") if item.name == "Demo.Point" else item for item in LIBRARY]
    informalize(changed, SdkChat(server.url), InformalizeSettings(), tmp_path)
    assert server.asked == ["Demo.Point"]
    informalize(changed[:1], SdkChat(server.url, model="other"), InformalizeSettings(), tmp_path)
    assert server.asked == ["Demo.Point", "Demo.main"]


def test_what_has_a_description_is_kept_and_shown(server: ChatServer, tmp_path: Path) -> None:
    library = [replace(LIBRARY[2], informal="Point: imported."), LIBRARY[1], decl("old", deprecated=True)]  # type: ignore[arg-type]
    informalize(library, SdkChat(server.url), InformalizeSettings(), tmp_path)
    assert server.asked == ["Demo.Line"]
    assert "- Demo.Point: Point: imported." in server.prompts["Demo.Line"]
    assert described(tmp_path)["old"] == ""


def test_a_busy_server_is_asked_again(server: ChatServer, tmp_path: Path) -> None:
    server.faults = [429, 500, 503]
    report = informalize(LIBRARY[2:3], SdkChat(server.url), InformalizeSettings(), tmp_path)
    assert (report.answered, report.failed) == (1, 0)
    assert len(server.asked) == 4


def test_an_answer_in_another_form_is_asked_for_again_and_paid_for(server: ChatServer, tmp_path: Path) -> None:
    server.faults = ["I think that it is a point.", '{"name": "Point"}']
    report = informalize(LIBRARY[2:3], SdkChat(server.url), InformalizeSettings(attempts=3), tmp_path)
    assert (report.answered, report.requests, report.prompt_tokens) == (1, 3, 300)


def test_a_failure_is_counted_named_and_not_remembered(server: ChatServer, tmp_path: Path) -> None:
    server.faults = ["no", "no", "malformed"]
    library = [LIBRARY[2], LIBRARY[4], LIBRARY[1]]
    report = informalize(library, SdkChat(server.url, retries=0), InformalizeSettings(concurrency=1), tmp_path)
    assert (report.answered, report.failed, report.failures) == (1, 2, ["Demo.Point", "Far.thing"])
    assert described(tmp_path)["Demo.Point"] == ""
    assert report.described == 1
    again = informalize(library, SdkChat(server.url), InformalizeSettings(), tmp_path)
    assert (again.from_journal, again.answered, again.failed) == (1, 2, 0)
    assert again.total_cost == 0.0


def test_a_server_that_only_fails_is_left_alone(server: ChatServer, tmp_path: Path) -> None:
    server.faults = [500] * 50
    limits = InformalizeSettings(concurrency=1, max_failures_in_row=3)
    report = informalize(CHAIN, SdkChat(server.url, retries=0), limits, tmp_path)
    assert (report.stopped, report.failed, report.not_asked) == ("failures in a row", 3, 9)


def test_requests_run_at_once_up_to_the_limit(server: ChatServer, tmp_path: Path) -> None:
    server.delay = 0.15
    wide = [decl(f"w{number}") for number in range(12)]
    informalize(wide, SdkChat(server.url), InformalizeSettings(concurrency=3), tmp_path)
    assert server.most_at_once == 3


def test_a_chain_is_never_asked_out_of_order(server: ChatServer, tmp_path: Path) -> None:
    informalize(list(reversed(CHAIN)), SdkChat(server.url), InformalizeSettings(concurrency=8), tmp_path)
    assert server.asked == [item.name for item in CHAIN]


@pytest.mark.parametrize(("usage", "budget"), [(True, 1_500), (False, 6_000)])
def test_the_token_budget_is_never_exceeded_and_can_be_raised(
    server: ChatServer, tmp_path: Path, usage: bool, budget: int
) -> None:
    server.usage = usage
    limits = InformalizeSettings(max_tokens=budget, attempts=1, max_answer_tokens=100)
    report = informalize(CHAIN, SdkChat(server.url), limits, tmp_path)
    assert report.stopped == "token budget"
    assert 0 < report.answered < len(CHAIN)
    assert report.prompt_tokens + report.completion_tokens <= budget
    assert report.answered + report.not_asked == len(CHAIN)
    assert sum(bool(text) for text in described(tmp_path).values()) == report.answered
    stopped_again = informalize(CHAIN, SdkChat(server.url), limits, tmp_path)
    assert (stopped_again.answered, stopped_again.described) == (0, report.answered)
    rest = informalize(CHAIN, SdkChat(server.url), replace(limits, max_tokens=0), tmp_path)
    assert (rest.from_journal, rest.answered, rest.stopped) == (report.answered, len(CHAIN) - report.answered, "")
    assert set(server.times_asked.values()) == {1}


def test_the_money_budget_stops_too(server: ChatServer, tmp_path: Path) -> None:
    limits = InformalizeSettings(
        max_cost=0.02, prompt_price=1.0, completion_price=100.0, attempts=1, max_answer_tokens=100, concurrency=4
    )
    wide = [decl(f"w{number}") for number in range(40)]
    report = informalize(wide, SdkChat(server.url), limits, tmp_path)
    assert report.stopped == "money budget"
    assert 0 < report.answered < 40
    assert report.cost == report.total_cost <= 0.02


def test_an_unreachable_endpoint_is_one_clear_error_and_loses_nothing(server: ChatServer, tmp_path: Path) -> None:
    informalize(CHAIN[:3], SdkChat(server.url), InformalizeSettings(), tmp_path)
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9/v1: the endpoint cannot be reached"):
        informalize(CHAIN, SdkChat("http://127.0.0.1:9/v1", retries=0), InformalizeSettings(), tmp_path)
    assert informalize(CHAIN, SdkChat(server.url), InformalizeSettings(), tmp_path).from_journal == 3


def test_a_killed_run_asks_nothing_twice(server: ChatServer, tmp_path: Path) -> None:
    server.delay = 0.05
    script = f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent)]!r}
        from pathlib import Path
        from chat_server import SdkChat
        from test_informalize import CHAIN, InformalizeSettings, decl, informalize
        wide = [decl(f"w{{number}}") for number in range(60)]
        informalize(wide, SdkChat({server.url!r}), InformalizeSettings(concurrency=2), Path({str(tmp_path)!r}))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    deadline = time.monotonic() + 60
    while len(server.asked) < 15 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.2)  # the server finishes what the killed client asked
    stored = {json.loads(line)["name"] for line in (tmp_path / "answers.jsonl").read_bytes().splitlines()[:-1]}
    assert 10 < len(stored) < 60
    first = set(server.asked)
    report = informalize(
        [decl(f"w{number}") for number in range(60)], SdkChat(server.url), InformalizeSettings(), tmp_path
    )
    assert report.described == 60
    twice = {name for name, times in server.times_asked.items() if times > 1}
    assert not twice & stored
    assert twice <= first - stored
    assert len(twice) <= 3  # two under way at the kill, one line perhaps cut off


def test_the_journal_survives_a_cut_line_and_names_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with Journal(path) as journal:
        journal.add("k1", "a", "A: a.", (3, 4))
        journal.add("k2", "b", None, (5, 6))
        with pytest.raises(InputError, match="another run writes to it"):
            Journal(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "k3", "na')
    with Journal(path) as journal:
        assert journal.texts == {"k1": "A: a."}
        assert (journal.prompt_tokens, journal.completion_tokens) == (8, 10)
    assert path.read_bytes() == whole
    path.write_bytes(b"[]\n" + whole)
    with pytest.raises(InputError, match=r"answers\.jsonl:1: not a row of the journal"):
        Journal(path)


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
        ('{"name": "", "description": "b"}', None),
        ('{"name": "A", "description": 3}', None),
        ('["name"]', None),
        (r'{"name": "A", "description": "$a \to b$\nthen $c \neq \nu$"}', r"A: $a \to b$ then $c \neq \nu$"),
        ("", None),
        ('{"name": "A", "descr', None),
    ],
)
def test_answers(text: str, parsed: str | None) -> None:
    assert parse_answer(text) == parsed


def test_long_texts_are_cut() -> None:
    item = decl("a", ": " + "x " * 3000, docstring="word " * 3000)
    prompt = user_prompt(item, [("b", "y" * 1000)], InformalizeSettings(statement_chars=100, dependency_chars=50))
    assert len(prompt) < 400
    assert prompt.count("…") == 3
