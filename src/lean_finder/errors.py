"""The one exception a user is meant to read: what is wrong, where, and how to mend it."""

from __future__ import annotations

EXIT_BAD_INPUT = 2


class InputError(Exception):
    """Bad input of any kind: a file, a parameter, a model folder, an endpoint.

    The command line and every stage print it as one line and exit with status 2;
    anything else is a defect of ours and keeps its traceback.

    Args:
        where: the file, parameter key or address at fault.
        problem: what is wrong with it, in a few words.
        fix: what the user can do about it.
    """

    def __init__(self, where: object, problem: str, fix: str = "") -> None:
        self.where = str(where)
        self.problem = problem
        self.fix = fix
        super().__init__(f"{self.where}: {problem}" + (f" ({fix})" if fix else ""))
