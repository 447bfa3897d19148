"""Asks an application as a server would, without a socket."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message


@dataclass(frozen=True, slots=True)
class Answer:
    """What an application answered. Shape: names of headers in lower case; cookies as they were set."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask_app(app: ASGIApp, method: str, path: str, **given: Any) -> Answer:
    """Sends one request and waits for its answer; takes what ``send_request`` takes."""
    return asyncio.run(send_request(app, method, path, **given))


async def send_request(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    query: str = "",
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    host: str = "search.example.com",
    port: int = 80,
    peer: str = "127.0.0.1",
    scheme: str = "http",
    extensions: Mapping[str, Any] | None = None,
    on_send: Callable[[Message], None] = lambda _message: None,
    disconnected: asyncio.Event | None = None,
) -> Answer:
    """Sends one request from any address. ``headers`` may be written as Python names.

    Shape: ``on_send`` gets each message of the application. The client disconnects once ``disconnected`` is set.
    Without a response the status is 0.
    """
    bodies = [body]
    sent: list[Message] = []

    async def receive() -> Message:
        if not bodies:
            await (disconnected or asyncio.Event()).wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)
        on_send(message)

    named = {"host": host} | {name.replace("_", "-").lower(): value for name, value in (headers or {}).items()}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": (peer, 1),
        "server": (host, port),
        "extensions": dict(extensions or {}),
    }
    await app(scope, receive, send)
    if not sent:
        return Answer(0, {}, b"")
    response_headers = [(name.decode().lower(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(
        sent[0]["status"], dict(response_headers), content, tuple(value for name, value in response_headers if name == "set-cookie")
    )
