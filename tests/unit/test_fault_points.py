import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import feedmill
from tests import faultsteps

SOURCE = Path(feedmill.__file__).parent


def find_steps() -> Iterator[str]:
    """Returns the step of each fault point in the code; its name is a constant of the module."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text if "fault_point" in text else "")):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fault_point":
                step = node.args[0]
                assert isinstance(step, ast.Name), f"{path}: the step of a fault point is a constant"
                name = "feedmill." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
                yield getattr(importlib.import_module(name), step.id)


def test_every_fault_point_is_in_the_table_once() -> None:
    assert sorted(faultsteps.STEPS) == sorted(set(find_steps()))


def test_only_steps_of_the_table_are_left_out_of_it_with_a_reason() -> None:
    assert set(faultsteps.NOT_KILLED) <= set(faultsteps.STEPS)
    assert all(faultsteps.NOT_KILLED.values())
