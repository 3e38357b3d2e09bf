"""Informal descriptions by a language model, in dependency order: a prompt shows what the declaration builds on.

What depends on what is read from the records: names that occur in a statement, and what a declaration was generated
by. A cycle is broken at the member that lacks the fewest dependencies, the first of them in corpus order.

Every answer is appended to a journal the moment it arrives, under a key made of the declaration's own content, the
names of its dependencies, the model and the prompt version. A run that was killed asks nothing again that is in the
journal. A changed description of a dependency does not change the key: one edited docstring must not ask for half of
Mathlib again.
"""

from __future__ import annotations

import fcntl
import hashlib
import heapq
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from lean_finder.errors import InputError
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import write_table

logger = logging.getLogger(__name__)

#: Changes with every change of the texts below: part of every journal key.
PROMPT_VERSION = "1"
_SYSTEM = (
    "You explain Lean 4 declarations to mathematicians. Say in plain English, with LaTeX where it helps, what the "
    "declaration states or defines; name the objects by their mathematical names, not by their Lean names, and add "
    "nothing that it does not state. Answer with one JSON object and nothing else: "
    '{"name": "a short title", "description": "one to three sentences"}'
)
_AGAIN = "That was not the JSON object asked for. Answer only with it, with both texts filled."
_IDENTIFIER = re.compile(r"[^\W\d][\w'!?]*(?:\.[^\W\d][\w'!?]*)*")
#: LaTeX commands that start like JSON's escapes for a line end, a tab and a return.
_LATEX = (
    "nabla|neg|neq|ne|nexists|ni|nleq|ngeq|nmid|notin|not|nsubseteq|nu"
    "|tau|tensor|text[a-z]*|tfrac|theta|tilde|times|top|to|triangle[a-z]*|twoheadrightarrow"
    "|rangle|rceil|restriction|rfloor|rho|rightarrow|right|rm"
)
#: An escape that JSON means (kept), or a backslash of LaTeX (doubled). Nobody means `\f` and `\b` before a letter.
_ESCAPE = re.compile(rf"""(\\(?:["\\/]|u[0-9a-fA-F]{{4}}|[bf](?![a-z])|(?!(?:{_LATEX})(?![A-Za-z]))[nrt]))|\\""")
_LISTED_FAILURES = 100
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a chat model; token counts are 0 where the server did not say."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chat(Protocol):
    """A chat model, called from several threads at once. Retrying a busy server is its business."""

    @property
    def model(self) -> str:
        """Name of the model, part of the journal's keys."""

    def complete(self, messages: list[dict[str, str]], max_tokens: int) -> Reply | None:
        """The model's answer of at most `max_tokens` tokens; None if none came after all retries.

        Raises:
            InputError: the endpoint cannot be used at all (unreachable, no key, unknown model).
        """


