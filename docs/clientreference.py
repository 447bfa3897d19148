"""Writes the reference of the Python client from its docstrings. ``make api-reference`` writes it into the manual."""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from textwrap import dedent
from typing import Any

import feedmill_client

HEAD = """# Python client

`make api-reference` writes this page from the docstrings of [`feedmill-client`](../howto/write-a-program.md). Every name is in
`feedmill_client`. The objects of answers are frozen dataclasses; [JSON resources](api.md#objects) explains their members.

Each object has a twin for asyncio: `AsyncClient`, `AsyncAdministration`, `AsyncSeedlistReader` and `AsyncPort` have the same parameters
and methods. Await those that return a result, and go through those that return an iterator with `async for`.
"""
OBJECTS = ("Client", "Administration", "SeedlistReader", "Port")
BUILDERS = ("FeedBuilder", "GroupsBuilder", "DataloadBuilder")
VALUES = ("DocumentPush", "AclPush", "PrincipalPush", "AclEntry", "Progress", "ItemReply", "SeedlistItem", "Options", "Timeouts", "Retries")


def write_reference() -> str:
    """Returns the page."""
    parts = [HEAD]
    for title, names in (("Objects that speak to a server", OBJECTS), ("Builders", BUILDERS)):
        parts.append(f"\n## {title}\n")
        for name in names:
            parts += _write_class(getattr(feedmill_client, name))
    parts.append("\n## Values\n")
    for name in VALUES:
        parts += _write_value(getattr(feedmill_client, name))
    parts.append("\n## Errors\n\n| error | a kind of | meaning |\n|---|---|---|\n")
    parts += (_write_error(getattr(feedmill_client, name)) for name in feedmill_client.__all__ if _is_error(name))
    return "".join(parts)


def _write_class(kind: type[Any]) -> Iterator[str]:
    yield f"\n### {kind.__name__}\n\n{_sign(kind.__name__, kind)}\n{_write_text(kind)}"
    for name, method in vars(kind).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            yield f"\n#### {kind.__name__}.{name}\n\n{_sign(name, method)}\n{_write_text(method)}"


def _write_value(kind: type[Any]) -> Iterator[str]:
    yield f"\n### {kind.__name__}\n\n{_write_text(kind)}"
    if is_dataclass(kind):
        yield "\n| member | type | default | meaning |\n|---|---|---|---|\n"
        meanings = _read_meanings(kind)
        signature = inspect.signature(kind)
        for each in fields(kind):
            default = signature.parameters[each.name].default
            shown = "required" if default is inspect.Parameter.empty else "" if repr(default).startswith("<") else f"`{default!r}`"
            meaning = each.metadata.get("description", meanings.get(each.name, ""))
            annotation = signature.parameters[each.name].annotation
            kind_shown = _shorten(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)).replace("|", "\\|")
            yield f"| `{each.name}` | `{kind_shown}` | {shown} | {_mark(meaning)} |\n"


def _read_meanings(kind: type[Any]) -> dict[str, str]:
    """Returns the strings below the fields of a class."""
    found = re.findall(r'^    (\w+): [^\n]+\n    """(.*?)"""', inspect.getsource(kind), re.MULTILINE | re.DOTALL)
    return {name: " ".join(text.split()) for name, text in found}


def _is_error(name: str) -> bool:
    value = getattr(feedmill_client, name)
    return isinstance(value, type) and issubclass(value, Exception)


def _write_error(kind: type[Exception]) -> str:
    parent = kind.__bases__[0].__name__ if kind is not feedmill_client.FeedmillError else ""
    return f"| `{kind.__name__}` | {f'`{parent}`' if parent else ''} | {' '.join(_mark(inspect.getdoc(kind) or '').split())} |\n"


def _sign(name: str, called: Any) -> str:
    signature = inspect.signature(called)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    if isinstance(called, type):
        signature = signature.replace(return_annotation=inspect.Signature.empty)
    # a function as a default does nothing
    shown = re.sub(r"<function \w+ at \w+>", "...", _shorten(str(signature.replace(parameters=parameters))))
    if len(name) + len(shown) > 100:
        shown = re.sub(r", (?=(?:[*\w]+)(?::|,|\)|$))", ",\n    ", shown)
        shown = re.sub(r"^\((.*)\)( -> .*|)$", r"(\n    \1,\n)\2", shown, flags=re.DOTALL)
    return f"```python\n{name}{shown}\n```\n"


def _shorten(annotation: str) -> str:
    """Returns an annotation without the modules of its names."""
    annotation = re.sub(r"<class '([\w.]+)'>", r"\1", annotation).replace("NoneType", "None")
    return re.sub(r"\b(?:feedmill_client\.\w+|collections\.abc|typing|pathlib|datetime|ssl)\.", "", annotation)


def _write_text(documented: Any) -> str:
    text, _, example = (inspect.getdoc(documented) or "").partition("Example::")
    code = f"\n```python\n{dedent(example).strip()}\n```\n" if example else ""
    return f"{_mark(text.strip())}\n{code}"


def _mark(text: str) -> str:
    return text.replace("``", "`")


if __name__ == "__main__":
    sys.stdout.write(write_reference())
