"""The JSON resources of each port as an OpenAPI document.

This module declares those of the search port and the feed port. Pydantic describes the objects, which are those that ``feedmill_client``
reads. Tests compare the documents with the routes of the ports and with their real responses.
"""

from functools import cache
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from feedmill import __version__
from feedmill.http.common.adminresources import ADMIN_RESOURCES
from feedmill.http.common.paging import CURSOR, make_limit
from feedmill.http.common.problems import MEDIA_TYPE
from feedmill.http.common.requestbodies import PassageQuery
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT, Parameter, Resource
from feedmill_client.answers import (
    DataSourceShown,
    DocumentDetails,
    DocumentSummary,
    Passages,
    Problem,
    Receipt,
    Removed,
    SearchAnswer,
    Suggestions,
)
from feedmill_client.documents import DocumentPush

_REF: Final = "#/components/schemas/{model}"


_SORT = "date:[AaDd]?(:[RrSsLl]?(:d1)?)?|meta:[^:]{1,400}(:[AaDd]?(:(|E|ED|S|SD|e|ed|s|sd)(:[A-Za-z0-9_:-]{0,80})?)?)?"
_QUERY = Parameter("q", "the query, in the language of searches", default="")
_NUM = Parameter("num", "how many results; 0 only counts", "integer", 10, at_most=1_000)
_URL = Parameter("url", "the document's URL, percent-encoded", is_required=True)
_DATASOURCE = Parameter("datasource", "the data source that owns the documents", is_required=True)
_FEED_ID = Parameter("feed_id", "the id in the response to the push", is_required=True)

_FACET = "a metadata name, `@filetype`, `@date`, `@source`, `@language` or `@site`, whose values are counted over the whole result"
_SELECT = "`NAME:VALUE`, or `NAME:LOW..HIGH` with numbers or days: what results must have; values of one name are alternatives"
_FORM: Final = (
    Parameter("as_q", "words that must occur"),
    Parameter("as_epq", "a phrase that must occur"),
    Parameter("as_oq", "words and phrases in quotes of which one must occur"),
    Parameter("as_eq", "words and phrases in quotes that must not occur"),
    Parameter("as_occt", "the field that must contain plain words and phrases", values=("any", "title", "url")),
    Parameter("as_sitesearch", "a site or directory, as `site:`"),
    Parameter("as_dt", "`e` excludes the site of `as_sitesearch`", values=("i", "e")),
    Parameter("sitesearch", "a site or directory too, which is never excluded; alone it is no query"),
    Parameter("as_filetype", "a kind of file, as `filetype:`"),
    Parameter("as_ft", "`e` excludes the kind of file", values=("i", "e")),
    Parameter("as_lq", "a URL to which results must link, in place of the query"),
)

