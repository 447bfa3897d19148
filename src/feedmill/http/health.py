"""What a watchdog asks: does the process answer (``/healthz``), and can it do its work (``/readyz``).

Both say nothing that a stranger may not know, so they ask for no token and are on every port.
"""

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

Problems = Callable[[], list[str]]
"""Lists what keeps a role from its work, in words for operators; empty when nothing does. May block."""


def health_routes(find_problems: Problems) -> list[Route]:
    """Gives the two routes to put into a port's application."""

    async def tell_health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def tell_readiness(_request: Request) -> JSONResponse:
        problems = await run_in_threadpool(find_problems)
        if problems:
            return JSONResponse({"status": "not ready", "problems": problems}, status_code=503)
        return JSONResponse({"status": "ready"})

    return [Route("/healthz", tell_health), Route("/readyz", tell_readiness)]
