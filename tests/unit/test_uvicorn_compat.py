"""The parts of uvicorn beyond its documented interface are as ``uvicorn_compat`` expects them.

If a test fails after an update: read what changed in uvicorn, correct ``uvicorn_compat``, then the expectation here.
"""

import ast
import asyncio
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import Server, ServerState

import feedmill
from feedmill.runtime.server import uvicorn_compat

SIGNATURES: dict[Callable[..., Any], tuple[str, ...]] = {
    HttpToolsProtocol.__init__: ("self", "config", "server_state", "app_state", "_loop"),
    HttpToolsProtocol.connection_made: ("self", "transport"),
    HttpToolsProtocol.connection_lost: ("self", "exc"),
    HttpToolsProtocol.data_received: ("self", "data"),
    HttpToolsProtocol.on_message_begin: ("self",),
    HttpToolsProtocol.on_url: ("self", "url"),
    HttpToolsProtocol.on_headers_complete: ("self",),
    HttpToolsProtocol.on_body: ("self", "body"),
    HttpToolsProtocol.on_message_complete: ("self",),
    HttpToolsProtocol.on_response_complete: ("self",),
    HttpToolsProtocol.send_400_response: ("self", "msg"),
    HttpToolsProtocol._start_asgi_task: ("self", "cycle", "app"),
    Server.__init__: ("self", "config"),
    Server.serve: ("self", "sockets"),
    Server.startup: ("self", "sockets"),
    Server.shutdown: ("self", "sockets"),
    Server.capture_signals: ("self",),
}
"""What ``uvicorn_compat`` and its subclasses override or call, with the names of the parameters."""

ATTRIBUTES: dict[type, set[str]] = {
    HttpToolsProtocol: {"config", "loop", "server_state", "transport", "flow", "pipeline", "scope", "cycle"},
    RequestResponseCycle: {
        "scope",
        "transport",
        "message_event",
        "disconnected",
        "keep_alive",
        "waiting_for_100_continue",
        "more_body",
        "response_started",
        "response_complete",
    },
    FlowControl: {"read_paused"},
    Server: {"config", "server_state", "started", "should_exit"},
    ServerState: {"connections", "tasks"},
}
"""What they read or set, by the class whose ``__init__`` must set it."""

SOURCES: dict[Callable[..., Any], str] = {
    Server._serve: "4262db0d0c4310e6",
    Server.startup: "8b35da79161af825",
    Server.shutdown: "6b5cbc9c494e1209",
    Server.capture_signals: "5c21d816e7ca26af",
    HttpToolsProtocol.on_headers_complete: "f5d7f89383b961ff",
    HttpToolsProtocol._start_asgi_task: "bc55a6f4487614df",
    HttpToolsProtocol.on_response_complete: "3b835da51ff0d85f",
    HttpToolsProtocol.connection_lost: "8a5a84898dabba92",
    RequestResponseCycle.send: "e4355b337add5d7c",
}
"""Digests of what they replace, or of whose order of steps they rely on. White space and comments do not count."""


def digest_of(function: Callable[..., Any]) -> str:
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__qualname__)
def test_parameters_are_as_expected(function: Callable[..., Any]) -> None:
    assert tuple(inspect.signature(function).parameters) == SIGNATURES[function]


@pytest.mark.parametrize("owner", ATTRIBUTES, ids=lambda owner: owner.__name__)
def test_attributes_are_set_at_the_beginning(owner: type) -> None:
    [tree] = ast.parse(inspect.cleandoc("\n" + inspect.getsource(owner.__init__))).body  # type: ignore[misc]
    targets = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    assert ATTRIBUTES[owner] - {target.attr for target in targets} == set()


@pytest.mark.parametrize("function", SOURCES, ids=lambda function: function.__qualname__)
def test_source_is_the_one_that_was_read(function: Callable[..., Any]) -> None:
    assert digest_of(function) == SOURCES[function]


def test_status_lines_are_bytes_by_status() -> None:
    assert STATUS_LINE[414].startswith(b"HTTP/1.1 414 ")
    assert STATUS_LINE[414].endswith(b"\r\n")


def test_protocol_and_server_state_know_the_same_connections() -> None:
    async def main() -> None:
        config = uvicorn.Config(lambda: None, lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        protocol = uvicorn_compat.HttpProtocol(config, state, {})
        assert protocol.is_opening
        assert not protocol.has_request
        assert not protocol.has_had_request
        assert protocol.connections is state.connections

    asyncio.run(main())


def test_no_other_module_reaches_into_uvicorn() -> None:
    source = Path(feedmill.__file__).parent
    private = {"cycle", "pipeline", "flow", "server_state"}
    found = set()
    texts = {path: path.read_text() for path in source.rglob("*.py")}
    candidates = [path for path, text in texts.items() if "uvicorn" in text or any(f"self.{name}" in text for name in private)]
    for path in candidates:
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uvicorn."):
                found.add(path.name)
            if isinstance(node, ast.Attribute) and node.attr in private and isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(path.name)
    assert found == {Path(uvicorn_compat.__file__).name}