@dataclass(frozen=True)
class InformalizeSettings:
    """How descriptions are asked for, and when to stop.

    Attributes:
        concurrency: requests at a time.
        max_dependencies: at most this many descriptions of dependencies in a prompt.
        dependency_chars: each of them, and at most this many characters.
        statement_chars: of the statement, and of the docstring.
        max_answer_tokens: of one answer.
        attempts: times that an answer that is no such JSON object is asked for.
        max_tokens: of the whole journal, prompts and answers together; 0 for no limit. Never exceeded: a request is
            sent only if its longest possible answer still fits.
        max_cost: the same in money, in the currency of the prices; 0 for no limit.
        prompt_price: for a million prompt tokens.
        completion_price: for a million answer tokens.
        max_failures_in_row: give up after this many failed declarations one after the other.
    """

    concurrency: int = 8
    max_dependencies: int = 8
    dependency_chars: int = 300
    statement_chars: int = 2000
    max_answer_tokens: int = 400
    attempts: int = 2
    max_tokens: int = 0
    max_cost: float = 0.0
    prompt_price: float = 0.0
    completion_price: float = 0.0
    max_failures_in_row: int = 20

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Money for so many tokens."""
        return (prompt_tokens * self.prompt_price + completion_tokens * self.completion_price) / _MILLION


@dataclass(frozen=True)
class Plan:
    """An order in which every declaration comes after what its prompt may show.

    Attributes:
        dependencies: for each declaration, positions of what it builds on, in the order of its statement.
        order: all positions, dependencies first.
        broken: how many dependencies were given up because they stand in a cycle.
    """

    dependencies: list[list[int]]
    order: list[int]
    broken: int


@dataclass
class Report:
    """What a run did and what it cost.

    Attributes:
        declarations: in the corpus.
        described: of them with a description now.
        wanted: public, current declarations that had none before.
        from_journal: answered without asking.
        answered: answered by this run.
        requests: sent by this run, repeated attempts included.
        failed: declarations without a usable answer.
        failures: the first of their names.
        not_asked: left when the run stopped.
        stopped: why it stopped early: "token budget", "money budget", "failures in a row", or "".
        broken: dependencies given up because of cycles.
        prompt_tokens: of this run; likewise `completion_tokens` and `cost`.
        total_cost: of the whole journal.
        seconds: wall time.
    """

    declarations: int = 0
    described: int = 0
    wanted: int = 0
    from_journal: int = 0
    answered: int = 0
    requests: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    not_asked: int = 0
    stopped: str = ""
    broken: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    total_cost: float = 0.0
    seconds: float = 0.0


def informalize(
    declarations: Sequence[Declaration],
    chat: Chat,
    settings: InformalizeSettings,
    out: Path,
    *,
    journal: Path | None = None,
) -> Report:
    """Describe every public, current declaration that has no description yet.

    Descriptions have the form "title: text". Writes `out/declarations.parquet` (all declarations, in order) also when
    a budget ends the run; a run with a larger budget goes on from there.

    Args:
        declarations: the corpus, names distinct.
        chat: the model.
        settings: prompts, budget, concurrency.
        out: folder for the table.
        journal: the file of answers, `out/answers.jsonl` by default. DVC empties a stage's outputs before it runs, so a
            stage keeps its journal elsewhere or marks it `persist`.

    Raises:
        InputError: the endpoint cannot be used, or the journal is damaged; what was answered is in the journal.
    """
    started = time.monotonic()
    plan = dependency_plan(declarations)
    with Journal(journal or out / "answers.jsonl") as answers:
        run = _Run(declarations, plan, chat, settings, answers)
        run.describe_all()
        report = run.report
        report.total_cost = settings.cost(answers.prompt_tokens, answers.completion_tokens)
    described = [replace(item, informal=text) for item, text in zip(declarations, run.texts, strict=True)]
    write_table(out / "declarations.parquet", to_frame(Declaration, described))
    report.declarations = len(described)
    report.described = sum(bool(item.informal) for item in described)
    report.broken = plan.broken
    report.cost = settings.cost(report.prompt_tokens, report.completion_tokens)
    report.seconds = time.monotonic() - started
    logger.info("informalize: %s", asdict(report))
    return report


def dependency_plan(declarations: Sequence[Declaration]) -> Plan:
    """Dependencies of all declarations and an order that respects them. The same input gives the same plan."""
    position = {item.name: index for index, item in enumerate(declarations)}
    wanted = [_mentioned(item, position) for item in declarations]
    local: dict[int, int] = {}  # place within its cycle of what stands in one
    component = list(range(len(wanted)))
    for members in _cycles(wanted):
        component_id = min(members)
        for place, index in enumerate(_greedy_order(members, wanted)):
            local[index], component[index] = place, component_id
    kept = [
        [item for item in found if component[item] != component[index] or local[item] < local[index]]
        for index, found in enumerate(wanted)
    ]
    order = _greedy_order(range(len(kept)), kept)
    return Plan(kept, order, sum(map(len, wanted)) - sum(map(len, kept)))


def _greedy_order(members: Iterable[int], dependencies: Sequence[Sequence[int]]) -> list[int]:
    """Members with dependencies first; where there is a cycle, what lacks the fewest, then the lowest position."""
    inside = set(members)
    dependents: dict[int, list[int]] = {index: [] for index in inside}
    missing = dict.fromkeys(inside, 0)
    for index in inside:
        for dependency in dependencies[index]:
            if dependency in inside:
                dependents[dependency].append(index)
                missing[index] += 1
    heap = [(count, index) for index, count in missing.items()]
    heapq.heapify(heap)
    order: dict[int, None] = {}
    while heap:
        count, index = heapq.heappop(heap)
        if index in order or count != missing[index]:  # an entry that a later, smaller one replaced
            continue
        order[index] = None
        for dependent in dependents[index]:
            missing[dependent] -= 1
            if dependent not in order:
                heapq.heappush(heap, (missing[dependent], dependent))
    return list(order)


def _cycles(dependencies: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Strongly connected components of two or more members (Tarjan's algorithm, without recursion)."""
    found: dict[int, int] = {}  # position -> number in order of discovery
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in range(len(dependencies)):
        if root in found:
            continue
        work = [(root, iter(dependencies[root]))]
        found[root] = low[root] = len(found)
        stack.append(root)
        on_stack.add(root)
        while work:
            index, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[index])
                if low[index] == found[index]:
                    start = stack.index(index)
                    members = stack[start:]
                    del stack[start:]
                    on_stack.difference_update(members)
                    if len(members) > 1:
                        yield members
            elif following not in found:
                found[following] = low[following] = len(found)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(dependencies[following])))
            elif following in on_stack:
                low[index] = min(low[index], found[following])


