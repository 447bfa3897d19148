"""The examples of docstrings: the indented lines after ``Example::``."""

import ast
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src/feedmill"


class DocExample(NamedTuple):
    """An example of a module, by the path of the module below ``SOURCE``."""

    module: str
    code: str


def list_examples(folder: str) -> list[DocExample]:
    """Returns the examples of all modules of a folder."""
    return [
        DocExample(str(path.relative_to(SOURCE)), dedent(code))
        for path in sorted((SOURCE / folder).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for code in node.value.value.split("Example::")[1:]
    ]


def list_modules_without(folder: str) -> set[str]:
    """Returns the modules of a folder without an example."""
    modules = {str(path.relative_to(SOURCE)) for path in (SOURCE / folder).glob("*.py")}
    return modules - {example.module for example in list_examples(folder)}
