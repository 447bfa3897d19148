"""Compares JSON with a schema of an OpenAPI document: the parts of JSON Schema that those documents use."""

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def find_differences(value: Any, schema: Mapping[str, Any], schemas: Mapping[str, Any], place: str = "answer") -> Iterator[str]:
    """Yields where a value differs from a schema. A member that the schema of an object does not name is a difference too."""
    if "$ref" in schema:
        yield from find_differences(value, schemas[schema["$ref"].rpartition("/")[2]], schemas, place)
    elif "anyOf" in schema:
        found = [list(find_differences(value, each, schemas, place)) for each in schema["anyOf"]]
        if all(found):
            yield from min(found, key=len)
    elif not _has_type(value, schema.get("type")):
        yield f"{place} is {value!r:.80} and no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{place} is {value!r:.80} and none of {schema['enum']}"
    elif isinstance(value, dict) and schema.get("type") == "object":
        yield from _compare_object(value, schema, schemas, place)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from find_differences(item, schema.get("items", {}), schemas, f"{place}[{number}]")


def _has_type(value: Any, name: str | None) -> bool:
    return name is None or (isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool)))


def _compare_object(value: dict[str, Any], schema: Mapping[str, Any], schemas: Mapping[str, Any], place: str) -> Iterator[str]:
    members, others = schema.get("properties", {}), schema.get("additionalProperties", not schema.get("properties"))
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}.{name} is missing"
    for name, inner in value.items():
        if name in members:
            yield from find_differences(inner, members[name], schemas, f"{place}.{name}")
        elif others is False:
            yield f"{place}.{name} is not documented"
        elif isinstance(others, dict):
            yield from find_differences(inner, others, schemas, f"{place}.{name}")
