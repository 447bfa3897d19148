"""``/api/docs``: the JSON resources of a port as a page, made of its OpenAPI document. It loads nothing and runs no script."""

import base64
import hashlib
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.requirements import DeclaredRoute, Requirement
from feedmill.http.common.schemas import describe_bounds, describe_type
from feedmill.http.common.strictparameters import strict_to
from feedmill.http.pages.rendering import TEMPLATES

DOCS_PATH: Final = "/api/docs"
DOCUMENT_PATH: Final = "/api/docs/openapi.json"
_CODE: Final = re.compile("`([^`]{1,200})`")
_STYLE: Final = (TEMPLATES / "apidocs.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'"
    "; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOperation:
    """An operation of the document. ``anchor`` is its place on the page."""

    anchor: str
    method: str
    path: str
    summary: str
    parameters: tuple[Mapping[str, Any], ...]
    bodies: Mapping[str, Any]
    responses: Mapping[str, Any]
    example: str


def docs_routes(port: str, requires: Requirement) -> tuple[DeclaredRoute, ...]:
    """Returns the routes of the page of a port and of its OpenAPI document.

    The document is under ``/api/v1`` too, but there the admin port wants a token, which a browser that follows a link cannot send.
    """

    async def show(_request: Request) -> Response:
        return HTMLResponse(_render_docs(port), headers=_HEADERS)

    async def send_document(_request: Request) -> Response:
        return JSONResponse(build_openapi(port))

    return (
        DeclaredRoute(DOCS_PATH, strict_to((), show), methods=["GET"], requires=requires),
        DeclaredRoute(DOCUMENT_PATH, strict_to((), send_document), methods=["GET"], requires=requires),
    )


@cache
def _render_docs(port: str) -> str:
    document = build_openapi(port)
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.filters |= {"kind": _describe_linked, "bounds": describe_bounds, "prose": _mark_code}
    return templates.get_template("apidocs.html").render(
        document=document, operations=list(_iter_operations(document, port)), schemas=document["components"]["schemas"], style=_STYLE
    )


def _mark_code(text: str) -> str:
    """Returns a text as HTML, what stands between backquotes as code."""
    return _CODE.sub(r"<code>\1</code>", html.escape(text))


def _describe_linked(schema: Mapping[str, Any]) -> str:
    # names of our own classes, and words
    return describe_type(schema, lambda name: f'<a href="#{name}">{name}</a>')


def _iter_operations(document: Mapping[str, Any], port: str) -> Iterator[ShownOperation]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            bodies = operation.get("requestBody", {}).get("content", {})
            yield ShownOperation(
                anchor=operation["operationId"],
                method=method.upper(),
                path=path,
                summary=operation["summary"],
                parameters=tuple(operation["parameters"]),
                bodies=bodies,
                responses=operation["responses"],
                example=_write_example(port, path, method, operation, next(iter(bodies), "")),
            )


def _write_example(port: str, path: str, method: str, operation: Mapping[str, Any], media_type: str) -> str:
    """Returns a command that sends such a request."""
    required = [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query" and parameter["required"]]
    query = "&".join(f"{name}={name.upper()}" for name in required)
    for parameter in operation["parameters"]:
        path = path.replace(f"{{{parameter['name']}}}", parameter["name"].upper())
    parts = ["curl", *([f"-X {method.upper()}"] if method not in ("get", "post") else []), '-H "Authorization: Bearer TOKEN"']
    if media_type:
        parts.append(f'-H "Content-Type: {media_type}" --data-binary @FILE')
    elif method == "post":
        parts.append("-X POST")
    return " ".join([*parts, f"'{port}{path}{'?' if query else ''}{query}'"])
