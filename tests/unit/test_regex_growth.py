"""Regular expressions take time that grows with a text, not with its square: a stranger writes the text.

Every expression that stands in a module of Feedmill is tried upon hostile texts made of its own parts, as its module uses
it. Only the growth of time is judged, and only of what takes long: sixteen times the text must take less than a hundred times the time,
where the square would be 256 times.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

import feedmill
from tests.hostiletext import HostileText, list_hostile_texts

# only Alembic can load it
_WITHOUT = {"feedmill.adapters.store.migrations.env"}
_LENGTHS = (*range(10, 30, 2), 40, 160, 1_600, 16_000)
_LONG_SECONDS = 0.1
_SHORTER = 16
_MOST_TIMES = 100
_TRIES = 9

Expression = re.Pattern[Any]
_USES: dict[str, Callable[[Expression, Any], object]] = {
    "match": lambda expression, text: expression.match(text),
    "fullmatch": lambda expression, text: expression.fullmatch(text),
    "search": lambda expression, text: expression.search(text),
    "finditer": lambda expression, text: sum(1 for _ in expression.finditer(text)),
}
_LIKE_FINDITER = {"findall", "sub", "subn", "split"}


def list_modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(feedmill.__path__, "feedmill.")
    names = [module.name for module in found if not module.name.endswith(".__main__") and module.name not in _WITHOUT]
    return [importlib.import_module(name) for name in names]


def iter_expressions(value: object, depth: int = 3) -> Iterator[Expression]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        for part in value.values():
            yield from iter_expressions(part, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from iter_expressions(part, depth - 1)


def find_uses(module: ModuleType) -> dict[str, set[str]]:
    """Returns the methods of expressions that a module calls, by the name that they are called on; strings have ``split`` too."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute) and node.attr in _USES.keys() | _LIKE_FINDITER:
            name = node.value.attr if isinstance(node.value, ast.Attribute) else ast.unparse(node.value)
            found.setdefault(name, set()).add(node.attr)
    return found


def list_expressions() -> dict[str, tuple[Expression, frozenset[str]]]:
    """Returns each expression and how it is used, by a name; one whose use does not show is used in all ways of its module."""
    uses_by_module = {module: find_uses(module) for module in list_modules()}
    found: dict[Expression, tuple[str, set[str]]] = {}
    for module, uses in uses_by_module.items():
        unnamed = {use for name, named in uses.items() if not isinstance(vars(module).get(name), re.Pattern) for use in named - {"split"}}
        for name, value in vars(module).items():
            for expression in iter_expressions(value):
                shown = uses.get(name, set() if isinstance(value, re.Pattern) else unnamed)
                found.setdefault(expression, (f"{module.__name__}.{name}", set()))[1].update(shown)
    names: dict[str, tuple[Expression, frozenset[str]]] = {}
    for expression, (name, used) in found.items():
        unique = name if name not in names else f"{name} {len(names)}"
        names[unique] = (expression, frozenset("finditer" if use in _LIKE_FINDITER else use for use in used or _USES))
    return names


def measure(expression: Expression, use: str, text: str) -> float:
    """Returns the CPU time of one use. Units: seconds."""
    given = text.encode("utf-8") if isinstance(expression.pattern, bytes) else text
    began = time.thread_time()
    _USES[use](expression, given)
    return time.thread_time() - began


def grows_too_fast(expression: Expression, use: str, hostile: HostileText, lengths: Sequence[int] = _LENGTHS) -> bool:
    for length in lengths:
        long = min_of_tries(expression, use, hostile.make(length))
        if long >= _LONG_SECONDS:
            short = min(measure(expression, use, hostile.make(length // _SHORTER)) for _ in range(_TRIES))
            return long > _MOST_TIMES * short
    return False


def min_of_tries(expression: Expression, use: str, text: str) -> float:
    """Returns the time of a use, measured again where it is long: another process may have taken the processor's cache."""
    spent = measure(expression, use, text)
    return spent if spent < _LONG_SECONDS else min(spent, measure(expression, use, text))


def test_expressions_upon_hostile_texts_take_time_that_grows_with_them() -> None:
    """One test, not one for each expression: every worker of a run would load and parse all modules to know their names."""
    expressions = list_expressions()
    assert len(expressions) > 100
    slow = [
        f"{name}: {use} of {expression.pattern!r} upon {hostile}"
        for name, (expression, uses) in expressions.items()
        for hostile in list_hostile_texts(expression)
        for use in sorted(uses)
        if grows_too_fast(expression, use, hostile)
    ]
    assert slow == []


@pytest.mark.parametrize(
    ("expression", "use"),
    [
        (r"(a|a)*b", "match"),
        (r"(?:[^\W_]+)*!", "fullmatch"),
        (r"\s+$", "search"),
        pytest.param(r"[^\s-]+-[^\s]+-[^\s]+", "fullmatch", marks=pytest.mark.thorough),
        pytest.param(r"<a[^>]*>", "finditer", marks=pytest.mark.thorough),
        pytest.param(r"x*y", "finditer", marks=pytest.mark.thorough),
    ],
)
def test_slow_expression_is_found(expression: str, use: str) -> None:
    """Tried three times: on a busy machine the shorter text may seem to take long too. A fast machine needs a longer text to take long."""
    compiled, lengths = re.compile(expression), (*_LENGTHS, 64_000)
    assert any(grows_too_fast(compiled, use, hostile, lengths) for _ in range(3) for hostile in list_hostile_texts(compiled))
