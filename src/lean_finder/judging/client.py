"""A client of OpenAI-compatible chat endpoints that loses no paid work and never guesses an answer.

Every definite answer is written to an SQLite file the moment it arrives, under a digest of everything it depends on, so
a killed run asks nothing again. An answer that cannot be used is asked again a few times, then recorded as a failure.
The key comes from an environment variable and is written nowhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import openai
from tqdm import tqdm

from lean_finder.errors import InputError

logger = logging.getLogger(__name__)

Parsed = TypeVar("Parsed")

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})  # and every 5xx
_FATAL_STATUS = frozenset({401, 403, 404})


@dataclass(frozen=True)
class ClientSettings:
    """Where to ask and how hard to try.

    Attributes:
        base_url: of the API, ending in /v1 for most servers.
        model: as the server names it.
        key_variable: environment variable that holds the key; "" = the server wants none.
        concurrency: requests in flight.
        timeout_s: for one attempt from connecting to the last byte, so an endless answer ends too.
        max_attempts: per request, the first included.
        first_wait_s: before the second attempt; it doubles from attempt to attempt.
        longest_wait_s: no wait is longer, whatever the server asks for in Retry-After.
        max_output_tokens: per answer.
        budget_tokens: prompt and output tokens that this cache's answers may cost in total; 0 = no limit.
        budget_money: the same in the currency of the prices; 0 = no limit.
        prompt_price: per million prompt tokens.
        output_price: per million output tokens.
        structured: send the JSON schema as `response_format`; off for servers that refuse the field.
    """

    base_url: str
    model: str
    key_variable: str = ""
    concurrency: int = 8
    timeout_s: float = 60.0
    max_attempts: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    max_output_tokens: int = 256
    budget_tokens: int = 0
    budget_money: float = 0.0
    prompt_price: float = 0.0
    output_price: float = 0.0
    structured: bool = True


@dataclass(frozen=True)
class ChatRequest:
    """One question.

    Attributes:
        system: instructions.
        user: the matter.
        schema_name: name of the answer's JSON schema.
        schema: the answer's JSON schema.
        temperature: 0 for judging.
    """

    system: str
    user: str
    schema_name: str
    schema: dict[str, Any] = field(hash=False)
    temperature: float = 0.0


@dataclass(frozen=True)
class Reply(Generic[Parsed]):
    """What became of one request.

    Attributes:
        value: the parsed answer; None if there is none.
        failure: "" or why there is none: refusal, invalid, rejected, unreachable, budget.
        cached: nothing was asked.
    """

    value: Parsed | None
    failure: str
    cached: bool


@dataclass
class ClientSummary:
    """Counts over a client's life; tokens are those of this process."""

    requests: int = 0
    cached: int = 0
    attempts: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """One line for the log."""
        failed = ", ".join(f"{count} {reason}" for reason, count in sorted(self.failures.items())) or "none"
        return (
            f"{self.requests} requests, {self.cached} from the cache, {self.attempts} attempts, "
            f"{self.retries} retries, {self.prompt_tokens} + {self.output_tokens} tokens, failed: {failed}"
        )


class _Tokens(NamedTuple):
    """Prompt and output tokens of an attempt, or of all so far."""

    prompt: int
    output: int

    @property
    def total(self) -> int:
        return self.prompt + self.output


class _UnusableError(Exception):
    """An attempt without a usable answer; `final` = trying again cannot help."""

    def __init__(self, failure: str, detail: str, *, final: bool = False, wait_s: float | None = None) -> None:
        super().__init__(detail)
        self.failure = failure
        self.final = final
        self.wait_s = wait_s


