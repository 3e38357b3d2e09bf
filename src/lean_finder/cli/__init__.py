"""`lean-finder`: the command line. Each command lives in a module of its own and is imported only when called."""

from __future__ import annotations

import importlib
import sys

from lean_finder import runtime
from lean_finder.errors import EXIT_BAD_INPUT, InputError

#: Command -> (its one-line help, whether it runs models). Each is the Typer `app` in lean_finder.cli.<command>.
_COMMANDS = {
    "audit": ("Did a test declaration reach a training set? Verdict with evidence.", False),
    "corpus": ("Build, check, compare and look into a corpus of Lean declarations.", False),
    "params": ("Compose and check params.yaml.", False),
    "queries": ("Look at the queries of an arm and at what became of them.", False),
    "readme": ("Write the generated sections of README.md anew.", False),
    "report": ("Print the results table of the last run.", False),
    "search": ("Search declarations by meaning.", True),
    "tune": ("Search for better settings, on validation only.", True),
}


_HELP = """Usage: lean-finder COMMAND [OPTIONS]...

Train, audit and serve semantic search for Lean 4. The pipeline itself runs with `dvc repro`.

Commands:
{commands}

`lean-finder COMMAND --help` shows a command's options and examples.
"""


def main() -> None:
    """Entry point: bad input ends with one clear line and status 2."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h"):
        lines = (f"  {command:9s} {text}" for command, (text, _) in sorted(_COMMANDS.items()))
        sys.stdout.write(_HELP.format(commands="\n".join(lines)))
        return
    try:
        if name not in _COMMANDS:
            raise InputError(name, "no such command", f"one of {', '.join(sorted(_COMMANDS))}")
        if _COMMANDS[name][1]:
            runtime.start(threads=0)
        # The libraries are loaded here and not at the top, so that `--help` and small commands answer at once.
        importlib.import_module(f"lean_finder.cli.{name}").app(args=sys.argv[2:], prog_name=f"lean-finder {name}")
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(EXIT_BAD_INPUT) from error
