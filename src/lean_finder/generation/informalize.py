"""Informal descriptions by a language model, in dependency order: a prompt shows what the declaration builds on.

The client keeps every answer under a digest of the whole question, so a run that was killed or stopped by its budget
goes on where it was, and a changed declaration is asked again together with what shows its description.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lean_finder.generation.dependencies import Plan, dependency_plan
from lean_finder.judging.client import ChatClient, ChatRequest, Reply
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import write_table

#: Changes with every change of the texts below; stored in every report.
PROMPT_VERSION = "1"
_SYSTEM = (
    "You explain Lean 4 declarations to mathematicians. Say in plain English, with LaTeX where it helps, what the "
    "declaration states or defines; name the objects by their mathematical names, not by their Lean names, and add "
    "nothing that it does not state. Answer with one JSON object and nothing else: "
    '{"name": "a short title", "description": "one to three sentences"}'
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
    "required": ["name", "description"],
    "additionalProperties": False,
}
#: LaTeX commands that start like JSON's escapes for a line end, a tab and a return.
_LATEX = (
    "nabla|neg|neq|ne|nexists|ni|nleq|ngeq|nmid|notin|not|nsubseteq|nu"
    "|tau|tensor|text[a-z]*|tfrac|theta|tilde|times|top|to|triangle[a-z]*|twoheadrightarrow"
    "|rangle|rceil|restriction|rfloor|rho|rightarrow|right|rm"
)
#: An escape that JSON means (kept), or a backslash of LaTeX (doubled). Nobody means `\f` and `\b` before a letter.
_ESCAPE = re.compile(rf"""(\\(?:["\\/]|u[0-9a-fA-F]{{4}}|[bf](?![a-z])|(?!(?:{_LATEX})(?![A-Za-z]))[nrt]))|\\""")
_LISTED_FAILURES = 100
_HOPELESS = 20  # failures of one batch without a single answer: the endpoint is broken, not the questions
_MILLION = 1_000_000


@dataclass(frozen=True)
class InformalizeSettings:
    """What the prompts show.

    Attributes:
        max_dependencies: at most this many descriptions of dependencies.
        dependency_chars: characters of each of them.
        statement_chars: characters of the statement, and of the docstring.
        batch_size: questions handed to the client at once; a spent budget is noticed after each batch.
    """

    max_dependencies: int = 8
    dependency_chars: int = 300
    statement_chars: int = 2000
    batch_size: int = 512


@dataclass
class Report:
    """What a run did and what it cost.

    Attributes:
        model: that was asked.
        prompt_version: of the texts.
        declarations: in the corpus.
        described: of them with a description now.
        wanted: public, current declarations that had none before.
        cached: answered without asking.
        answered: answered by asking.
        failed: declarations without a usable answer, by reason.
        failures: the first of their names.
        not_asked: left when the run stopped.
        stopped: why it stopped early: "budget", "the endpoint only fails", or "".
        levels: of the dependency order.
        broken: dependencies given up because of cycles.
        attempts: requests sent by this run, repeated ones included.
        prompt_tokens: of this run; likewise `output_tokens` and `cost`, in the currency of the client's prices.
        total_cost: of all that the client's cache has paid for.
        seconds: wall time.
    """

    model: str
    prompt_version: str = PROMPT_VERSION
    declarations: int = 0
    described: int = 0
    wanted: int = 0
    cached: int = 0
    answered: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    not_asked: int = 0
    stopped: str = ""
    levels: int = 0
    broken: int = 0
    attempts: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    total_cost: float = 0.0
    seconds: float = 0.0


def informalize(
    declarations: Sequence[Declaration], chat: ChatClient, settings: InformalizeSettings, out: Path
) -> Report:
    """Describe every public, current declaration that has no description yet, as "title: text".

    Also when the budget ends the run, what was answered is in the table; a run with a larger budget goes on from there.

    Args:
        declarations: the corpus, names distinct.
        chat: endpoint, cache, concurrency and budget. DVC empties a stage's outputs before it runs, so the cache must
            not be one of them.
        settings: what the prompts show.
        out: the table to write: all declarations, in order.

    Raises:
        InputError: the endpoint cannot be used at all; what was answered is in the client's cache.
    """
    started = time.monotonic()
    plan = dependency_plan(declarations)
    texts = [item.informal for item in declarations]
    wanted = [not item.informal and item.visibility != "private" and not item.deprecated for item in declarations]
    report = Report(
        chat.settings.model, declarations=len(texts), wanted=sum(wanted), levels=len(plan.levels), broken=plan.broken
    )
    spent_before = chat.spent()
    attempts_before = chat.summary.attempts
    with tqdm(total=report.wanted, desc="describing", unit="declaration", disable=None) as bar:
        for batch in _batches(plan.levels, wanted, settings.batch_size):
            requests = [_request(index, declarations, plan, texts, settings) for index in batch]
            for index, reply in zip(batch, chat.complete(requests, parse_answer), strict=True):
                _take(declarations[index].name, reply, report)
                texts[index] = reply.value or texts[index]
            bar.update(len(batch))
            if report.stopped:
                break
            if sum(report.failed.values()) >= _HOPELESS and not report.answered + report.cached:
                report.stopped = "the endpoint only fails"
                break
    described = [replace(item, informal=text) for item, text in zip(declarations, texts, strict=True)]
    write_table(out, to_frame(Declaration, described))
    _account(report, chat, spent_before)
    report.attempts = chat.summary.attempts - attempts_before
    report.described = sum(map(bool, texts))
    report.not_asked = report.wanted - report.cached - report.answered - sum(report.failed.values())
    report.seconds = time.monotonic() - started
    return report


def _batches(levels: Sequence[Sequence[int]], wanted: Sequence[bool], size: int) -> Iterator[list[int]]:
    """Wanted positions, level by level, at most `size` at once."""
    for level in levels:
        asked = [index for index in level if wanted[index]]
        for start in range(0, len(asked), size):
            yield asked[start : start + size]


def _request(
    index: int,
    declarations: Sequence[Declaration],
    plan: Plan,
    texts: Sequence[str],
    settings: InformalizeSettings,
) -> ChatRequest:
    """The question about one declaration, with the descriptions (else docstrings) of what it builds on."""
    known = [
        (declarations[other].name, texts[other] or declarations[other].docstring) for other in plan.dependencies[index]
    ]
    shown = [pair for pair in known if pair[1]][: settings.max_dependencies]
    return ChatRequest(_SYSTEM, user_prompt(declarations[index], shown, settings), "description", _SCHEMA)


def _take(name: str, reply: Reply[str], report: Report) -> None:
    """Count one reply."""
    if reply.failure == "budget":
        report.stopped = "budget"
    elif reply.failure:
        report.failed[reply.failure] = report.failed.get(reply.failure, 0) + 1
        if len(report.failures) < _LISTED_FAILURES:
            report.failures.append(name)
    elif reply.cached:
        report.cached += 1
    else:
        report.answered += 1


def _account(report: Report, chat: ChatClient, before: tuple[int, int]) -> None:
    prompt, output = chat.spent()
    prices = chat.settings.prompt_price, chat.settings.output_price
    report.prompt_tokens, report.output_tokens = prompt - before[0], output - before[1]
    report.cost = (report.prompt_tokens * prices[0] + report.output_tokens * prices[1]) / _MILLION
    report.total_cost = (prompt * prices[0] + output * prices[1]) / _MILLION


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


def parse_answer(text: str) -> str:
    """ "title: description" of a model's answer.

    The object may stand in a code fence or behind other words, such as a model's thoughts; the last one counts. Models
    write LaTeX into JSON without doubling its backslashes, and `\\frac` would be read as a form feed: such a backslash
    is taken as LaTeX's.

    Raises:
        ValueError: it holds no such JSON object.
    """
    text = _ESCAPE.sub(lambda found: found.group(1) or r"\\", text)
    decoder = json.JSONDecoder()
    found = ""
    position = text.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
        else:
            found = _description(value) or found
        position = text.find("{", end)
    if not found:
        raise ValueError(f"no description in {text[:80]!r}")
    return found


def _description(value: Any) -> str:
    name, description = (value.get(key) for key in ("name", "description"))
    if not (isinstance(name, str) and isinstance(description, str) and name.strip() and description.strip()):
        return ""
    return f"{' '.join(name.split())}: {' '.join(description.split())}"
