"""Adds the ``Server`` header to every response, refusals too. Old clients read it."""

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ServerName:
    """ASGI middleware. Reads the name at each request."""

    def __init__(self, app: ASGIApp, *, name: Callable[[], str]) -> None:
        self._app = app
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        header = (b"server", self._name().encode("latin-1", "replace"))

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        await self._app(scope, receive, named)
