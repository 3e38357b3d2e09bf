"""`lean-finder`: the command line. Each group lives in a module of its own and is imported only when called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click
import typer.main

from lean_finder import runtime
from lean_finder.errors import EXIT_BAD_INPUT, InputError

#: Command -> (its one-line help, whether it runs models). Each is `app` in lean_finder.cli.<command>.
_COMMANDS = {
    "audit": ("Did a test declaration reach a training set? Verdict with evidence.", False),
    "corpus": ("Build, check, compare and look into a corpus of Lean declarations.", False),
    "params": ("Compose and check params.yaml.", False),
    "queries": ("Look at the queries of an arm and at what became of them.", False),
    "readme": ("Write the generated sections of README.md anew.", False),
    "report": ("Print the results table of the last run.", False),
    "search": ("Search declarations by meaning.", True),
}


class _LazyGroup(click.Group):
    """Imports a command's module when the command is called: `lean-finder --help` must not load torch."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        if _COMMANDS[name][1]:
            runtime.start(threads=0)
        module = importlib.import_module(f"lean_finder.cli.{name}")
        command: Any = typer.main.get_command(module.app)
        command.name = name
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (help_, _) in sorted(_COMMANDS.items())])


_group = _LazyGroup(
    name="lean-finder",
    help="Train, audit and serve semantic search for Lean 4.\n\nThe pipeline itself runs with `dvc repro`.",
    no_args_is_help=True,
)


def main() -> None:
    """Entry point: bad input ends with one clear line and status 2."""
    try:
        _group()
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(EXIT_BAD_INPUT) from error