def _mentioned(item: Declaration, position: dict[str, int]) -> list[int]:
    """Positions of the declarations that a statement names, in order, itself excluded.

    A name is looked up as Lean does: in the namespaces of the declaration from the innermost outwards, then at the
    root. `open` is not in the records, so a name that only an `open` makes visible is not found.
    """
    own = item.name.rpartition(".")[0]
    spaces = {*_prefixes(own), *_prefixes(item.namespace), ""}
    ordered = sorted(spaces, key=lambda space: (-len(space), space))
    found: dict[int, None] = {}
    if item.generated_by in position:
        found[position[item.generated_by]] = None
    for token in _IDENTIFIER.findall(f"{item.variables} {item.signature}"):
        if len(token) == 1:  # a bound variable, whatever else has that name
            continue
        for space in ordered:
            index = position.get(f"{space}.{token}" if space else token)
            if index is not None:
                found[index] = None
                break
    found.pop(position[item.name], None)
    return list(found)


def _prefixes(dotted: str) -> Iterator[str]:
    parts = dotted.split(".") if dotted else []
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def user_prompt(item: Declaration, shown: Sequence[tuple[str, str]], settings: InformalizeSettings) -> str:
    """The question about one declaration.

    Args:
        item: the declaration.
        shown: names and descriptions of dependencies.
        settings: the lengths to cut at.
    """
    limit = settings.statement_chars
    statement = " ".join(part for part in (item.variables, item.signature) if part)
    lines = [f"{item.kind} {item.name} (module {item.module})", f"Statement: {_cut(statement, limit)}"]
    if item.docstring:
        lines.append(f"Docstring: {_cut(item.docstring, limit)}")
    if shown:
        lines.append("It builds on:")
        lines += [f"- {name}: {_cut(text, settings.dependency_chars)}" for name, text in shown]
    return "\n".join(lines)


