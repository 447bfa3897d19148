"""The environment of processes that read hostile input: the variables that a program needs to start, and no secret."""

import os

_INHERITED = frozenset({"LANG", "TZ", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH"})


def bare_environment() -> dict[str, str]:
    """Returns the variables of this process that a child may read."""
    return {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}