class ChatClient:
    """Asks many questions at once; see the module's text. Picklable: it holds no open connection or file.

    Args:
        settings: endpoint and limits.
        cache: the SQLite file of answers; made if absent.
        params: the section of params.yaml that has the endpoint, named to whoever has to correct it.
    """

    def __init__(self, settings: ClientSettings, cache: Path, params: str = "judge") -> None:
        self.settings = settings
        self._params = params
        self.summary = ClientSummary()
        self._cache = Path(cache)
        self._in_flight_tokens = 0
        self._reached = False

    def complete(
        self, requests: Sequence[ChatRequest], parse: Callable[[str], Parsed], *, progress: str = ""
    ) -> list[Reply[Parsed]]:
        """Answer every request, in order; equal requests are asked once.

        Args:
            requests: the questions.
            parse: text -> value; raises ValueError for an answer that does not fit.
            progress: title of a progress bar; "" = none.

        Raises:
            InputError: the key's variable is not set, the server refuses the key or does not know the model, it
                cannot be reached at all, or the cache is not ours.
        """
        key = self._key()
        wanted = {self._digest(request): request for request in requests}
        with self._open() as store:
            known = {digest: row for digest in wanted if (row := _read(store, digest)) is not None}
            missing = {digest: request for digest, request in wanted.items() if digest not in known}
            fresh: dict[str, tuple[str, str]] = {}
            if missing:
                fresh = asyncio.run(self._ask_all(missing, parse, key, store, progress))
        replies = []
        for request in requests:
            digest = self._digest(request)
            failure, text = known[digest] if digest in known else fresh[digest]
            replies.append(Reply(None if failure else parse(text), failure, digest in known))
        self.summary.requests += len(requests)
        self.summary.cached += sum(reply.cached for reply in replies)
        for reply in replies:
            if reply.failure:
                self.summary.failures[reply.failure] = self.summary.failures.get(reply.failure, 0) + 1
        return replies

    def spent(self) -> tuple[int, int]:
        """Prompt and output tokens that this cache has cost so far, over all processes."""
        with self._open() as store:
            spent = _spent(store)
            return spent.prompt, spent.output

    async def _ask_all(
        self,
        missing: dict[str, ChatRequest],
        parse: Callable[[str], Parsed],
        key: str,
        store: sqlite3.Connection,
        progress: str,
    ) -> dict[str, tuple[str, str]]:
        wanted = self.settings
        gate = asyncio.Semaphore(wanted.concurrency)
        outcomes: dict[str, tuple[str, str]] = {}
        bar = tqdm(total=len(missing), desc=progress, unit="request", disable=not progress)
        async with openai.AsyncOpenAI(
            base_url=wanted.base_url, api_key=key, max_retries=0, timeout=wanted.timeout_s
        ) as client:

            async def one(digest: str, request: ChatRequest) -> None:
                async with gate:
                    outcomes[digest] = await self._ask(client, digest, request, parse, store)
                    bar.update(1)

            try:
                async with asyncio.TaskGroup() as group:
                    for digest, request in missing.items():
                        group.create_task(one(digest, request))
            except* InputError as errors:
                raise errors.exceptions[0] from None
            finally:
                bar.close()
        return outcomes

    async def _ask(
        self,
        client: openai.AsyncOpenAI,
        digest: str,
        request: ChatRequest,
        parse: Callable[[str], Parsed],
        store: sqlite3.Connection,
    ) -> tuple[str, str]:
        """One request until it is answered, given up or stopped: (failure, text)."""
        wait_s = self.settings.first_wait_s
        trouble = _UnusableError("unreachable", "")
        for attempt in range(self.settings.max_attempts):
            worst = _Tokens(len(request.system + request.user) // 2, self.settings.max_output_tokens)
            if not self._affordable(store, worst):
                return "budget", ""
            self._in_flight_tokens += worst.total
            self.summary.attempts += 1
            self.summary.retries += attempt > 0
            try:
                text = await self._attempt(client, request, store, worst)
                parse(text)
            except (_UnusableError, ValueError) as error:
                trouble = error if isinstance(error, _UnusableError) else _UnusableError("invalid", str(error))
                logger.debug("attempt %d: %s: %s", attempt + 1, trouble.failure, trouble)
                if trouble.final:
                    break
                if attempt + 1 < self.settings.max_attempts:
                    asked = trouble.wait_s if trouble.wait_s is not None else wait_s
                    await asyncio.sleep(min(asked, self.settings.longest_wait_s))
                    wait_s *= 2
            else:
                _write(store, digest, "", text)
                return "", text
            finally:
                self._in_flight_tokens -= worst.total
        if trouble.failure == "unreachable" and not self._reached:
            raise InputError(
                self.settings.base_url, f"cannot be reached: {trouble}", "start the server or correct the URL"
            )
        if trouble.failure in ("refusal", "invalid"):  # paid for and definite: not to be asked again
            _write(store, digest, trouble.failure, "")
        return trouble.failure, ""

    async def _attempt(
        self, client: openai.AsyncOpenAI, request: ChatRequest, store: sqlite3.Connection, worst: _Tokens
    ) -> str:
        """One attempt: the answer's text, or `_UnusableError`. What does not say its cost is charged at its worst."""
        options: dict[str, Any] = {}
        if self.settings.structured:
            schema = {"name": request.schema_name, "schema": request.schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        try:
            answer = await asyncio.wait_for(
                client.chat.completions.create(
                    model=self.settings.model,
                    messages=[
                        {"role": "system", "content": request.system},
                        {"role": "user", "content": request.user},
                    ],
                    temperature=request.temperature,
                    max_tokens=self.settings.max_output_tokens,
                    **options,
                ),
                self.settings.timeout_s,
            )
        except openai.APIStatusError as error:
            self._reached = True
            raise self._status(error) from error
        except (openai.APITimeoutError, TimeoutError) as error:
            self._charge(store, worst)  # the server may have written all the while
            raise _UnusableError("unreachable", f"no whole answer in {self.settings.timeout_s:g} s") from error
        except openai.APIConnectionError as error:
            raise _UnusableError("unreachable", str(error.__cause__ or error)) from error
        except (openai.APIError, ValueError) as error:  # a body that is not the API's
            raise _UnusableError("invalid", str(error)) from error
        self._reached = True
        return self._text(answer, store, worst)

    def _text(self, answer: Any, store: sqlite3.Connection, worst: _Tokens) -> str:
        """The text of an answer that has one."""
        usage = getattr(answer, "usage", None)
        said = _Tokens(getattr(usage, "prompt_tokens", 0) or 0, getattr(usage, "completion_tokens", 0) or 0)
        self._charge(store, said if said.total else worst)
        choices = getattr(answer, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise _UnusableError("invalid", "an answer without a message")
        choice = choices[0]
        if getattr(choice.message, "refusal", None) or choice.finish_reason == "content_filter":
            raise _UnusableError("refusal", "the model refuses", final=True)
        if choice.finish_reason == "length":
            raise _UnusableError("invalid", f"cut off at {self.settings.max_output_tokens} tokens")
        return str(choice.message.content or "")

    def _status(self, error: openai.APIStatusError) -> _UnusableError:
        """What an HTTP error status means."""
        status, detail = error.status_code, " ".join(str(error).split())[:200]
        if status in _FATAL_STATUS:
            fix = "check the key" if status != 404 else f"check {self._params}.model and {self._params}.base_url"
            raise InputError(self.settings.base_url, f"refused with status {status}: {detail}", fix) from error
        if status in _TRANSIENT_STATUS or status >= 500:
            try:
                wait_s = float(error.response.headers["retry-after"])
            except (KeyError, ValueError):
                wait_s = None
            return _UnusableError("unreachable", f"status {status}: {detail}", wait_s=wait_s)
        return _UnusableError("rejected", f"status {status}: {detail}", final=True)

    def _charge(self, store: sqlite3.Connection, tokens: _Tokens) -> None:
        self.summary.prompt_tokens += tokens.prompt
        self.summary.output_tokens += tokens.output
        _pay(store, tokens)

    def _affordable(self, store: sqlite3.Connection, worst: _Tokens) -> bool:
        """The budget covers what is spent, what is in flight, and this attempt at its worst."""
        wanted = self.settings
        if not wanted.budget_tokens and not wanted.budget_money:
            return True
        spent, pending = _spent(store), self._in_flight_tokens + worst.total
        tokens_left = not wanted.budget_tokens or spent.total + pending <= wanted.budget_tokens
        dearest = max(wanted.prompt_price, wanted.output_price)
        money = (spent.prompt * wanted.prompt_price + spent.output * wanted.output_price + pending * dearest) / 1e6
        return tokens_left and (not wanted.budget_money or money <= wanted.budget_money)

    def _key(self) -> str:
        if not self.settings.key_variable:
            return "none"
        key = os.environ.get(self.settings.key_variable, "")
        if not key:
            raise InputError(
                f"environment variable {self.settings.key_variable}", "is not set", "export the API key in it"
            )
        return key

    def _digest(self, request: ChatRequest) -> str:
        """Of everything that an answer depends on."""
        parts = [self.settings.base_url, self.settings.model, self.settings.max_output_tokens, self.settings.structured]
        body = [request.system, request.user, request.schema_name, request.schema, request.temperature]
        return hashlib.sha256(json.dumps([*parts, *body], sort_keys=True).encode()).hexdigest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The cache; every write is committed at once."""
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._cache, isolation_level=None, timeout=60)) as store:
                store.execute("CREATE TABLE IF NOT EXISTS answers (digest TEXT PRIMARY KEY, failure TEXT, text TEXT)")
                store.execute("CREATE TABLE IF NOT EXISTS payments (prompt_tokens INTEGER, output_tokens INTEGER)")
                store.execute("INSERT INTO payments SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM payments)")
                yield store
        except sqlite3.DatabaseError as error:
            raise InputError(self._cache, f"not a cache of answers: {error}", "move it away") from error


def _read(store: sqlite3.Connection, digest: str) -> tuple[str, str] | None:
    row = store.execute("SELECT failure, text FROM answers WHERE digest = ?", (digest,)).fetchone()
    return (str(row[0]), str(row[1])) if row else None


def _write(store: sqlite3.Connection, digest: str, failure: str, text: str) -> None:
    store.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (digest, failure, text))


def _pay(store: sqlite3.Connection, tokens: _Tokens) -> None:
    """Add to the one row of totals: what has been spent is then read in constant time."""
    store.execute(
        "UPDATE payments SET prompt_tokens = prompt_tokens + ?, output_tokens = output_tokens + ?"
        " WHERE rowid = (SELECT MIN(rowid) FROM payments)",
        (tokens.prompt, tokens.output),
    )


def _spent(store: sqlite3.Connection) -> _Tokens:
    return _Tokens(*store.execute("SELECT SUM(prompt_tokens), SUM(output_tokens) FROM payments").fetchone())