def _cut(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def parse_answer(text: str) -> str | None:
    """ "title: description" of a model's answer, None if it holds no such JSON object.

    The object may stand in a code fence or behind other words, such as a model's thoughts; the last one counts. Models
    write LaTeX into JSON without doubling its backslashes, and `\\frac` would be read as a form feed: such a backslash
    is taken as LaTeX's.
    """
    text = _ESCAPE.sub(lambda found: found.group(1) or r"\\", text)
    decoder = json.JSONDecoder()
    found = None
    position = text.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
        else:
            found = _description(value) or found
        position = text.find("{", end)
    return found


def _description(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    name, description = value.get("name"), value.get("description")
    if not (isinstance(name, str) and isinstance(description, str) and name.strip() and description.strip()):
        return None
    return f"{' '.join(name.split())}: {' '.join(description.split())}"


class Journal:
    """An append-only file of answers: one JSON object a line, flushed to disk at once.

    A line that a kill cut off can only be the last one; it is removed. Any other bad line is an error.

    Raises:
        InputError: the file is damaged, or another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.texts: dict[str, str] = {}
        self.prompt_tokens = 0
        self.completion_tokens = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("ab")
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._load()
        except BlockingIOError as error:
            self._stream.close()
            raise InputError(path, "another run writes to it", "wait for that run, or give another journal") from error
        except InputError:
            self._stream.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def add(self, key: str, name: str, text: str | None, reply_tokens: tuple[int, int]) -> None:
        """Store an answer (None for one that could not be used, whose tokens count all the same)."""
        prompt, completion = reply_tokens
        row = {"key": key, "name": name, "text": text, "prompt_tokens": prompt, "completion_tokens": completion}
        self._stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._take(row)

    def _load(self) -> None:
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            logger.warning("%s: the last line was cut off and is removed", self._path)
            os.truncate(self._path, len(whole))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{self._path}:{number}", "not a row of the journal", "remove the line") from error

    def _take(self, row: dict[str, Any]) -> None:
        self.prompt_tokens += row["prompt_tokens"]
        self.completion_tokens += row["completion_tokens"]
        if row["text"] is not None:
            self.texts[row["key"]] = row["text"]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a worker brings back of one declaration: its description or None, and what each request used."""

    text: str | None
    used: list[tuple[int, int]]


class _Run:
    """One pass over the plan: hands out what is ready, keeps within the budget, writes down what comes back."""

    def __init__(
        self,
        declarations: Sequence[Declaration],
        plan: Plan,
        chat: Chat,
        settings: InformalizeSettings,
        journal: Journal,
    ) -> None:
        self._declarations = declarations
        self._plan = plan
        self._chat = chat
        self._settings = settings
        self._journal = journal
        self._in_flight: dict[Future[_Outcome], tuple[int, str, tuple[int, int]]] = {}
        self._failures_in_row = 0
        self._fatal: BaseException | None = None
        self.texts = [item.informal for item in declarations]
        self.report = Report()

    def describe_all(self) -> None:
        """Answer everything that can be answered, or stop for a reason that the report names."""
        sorter = TopologicalSorter(dict(enumerate(self._plan.dependencies)))
        sorter.prepare()
        rank = {index: number for number, index in enumerate(self._plan.order)}
        ready: list[tuple[int, int]] = []
        self.report.wanted = sum(map(self._is_wanted, range(len(self._declarations))))
        pool = ThreadPoolExecutor(self._settings.concurrency)
        bar = tqdm(total=self.report.wanted, desc="describing", unit="declaration", disable=None)
        with pool, bar:
            try:
                while sorter.is_active():
                    for index in sorter.get_ready():
                        heapq.heappush(ready, (rank[index], index))
                    sorter.done(*(self._start(ready, pool) or self._collect()))
                    bar.update(self.report.answered + self.report.failed + self.report.from_journal - bar.n)
            finally:  # an interrupt: what is under way is paid for, so it is written down
                while self._in_flight:
                    self._collect()
        if self._fatal:
            raise self._fatal

    def _is_wanted(self, index: int) -> bool:
        item = self._declarations[index]
        return not item.informal and item.visibility != "private" and not item.deprecated

    def _start(self, ready: list[tuple[int, int]], pool: ThreadPoolExecutor) -> list[int]:
        """Send ready declarations until the pool is busy; give those that need no request or get none any more."""
        settled = []
        while ready and len(self._in_flight) < self._settings.concurrency:
            index = ready[0][1]
            if not self._needs_request(index):
                settled.append(heapq.heappop(ready)[1])
                continue
            messages, key = self._question(index)
            most = self._most(messages)
            reason = self.report.stopped or self._over_budget(most)
            if reason and self._in_flight:
                break  # what is under way may use less than was set aside for it
            heapq.heappop(ready)
            if reason:
                self.report.stopped = reason
                self.report.not_asked += 1
                settled.append(index)
            else:
                self._in_flight[pool.submit(self._ask, messages)] = (index, key, most)
        return settled

    def _needs_request(self, index: int) -> bool:
        """A wanted description that is not in the journal; one that is there is taken."""
        if not self._is_wanted(index):
            return False
        known = self._journal.texts.get(self._question(index)[1])
        if known is None:
            return True
        self.texts[index] = known
        self.report.from_journal += 1
        return False

    def _collect(self) -> list[int]:
        """Wait for at least one request and write down what came back; give the declarations that are settled."""
        finished, _ = wait(self._in_flight, return_when=FIRST_COMPLETED)
        settled = []
        for future in sorted(finished, key=lambda item: self._in_flight[item][0]):
            index, key, _ = self._in_flight.pop(future)
            settled.append(index)
            error = future.exception()
            if error is None:
                self._write_down(index, key, future.result())
            else:
                self._fatal = self._fatal or error
                self.report.stopped = "endpoint"
        return settled

    def _write_down(self, index: int, key: str, outcome: _Outcome) -> None:
        name = self._declarations[index].name
        report = self.report
        for number, used in enumerate(outcome.used, start=1):
            last = number == len(outcome.used)
            self._journal.add(key, name, outcome.text if last else None, used)
            report.requests += 1
            report.prompt_tokens += used[0]
            report.completion_tokens += used[1]
        if outcome.text is not None:
            self.texts[index] = outcome.text
            report.answered += 1
            self._failures_in_row = 0
            return
        report.failed += 1
        if len(report.failures) < _LISTED_FAILURES:
            report.failures.append(name)
        self._failures_in_row += 1
        if self._failures_in_row >= self._settings.max_failures_in_row:
            report.stopped = "failures in a row"

    def _question(self, index: int) -> tuple[list[dict[str, str]], str]:
        """Messages about a declaration, and its journal key."""
        item = self._declarations[index]
        described = [
            (self._declarations[other].name, self.texts[other] or self._declarations[other].docstring)
            for other in self._plan.dependencies[index]
        ]
        shown = [pair for pair in described if pair[1]][: self._settings.max_dependencies]
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": user_prompt(item, shown, self._settings)},
        ]
        own = [item.kind, item.name, item.module, item.variables, item.signature, item.docstring]
        names = [self._declarations[other].name for other in self._plan.dependencies[index]]
        content = [PROMPT_VERSION, self._chat.model, self._settings.max_answer_tokens, *own, names]
        return messages, hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def _ask(self, messages: list[dict[str, str]]) -> _Outcome:
        """Runs in a worker: ask until the answer can be used, `attempts` times at most."""
        used = []
        for _ in range(self._settings.attempts):
            reply = self._chat.complete(messages, self._settings.max_answer_tokens)
            if reply is None:
                break
            most_prompt, _ = self._most_of_one(messages)
            used.append((reply.prompt_tokens or most_prompt, reply.completion_tokens or len(reply.text.encode())))
            text = parse_answer(reply.text)
            if text is not None:
                return _Outcome(text, used)
            messages = [*messages, {"role": "assistant", "content": reply.text}, {"role": "user", "content": _AGAIN}]
        return _Outcome(None, used)

    def _most_of_one(self, messages: list[dict[str, str]]) -> tuple[int, int]:
        """Upper bounds of one request's tokens: no tokenizer of text makes more tokens than bytes."""
        text = sum(len(message["content"].encode()) + 16 for message in messages)
        return text, self._settings.max_answer_tokens

    def _most(self, messages: list[dict[str, str]]) -> tuple[int, int]:
        """Upper bounds of the tokens of all attempts; a repeated one also carries the answers before it."""
        prompt, answer = self._most_of_one(messages)
        attempts = self._settings.attempts
        repeats = attempts * (attempts - 1) // 2
        return attempts * prompt + repeats * (answer + len(_AGAIN) + 32), attempts * answer

    def _over_budget(self, most: tuple[int, int]) -> str:
        """Why a request that may use so many tokens must not be sent now, "" if it may."""
        reserved = [most, *(entry[2] for entry in self._in_flight.values())]
        prompt = self._journal.prompt_tokens + sum(item[0] for item in reserved)
        completion = self._journal.completion_tokens + sum(item[1] for item in reserved)
        if 0 < self._settings.max_tokens < prompt + completion:
            return "token budget"
        if 0 < self._settings.max_cost < self._settings.cost(prompt, completion):
            return "money budget"
        return ""