RESOURCES: Final = (
    Resource(
        port=SEARCH_PORT,
        path="/api/v1/search",
        name="search",
        summary="Searches.",
        answer=SearchAnswer,
        parameters=(
            _QUERY,
            Parameter("start", "how many results to skip", "integer", 0, at_most=100_000),
            _NUM,
            Parameter("limit", "the same as `num`, as in other lists", "integer", at_most=1_000),
            Parameter("cursor", "`*` begins a listing of all matches, by number; continue with `next_cursor` of the previous response"),
            Parameter("match", "which of the words must occur", default="auto", values=("auto", "all", "any")),
            Parameter("sort", "`date:D:S:d1`, `meta:NAME:A` and others; by relevance by default", pattern=_SORT),
            Parameter("site", "collections, joined by `|` or `.`; all documents by default"),
            Parameter("client", "the front end, whose settings apply"),
            Parameter("facet", _FACET, is_repeatable=True),
            Parameter("select", _SELECT, is_repeatable=True),
            Parameter("dnavs", "values selected in facets, as `inmeta:` terms"),
            Parameter("getfields", "metadata names to return with each result, joined by dots; `*` for all"),
            Parameter("requiredfields", "metadata that results must have, whole values"),
            Parameter("partialfields", "metadata that results must have, words of values"),
            Parameter("lr", "the languages that results must be written in: `lang_fr`, joined by `|`, `.` and `-`"),
            *_FORM,
            Parameter("entqr", "`0` searches without synonyms", values=("0", "1", "2", "3")),
            Parameter("numgm", "how many KeyMatches", "integer", 3, at_most=50),
            Parameter("explain", "`1` shows administrators the parts of each score", values=("0", "1")),
        ),
        errors=(400, 401, 429, 503),
    ),
    Resource(
        port=SEARCH_PORT,
        path="/api/v1/suggest",
        name="suggest",
        summary="Returns completions of a text, from titles and texts that the user may see.",
        answer=Suggestions,
        parameters=(
            Parameter("q", "the typed text", default=""),
            Parameter("num", "how many", "integer", 10, at_most=50),
            Parameter("site", "collections, joined by `|` or `.`; all documents by default"),
            Parameter("client", "the front end, whose removed URLs are left out"),
        ),
        errors=(400, 401, 429, 503),
    ),
    Resource(
        port=SEARCH_PORT,
        path="/api/v1/documents",
        name="findDocument",
        summary="Returns a document. For one that the user may not see, the response is that of a missing document.",
        answer=DocumentSummary,
        parameters=(_URL,),
        errors=(400, 401, 404, 429, 503),
    ),
    Resource(
        port=SEARCH_PORT,
        path="/api/v1/retrieve",
        name="retrieve",
        summary="Returns passages of documents that the user may see, as sources of an answer.",
        answer=Passages,
        method="post",
        body=PassageQuery,
        errors=(400, 401, 403, 413, 429, 503),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/feeds",
        name="listFeeds",
        summary="Lists receipts, newest first.",
        answer=Receipt,
        is_list=True,
        parameters=(
            Parameter("datasource", "of one data source"),
            make_limit(20),
            CURSOR,
        ),
        errors=(400, 401, 403),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/feeds/{feed_id}",
        name="showFeed",
        summary="Returns a receipt.",
        answer=Receipt,
        parameters=(_FEED_ID,),
        errors=(400, 401, 403, 404),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/feeds/{feed_id}/content",
        name="readFeed",
        summary="Returns a feed's bytes as they were received.",
        answer=None,
        parameters=(_FEED_ID,),
        errors=(400, 401, 403, 404),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/feeds/{feed_id}/resend",
        name="resendFeed",
        summary="Accepts a feed's bytes again, as a new feed of the same data source and feed type.",
        answer=Receipt,
        method="post",
        status=202,
        parameters=(_FEED_ID,),
        errors=(400, 401, 403, 404, 503, 507),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/documents",
        name="inspectDocument",
        summary="Returns all data of a document, with its ACL and its history.",
        answer=DocumentDetails,
        parameters=(_URL,),
        errors=(400, 401, 403, 404),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/documents",
        name="pushDocuments",
        summary="Stores an array of documents, or with `application/x-ndjson` one object a line, as one feed.",
        answer=Receipt,
        method="post",
        status=202,
        body=DocumentPush,
        is_body_list=True,
        parameters=(
            _DATASOURCE,
            Parameter(
                "feedtype", "`full` replaces all documents of the data source", default="incremental", values=("incremental", "full")
            ),
        ),
        errors=(400, 401, 403, 413, 503, 507),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/documents",
        name="putDocument",
        summary="Stores one document, which is a member of no array and has no `url`, as a feed.",
        answer=Receipt,
        method="put",
        status=202,
        body=DocumentPush,
        parameters=(_URL, _DATASOURCE),
        errors=(400, 401, 403, 413, 503, 507),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/documents",
        name="deleteDocument",
        summary="Stores a feed that deletes one document.",
        answer=Receipt,
        method="delete",
        status=202,
        parameters=(_URL, _DATASOURCE),
        errors=(400, 401, 403, 503, 507),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/datasources",
        name="listDatasources",
        summary="Lists the data sources, by name.",
        answer=DataSourceShown,
        is_list=True,
        parameters=(make_limit(None), CURSOR),
        errors=(400, 401, 403),
    ),
    Resource(
        port=FEED_PORT,
        path="/api/v1/datasources/{name}",
        name="deleteDatasource",
        summary="Deletes a data source's documents and waits until they are gone.",
        answer=Removed,
        method="delete",
        parameters=(
            Parameter("name", "the data source", is_required=True),
            Parameter("destroy", "`true` deletes its name and feeds too", "boolean"),
        ),
        errors=(400, 401, 403, 404, 503),
    ),
    *ADMIN_RESOURCES,
)
_PROBLEMS: Final = {
    400: "a parameter is missing or invalid: `bad_request`",
    401: "name, password or token is wrong: `unauthorized`",
    403: "the user has no permission: `forbidden`",
    404: "it does not exist: `not_found`",
    409: "it contradicts what is there: `conflict`",
    412: "the entry is not the one that the condition names: `overtaken`",
    413: "the body is larger than its limit: `too_large`",
    429: "too many wrong passwords, try again later: `too_many_failures`",
    500: "stored data cannot be read: `internal`",
    503: "the server is busy, try again: `busy`",
    507: "the disk is full: `disk_full`",
}
OTHERS: Final = "default"
"""Stands for every status that an operation does not name."""
_DONE: Final = {200: "done", 201: "added", 202: "accepted; the answer says how to follow it", 204: "done; the answer is empty"}
_LINK: Final = {"description": 'leads to the next page (`rel="next"`); absent on the last one', "schema": {"type": "string"}}
TITLES: Final = {SEARCH_PORT: "search port", FEED_PORT: "feed port", ADMIN_PORT: "admin port"}
_SCHEMES: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "a token of `feedmill tokens`, or that of `admin.token`"},
    "basic": {"type": "http", "scheme": "basic", "description": "name and password of a user; on the feed port a token as the password"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "GSA_SESSION_ID",
        "description": "the session of a browser that signed in at /signin; over TLS the cookie is `__Host-GSA_SESSION_ID`",
    },
}
_SECURITY: Final = {SEARCH_PORT: ("", "bearer", "basic", "session"), FEED_PORT: ("", "bearer", "basic"), ADMIN_PORT: ("bearer", "basic")}
"""The schemes of each port, "" for none: users who are not signed in find public documents; the feed port trusts addresses."""


