"""Explains the fault of a setting in an operator's words."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from feedmill.settings.keypaths import KeyPath
from feedmill.settings.sections import Settings

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "tuple_type": "a list in brackets",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}


def explain(error: ErrorDetails) -> str:
    """Returns the text of one fault that the models found."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key" + suggest(str(error["loc"][-1]), keys_at(error["loc"][:-1]))
    if kind == "missing":
        return "this key must be given"
    if kind == "tuple_type" and isinstance(error["input"], dict) and keys_at(error["loc"]):
        return f"must be a list of tables, each with a header in double brackets: [[{'.'.join(map(str, error['loc']))}]]"
    if kind == "too_short":
        return f"must have at least {context['min_length']} entries, and has {context['actual_length']}"
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, not {_describe(error['input'])}"
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        return f"{error['input']} is out of range, must be {_bound(kind, context)}"
    if kind == "literal_error":
        return f"'{error['input']}' is none of {context['expected']}"
    if kind == "value_error":
        return str(context["error"])
    text = error["msg"]
    return text[:1].lower() + text[1:]


def suggest(name: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence that names the most similar known word, empty if none is similar."""
    near = find_near(name, known, cutoff=0.6)
    return f", did you mean '{near}'" if near else ""


def find_near(name: str, known: Iterable[str], *, cutoff: float) -> str | None:
    """Finds the most similar known word. Units: ``cutoff`` is the least similarity, from 0 to 1."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def keys_at(path: KeyPath) -> list[str]:
    """Returns the keys that a table of the settings has; none for a table that accepts any key."""
    model: Any = Settings
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part) if _is_model(model) else None
        model = _table_of(field.annotation) if field else None
    return list(model.model_fields) if _is_model(model) else []


def _table_of(annotation: Any) -> Any:
    if _is_model(annotation):
        return annotation
    tables = (_table_of(argument) for argument in getattr(annotation, "__args__", ()))
    return next((table for table in tables if table is not None), None)


def _is_model(candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, BaseModel)


def _bound(kind: str, context: dict[str, Any]) -> str:
    words = {"greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "above")}
    words |= {"less_than_equal": ("le", "at most"), "less_than": ("lt", "below")}
    name, word = words[kind]
    return f"{word} {context[name]}"


def _describe(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text '{value}'"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return str(value)
