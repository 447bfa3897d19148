"""What assistants can do here: the tools ``search`` and ``fetch``, in the form that assistants expect of a source of documents.

Both act as the user of the request, in the threads and within the bounds of searches, and each call is written to the audit log.
``mcpserver`` offers them over the Model Context Protocol. It is loaded by the first request to ``/mcp``, because the packages of the
protocol take half a second and 40 MB, which a server without assistants need not spend (docs/adr/0049).
Source: docs/reference/assistants.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.http.common.bodies import is_whole
from feedmill.http.common.currentuser import Identify
from feedmill.http.common.problems import find_problem
from feedmill.http.common.searchthreads import SearchThreads, find_deadline, run_search
from feedmill.http.search.passages import MAX_QUERY_CHARACTERS, Record
from feedmill.model.audit import AuditKind
from feedmill.model.errors import BadRequest, FeedmillError, NotFound
from feedmill.services.searching.retrieval import Retrieval
from feedmill.telemetry.metrics import QUERY_SECONDS
from feedmill.wire.results.passages import render_hits, render_whole_document

PATH: Final = "/mcp"
METHODS: Final = ("GET", "POST", "DELETE")
INSTRUCTIONS: Final = (
    "Searches the documents that the user may see. Call search with the words that an answer would contain; "
    "read what it finds with fetch before you answer, and cite the url of each document that you use."
)

_TEXT: Final = {"type": "string"}
_HIT: Final = {"id": _TEXT, "title": _TEXT, "url": _TEXT}
_METADATA: Final = {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool with one argument, a text. Shape: ``act`` returns JSON; ``output`` is its schema."""

    name: str
    title: str
    description: str
    argument: str
    meaning: str
    output: Mapping[str, Any]
    act: Callable[[Request, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer of a tool: its JSON, or the reason why there is none, for the assistant to read."""

    text: str
    is_error: bool = False


class AssistantTools:
    """The tools. Calls run in threads."""

    def __init__(self, retrieval: Retrieval, identify: Identify, threads: SearchThreads, record: Record) -> None:
        self._retrieval = retrieval
        self._identify = identify
        self._threads = threads
        self._record = record
        search = Tool(
            name="search",
            title="Search documents",
            description="Finds the documents that fit a query best, best first: of each its id for fetch, its title and its URL.",
            argument="query",
            meaning='Words or a question. Quotes find a phrase; site:example.com, filetype:pdf and -word narrow; "a OR b" finds either.',
            output=_describe_object({"results": {"type": "array", "items": _describe_object(_HIT)}}),
            act=self._search,
        )
        fetch = Tool(
            name="fetch",
            title="Read a document",
            description="Returns the whole text of a document, with its title, its URL to cite and its metadata.",
            argument="id",
            meaning="The id of a document, as search returns it.",
            output=_describe_object({**_HIT, "text": _TEXT, "metadata": _METADATA}),
            act=self._fetch,
        )
        self.tools = {tool.name: tool for tool in (search, fetch)}

    async def call(self, request: Request, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Calls a tool for the user of a request. Whatever goes wrong is an answer, which names no detail of a failure."""
        try:
            argument = _read_argument(tool, arguments)
            return ToolAnswer(text=await self._threads.run(request, tool.act, request, argument))
        except HTTPException as exc:
            return ToolAnswer(text=exc.detail, is_error=True)
        except FeedmillError as exc:
            if find_problem(exc).status < 500:
                return ToolAnswer(text=str(exc), is_error=True)
            log.error("tool_failed", tool=tool.name, reason=str(exc))
        except Exception as exc:
            log.error("tool_failed", tool=tool.name, reason=str(exc), exc_info=exc)
        return ToolAnswer(text="the search cannot be answered now; try again later", is_error=True)

    def _search(self, request: Request, query: str) -> str:
        page = self._retrieval.search(query, self._identify(request), find_deadline(request))
        QUERY_SECONDS.observe(page.seconds)
        self._record(request, AuditKind.ASSISTANT_SEARCHED, {"results": len(page.results)})
        return render_hits(page)

    def _fetch(self, request: Request, key: str) -> str:
        try:
            document = self._retrieval.fetch(key, self._identify(request), find_deadline(request))
        except NotFound:
            self._record(request, AuditKind.DOCUMENT_FETCHED, {"url": key, "found": False})
            raise
        self._record(request, AuditKind.DOCUMENT_FETCHED, {"url": key, "found": True})
        return render_whole_document(document)


def _describe_object(members: Mapping[str, object]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(members), "required": list(members)}


def _read_argument(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Returns the argument of a call. Errors: BadRequest, which says what is wrong."""
    name = tool.argument
    for given in arguments:
        if given != name:
            raise BadRequest(f"argument {given[:80]!a} is unknown; {tool.name} takes {name} alone")
    value, most = arguments.get(name), max(MAX_QUERY_CHARACTERS, MAX_URL_CHARACTERS)
    if not isinstance(value, str) or not value.strip() or not is_whole(value):
        raise BadRequest(f"argument {name} is missing, empty or no text")
    if len(value) > most:
        raise BadRequest(f"argument {name} is longer than {most} characters")
    return value


class AssistantEndpoint:
    """The ASGI application of ``/mcp``: POST alone, since no session and no stream outlives a request."""

    def __init__(self, tools: AssistantTools) -> None:
        self._tools = tools
        self._server: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            text = "assistants send POST requests to this address, by the Model Context Protocol (streamable HTTP)\n"
            await PlainTextResponse(text, 405, {"allow": "POST"})(scope, receive, send)
            return
        if self._server is None:
            self._server = await run_search(self._load)
        await self._server(scope, receive, send)

    def _load(self) -> ASGIApp:
        # Loaded here, not with this module: see above.
        from feedmill.http.search.mcpserver import McpServer

        return McpServer(self._tools)