@cache
def build_openapi(port: str) -> dict[str, Any]:
    """Returns the document of one port's resources."""
    resources = [resource for resource in RESOURCES if resource.port == port]
    answers = dict.fromkeys(resource.answer for resource in resources)
    bodies = dict.fromkeys(resource.body for resource in resources)
    kinds: list[tuple[Any, Literal["validation", "serialization"], TypeAdapter[Any]]] = [
        *((model, "serialization", TypeAdapter(model)) for model in [*answers, Problem] if model is not None),
        *((model, "validation", TypeAdapter(model)) for model in bodies if model is not None and not isinstance(model, str)),
    ]
    _, schemas = TypeAdapter.json_schemas(kinds, ref_template=_REF)
    paths: dict[str, Any] = {}
    for resource in resources:
        paths.setdefault(resource.path, {})[resource.method] = _operation(resource)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"Feedmill, {TITLES[port]}",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        # relative to where the document is: a port may have another number, and a reverse proxy another name
        "servers": [{"url": "/"}],
        "security": [{name: []} if name else {} for name in _SECURITY[port]],
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": {name: _SCHEMES[name] for name in _SECURITY[port] if name}},
    }


def _operation(resource: Resource) -> dict[str, Any]:
    content: dict[str, Any] = {resource.media_type: {"schema": {"type": "string", "format": "binary"}}}
    if resource.answer is not None:
        reference = {"$ref": _REF.format(model=resource.answer.__name__)}
        content = {"application/json": {"schema": {"type": "array", "items": reference} if resource.is_list else reference}}
    answers: dict[str, Any] = {}
    for status in (resource.status, *((201,) if resource.adds else ())):
        answers[str(status)] = {"description": _DONE[status], **({"content": content} if status != 204 else {})}
    if any(parameter.name == CURSOR.name for parameter in resource.parameters):
        answers[str(resource.status)]["headers"] = {"Link": _LINK}
    problem = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    for status in resource.errors:
        answers[str(status)] = {"description": _PROBLEMS[status], "content": problem}
    answers[OTHERS] = {"description": "any other error", "content": problem}
    operation: dict[str, Any] = {
        "operationId": resource.name,
        "summary": resource.summary,
        "parameters": [_parameter(resource, parameter) for parameter in resource.parameters],
        "responses": answers,
    }
    if isinstance(resource.body, str):
        content = {resource.body: {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": content}
    elif resource.body is not None:
        reference = {"$ref": _REF.format(model=resource.body.__name__)}
        media = {"application/json": {"schema": {"type": "array", "items": reference} if resource.is_body_list else reference}}
        if resource.is_body_list:
            media["application/x-ndjson"] = {"schema": reference}
        operation["requestBody"] = {"required": True, "content": media}
    return operation


def _parameter(resource: Resource, parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": parameter.kind}
    if parameter.at_most:
        schema |= {"minimum": parameter.at_least, "maximum": parameter.at_most}
    if parameter.values:
        schema["enum"] = list(parameter.values)
    if parameter.pattern:
        schema["pattern"] = f"^({parameter.pattern})$"
    if parameter.default is not None:
        schema["default"] = parameter.default
    if parameter.is_repeatable:
        schema = {"type": "array", "items": schema}
    return {
        "name": parameter.name,
        "in": "path" if f"{{{parameter.name}}}" in resource.path else "query",
        "required": parameter.is_required,
        "description": parameter.meaning,
        "schema": schema,
    }
