"""The types of an OpenAPI document in words."""

from collections.abc import Callable, Mapping
from typing import Any

Link = Callable[[str], str]
"""Writes a link to the object of a name."""


def describe_type(schema: Mapping[str, Any], link: Link) -> str:
    """Returns the type of a value."""
    if "$ref" in schema:
        return link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(describe_type(one, link) for one in schema["anyOf"])
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"pair of {describe_type(schema['prefixItems'][0], link)}s"
        return f"list of {describe_type(schema.get('items') or {'type': 'value'}, link)}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"object of {describe_type(inner, link)}" if isinstance(inner, dict) and inner else "object"
    kind = str(schema.get("format", schema.get("type", "value")))
    return "bytes" if kind == "binary" else kind


def describe_bounds(schema: Mapping[str, Any]) -> str:
    """Returns which values of a parameter are taken, "" for any."""
    schema = schema.get("items", schema)
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "maximum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    return ""
