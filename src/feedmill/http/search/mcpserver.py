"""The tools of ``assistants`` over the Model Context Protocol, by its official SDK.

Streamable HTTP without sessions: each POST holds one message, and its response is JSON. So a request may reach any process of the port,
and its user is that of its own credentials. The SDK's manager of sessions is made for each request, because it serves within the task
group that it opens; nothing of it lasts. The checks of host and origin stand before it, as before all routes.
Source: Model Context Protocol, "Transports", "Tools"; revisions 2025-03-26 to 2026-07-28.
"""

import json
from typing import Any, Final

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from feedmill import __version__
from feedmill.http.search.assistants import INSTRUCTIONS, AssistantTools, Tool

MAX_BODY_BYTES: Final = 65_536

_Context = ServerRequestContext[dict[str, Any], Request]


class McpServer:
    """An ASGI application that answers one message of the protocol."""

    def __init__(self, tools: AssistantTools) -> None:
        self._tools = tools
        self._server: Server[dict[str, Any]] = Server(
            "feedmill",
            version=__version__,
            title="Feedmill",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        # the only one is for tracing by OpenTelemetry, which this server does not do
        self._server.middleware.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def _list_tools(self, _context: _Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe(tool) for tool in self._tools.tools.values()])

    async def _call_tool(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.tools.get(params.name)
        if tool is None or context.request is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool: {params.name[:80]!a}")
        answer = await self._tools.call(context.request, tool, params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=None if answer.is_error else json.loads(answer.text),
            is_error=answer.is_error,
        )


def _describe(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema={
            "type": "object",
            "properties": {tool.argument: {"type": "string", "description": tool.meaning}},
            "required": [tool.argument],
            "additionalProperties": False,
        },
        output_schema=dict(tool.output),
        annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )
