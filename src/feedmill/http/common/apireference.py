"""Writes the reference of the JSON resources from their OpenAPI documents. ``make api-reference`` writes it into the manual."""

import sys
from typing import Any

from feedmill.http.common.openapi import OTHERS, build_openapi
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT
from feedmill.http.common.schemas import describe_type

HEAD = """# JSON resources

`make api-reference` writes this page from the OpenAPI documents that the ports serve at `/api/v1/openapi.json`. More on the
resources of the [search port](search-api.md), the [feed port](feed-port.md) and the [admin port](admin-port.md). For Python there
is a [client](../tutorial/python-client.md).

## Lists

Every list takes `limit`, how many items a page has, and `cursor`, where the page begins: without it, or with `*`, at the first item. If
items remain, the header `Link` of the response leads to the next page (RFC 8288):

```
Link: </api/v1/feeds?limit=20&cursor=NDE>; rel="next"
```

A response that is an object has that cursor as `next_cursor` too, null on the last page. A cursor is opaque and belongs to its list; each
other parameter stays as it was. Items that come or go between two requests move no other item to another page. `/api/v1/search` without
a cursor pages by `start`, and its `cursor` [lists everything](search-api.md#everything).

## Errors

Every error is a [Problem](#problem). The tables list those that an operation has by itself; others may come from what stands before it,
such as 421 for an unknown host name: see [errors](errors.md).

## Words for programs

A member with words for people, such as `state`, has a twin for programs whose name ends in `_code`: `"state": "in progress"` and
`"state_code": "in_progress"`. Codes are in snake case and never change; words may.
"""


def write_reference() -> str:
    """Returns the page."""
    parts = [HEAD]
    models: dict[str, Any] = {}
    for title, port in (("Search port", SEARCH_PORT), ("Feed port", FEED_PORT), ("Admin port", ADMIN_PORT)):
        document = build_openapi(port)
        models.update(document["components"]["schemas"])
        parts.append(f"\n## {title}\n")
        for path, methods in document["paths"].items():
            parts += (_operation(path, method, operation) for method, operation in methods.items())
    parts.append("\n## Objects\n")
    parts += (_model(name, model) for name, model in sorted(models.items()))
    return "".join(parts)


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    lines = [f"\n### {method.upper()} {path}\n", f"\n{operation['summary']}\n"]
    if operation["parameters"]:
        lines.append("\n| parameter | type | default | meaning |\n|---|---|---|---|\n")
        lines += (_parameter(parameter) for parameter in operation["parameters"])
    if "requestBody" in operation:
        forms = (f"`{name}`: {_kind(content['schema'])}" for name, content in operation["requestBody"]["content"].items())
        lines.append(f"\nThe body is {' or '.join(forms)}.\n")
    lines.append("\n| status | answer |\n|---|---|\n")
    for status, answer in operation["responses"].items():
        if status == OTHERS:
            continue
        (media, content), *_ = answer.get("content", {"": {}}).items()
        kind = _kind(content["schema"]) if media == "application/json" else f"bytes of `{media}`" if media else "empty"
        lines.append(f"| {status} | {kind if status.startswith('2') else answer['description']} |\n")
    return "".join(lines)


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    repeatable = schema["type"] == "array"
    kind = f"{schema['items']['type']}, repeatable" if repeatable else schema["type"]
    default = "required" if parameter["required"] else schema.get("default", "")
    return f"| `{parameter['name']}` | {kind} | {default} | {_cell(parameter['description'])} |\n"


def _model(name: str, model: dict[str, Any]) -> str:
    lines = [f"\n### {name}\n", f"\n{model.get('description', '')}\n", "\n| member | type | meaning |\n|---|---|---|\n"]
    for member, schema in model.get("properties", {}).items():
        lines.append(f"| `{member}` | {_kind(schema)} | {_cell(schema.get('description', ''))} |\n")
    return "".join(lines)


def _kind(schema: dict[str, Any]) -> str:
    return describe_type(schema, lambda name: f"[{name}](#{name.lower()})")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(write_reference())
