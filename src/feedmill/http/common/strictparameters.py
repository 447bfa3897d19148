"""Refuses requests to JSON resources with parameters that the resource does not know, or with values that mean nothing.

The parameters are those that the OpenAPI document declares (``openapi``). The protocols of the appliance stay lenient: they ignore both.
"""

import functools
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.openapi import RESOURCES
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.common.resource import Parameter, Resource
from feedmill.model.errors import BadRequest, NotFound

Endpoint = Callable[[Request], Response | Awaitable[Response]]

_SHOWN_CHARACTERS: Final = 80
_CONVERTER: Final = re.compile(r":[a-z]{1,10}\}")
_INTEGER: Final = re.compile(r"[0-9]{1,9}")
_ID: Final = re.compile(r"[0-9]{1,18}")
_FLAGS: Final = ("true", "false", "1", "0")


def strict(name: str, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Returns the endpoint of the resource of a name, which checks the parameters first. Errors of the endpoint: BadRequest."""
    [resource] = [resource for resource in RESOURCES if resource.name == name]
    return strict_to(_list_query_parameters(resource), endpoint)


def strict_routes(port: str, routes: Iterable[DeclaredRoute]) -> list[DeclaredRoute]:
    """Returns routes of a port, whose JSON resources check their parameters first.

    Errors: TypeError for a resource that no OpenAPI document describes.
    """
    resources = {(resource.path, resource.method): resource for resource in RESOURCES if resource.port == port}
    return [_make_strict(route, resources) if route.path.startswith("/api/") else route for route in routes]


def _make_strict(route: DeclaredRoute, resources: Mapping[tuple[str, str], Resource]) -> DeclaredRoute:
    path = _CONVERTER.sub("}", route.path)
    [method] = (route.methods or set()) - {"HEAD"}
    resource = resources.get((path, method.lower()))
    if resource is None:
        raise TypeError(f"{method} {path} is described by no OpenAPI document")
    return DeclaredRoute(route.path, strict_to(_list_query_parameters(resource), route.endpoint), requires=route.requires, methods=[method])


def _list_query_parameters(resource: Resource) -> tuple[Parameter, ...]:
    return tuple(parameter for parameter in resource.parameters if f"{{{parameter.name}}}" not in resource.path)


def strict_to(known: tuple[Parameter, ...], endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Returns an endpoint that checks its parameters first. Errors of the endpoint: BadRequest."""

    @functools.wraps(endpoint)
    async def check_first(request: Request) -> Response:
        check_encoding(request.scope["query_string"])
        check_parameters(request.query_params, known)
        answer = endpoint(request)
        return await answer if isawaitable(answer) else answer

    return check_first


def check_encoding(query: bytes) -> None:
    """Refuses parameters that are no text. Others would be read with replacement characters. Errors: BadRequest, which names one."""
    if b"%" not in query:
        return
    for pair in query.split(b"&"):
        try:
            unquote_to_bytes(pair).decode("utf-8")
        except UnicodeDecodeError as exc:
            name = unquote(pair.partition(b"=")[0])
            raise BadRequest(f"parameter {_show(name)} is not UTF-8; percent-encode the bytes of its UTF-8 form") from exc


def check_parameters(given: QueryParams, known: tuple[Parameter, ...]) -> None:
    """Checks names and values. Errors: BadRequest, which names the parameter and says what it may be."""
    names = {parameter.name: parameter for parameter in known}
    for name in given:
        if name not in names:
            listed = ", ".join(names) or "it has none"
            raise BadRequest(f"parameter {_show(name)} is unknown; the parameters of this resource are: {listed}")
        values = given.getlist(name)
        if len(values) > 1 and not names[name].is_repeatable:
            raise BadRequest(f"parameter {name} is given {len(values)} times; give it once")
        for value in values:
            _check_value(names[name], value)
    for parameter in known:
        if parameter.is_required and not given.get(parameter.name):
            raise BadRequest(f"parameter {parameter.name} is missing; it is {parameter.meaning}")


def _check_value(parameter: Parameter, value: str) -> None:
    name = parameter.name
    # A form sends its empty fields too.
    if not value:
        return
    if parameter.kind == "integer":
        is_number = _INTEGER.fullmatch(value) is not None
        if not is_number or not parameter.at_least <= int(value) <= (parameter.at_most or int(value)):
            raise BadRequest(f"parameter {name} is {_show(value)}; give a whole number from {parameter.at_least} to {parameter.at_most}")
    elif parameter.kind == "boolean" and value not in _FLAGS:
        raise BadRequest(f"parameter {name} is {_show(value)}; give true or false")
    elif parameter.values and value.lower() not in parameter.values:
        raise BadRequest(f"parameter {name} is {_show(value)}; give one of: {', '.join(parameter.values)}")
    elif parameter.pattern and re.fullmatch(parameter.pattern, value) is None:
        raise BadRequest(f"parameter {name} is {_show(value)}; it is {parameter.meaning}")


def read_id(text: str, thing: str) -> int:
    """Returns the number of a thing in a path. Errors: NotFound for a text that is no number that the store can hold."""
    if _ID.fullmatch(text) is None:
        raise NotFound(f"there is no {thing} {_show(text)}; ids are numbers")
    return int(text)


def _show(text: str) -> str:
    return ascii(text[:_SHOWN_CHARACTERS])
