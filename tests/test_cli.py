"""The command line: help without loading models, one line and status 2 for bad input.

Run alone: pytest tests/test_cli.py
"""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = ("audit", "corpus", "params", "queries", "readme", "report", "search", "tune")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    program = "from lean_finder.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)


def test_help_lists_every_command_without_torch() -> None:
    program = (
        "import sys; sys.argv = ['lean-finder', '--help']; from lean_finder.cli import main; main();"
        "assert not {'torch', 'mlflow', 'pandas'} & set(sys.modules), 'heavy imports'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(command in done.stdout for command in COMMANDS)


def test_an_unknown_command_is_one_line_and_status_2() -> None:
    done = _run("serach")
    assert done.returncode == 2
    assert done.stderr.startswith("error: serach: no such command (one of audit, ")


@pytest.mark.parametrize("command", ["params", "report"])
def test_an_unknown_option_is_status_2(command: str) -> None:
    done = _run(command, "--no-such-option")
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_bad_parameters_are_one_line_and_status_2(tmp_path: object) -> None:
    done = _run("params", "check", f"{tmp_path}/absent.yaml")
    assert done.returncode == 2
    assert done.stderr.strip().endswith("absent.yaml: no such file (write it with: make params SCALE=cpu)")
