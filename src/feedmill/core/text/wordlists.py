"""Reads the word lists in the folder ``words`` beside this module: plain text in UTF-8, one entry on each line.

Lines that begin with ``#`` are comments; the first ones name the source of the list.
"""

from importlib.resources import files

_FOLDER = files("feedmill.core.text") / "words"


def list_names(folder: str) -> frozenset[str]:
    """Returns the names of the word lists in a folder, without their ending."""
    return frozenset(entry.name.removesuffix(".txt") for entry in _FOLDER.joinpath(folder).iterdir())


def read_list(name: str) -> list[str]:
    """Returns the entries of a word list, in their order. Errors: FileNotFoundError if there is no such list."""
    lines = _FOLDER.joinpath(f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
