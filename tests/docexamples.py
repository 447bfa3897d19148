"""The examples of docstrings: the indented lines after ``Example::``."""

import ast
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/feedmill"
CLIENT = ROOT / "client/src/feedmill_client"


class DocExample(NamedTuple):
    """An example of a module, by the path of the module below the folder."""

    module: str
    code: str


def list_examples(folder: Path) -> list[DocExample]:
    """Returns the examples of all public modules of a folder."""
    return [
        DocExample(path.name, dedent(code))
        for path in _list_modules(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for code in node.value.value.split("Example::")[1:]
    ]


def list_modules_without(folder: Path) -> set[str]:
    """Returns the public modules of a folder without an example."""
    return {path.name for path in _list_modules(folder)} - {example.module for example in list_examples(folder)}


def _list_modules(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_") or path.name == "__init__.py"]
