"""Informal descriptions by a model behind an endpoint, where `informalize.enabled` asks for them.

Reads: `artifacts/corpus/extracted.parquet`. Writes: `declarations.parquet` beside it, which every later stage reads,
and `informalize.json`, what was done and paid. Without descriptions the table is the extracted one, byte for byte, so
nothing behind this stage runs again. Answers are kept outside of the stage's outputs: they are paid for once.
"""

from __future__ import annotations

import logging
import shutil
from dataclasses import asdict

from lean_finder.errors import InputError
from lean_finder.generation.informalize import InformalizeSettings, Report, informalize
from lean_finder.judging.client import ChatClient, ClientSettings
from lean_finder.params import InformalizeParams, Params
from lean_finder.pipeline import paths
from lean_finder.records import Declaration, columns, from_frame
from lean_finder.storage import atomic_path, read_table, write_json
from lean_finder.tracking import StageRun

logger = logging.getLogger(__name__)


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Describe what has no description yet, or pass the corpus on. A spent budget ends the stage, not the pipeline."""
    tracked.input(paths.EXTRACTED, "corpus")
    asked = params.informalize
    if asked.enabled:
        report = _describe(asked)
        numbers = {name: value for name, value in asdict(report).items() if isinstance(value, int | float)}
        tracked.metrics(numbers | {f"failed.{reason}": count for reason, count in report.failed.items()})
        write_json(paths.INFORMALIZED, {"enabled": True, **asdict(report)})
    else:
        with atomic_path(paths.DECLARATIONS) as scratch:
            shutil.copyfile(paths.EXTRACTED, scratch)
        write_json(paths.INFORMALIZED, {"enabled": False})
    tracked.output(paths.DECLARATIONS)


def _describe(asked: InformalizeParams) -> Report:
    for key in ("base_url", "model"):
        if not getattr(asked, key):
            raise InputError(f"informalize.{key}", "descriptions need an endpoint and a model", "name them in conf/")
    declarations = from_frame(Declaration, read_table(paths.EXTRACTED, columns(Declaration)))
    chat = ChatClient(_client(asked), paths.INFORMAL_CACHE, "informalize")
    report = informalize(declarations, chat, _prompts(asked), paths.DECLARATIONS)
    if report.stopped and report.stopped != "budget":
        raise InputError(asked.base_url, f"{report.stopped}: {report.failed}", "look at the server, then run again")
    logger.info(
        "%d of %d declarations described: %d answers, %d from earlier runs; %d + %d tokens, cost %.2f (%.2f in all)",
        report.described, report.declarations, report.answered, report.cached,
        report.prompt_tokens, report.output_tokens, report.cost, report.total_cost,
    )  # fmt: skip
    if report.stopped:
        logger.warning("the budget is spent, %d are left: raise it and run again", report.not_asked)
    if report.failed:
        logger.warning("no usable answer for %d: %s", sum(report.failed.values()), ", ".join(report.failures))
    return report


def _client(asked: InformalizeParams) -> ClientSettings:
    return ClientSettings(
        base_url=asked.base_url,
        model=asked.model,
        key_variable=asked.key_variable,
        concurrency=asked.concurrency,
        max_output_tokens=asked.max_output_tokens,
        budget_tokens=asked.budget_tokens,
        budget_money=asked.budget_money,
        prompt_price=asked.prompt_price,
        output_price=asked.output_price,
    )


def _prompts(asked: InformalizeParams) -> InformalizeSettings:
    return InformalizeSettings(
        max_dependencies=asked.max_dependencies,
        dependency_chars=asked.dependency_chars,
        statement_chars=asked.statement_chars,
    )
