"""Health checks: is the process alive (``/healthz``), and can it do its work (``/readyz``)?

Both responses contain public information only. They need no token and are on every port.
"""

from collections.abc import Callable
from typing import Final

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse

from feedmill.http.common.requirements import ANYONE, DeclaredRoute
from feedmill.model.errors import Corrupt

Problems = Callable[[], list[str]]
"""Lists what stops a role from working, in words that anyone may read; empty if nothing does. May block and raise."""

UNAVAILABLE: Final = "the store or the index is unavailable; the log says why"
DAMAGED: Final = "the store or the index is damaged; the log says how"

log = structlog.get_logger(__name__)


class _Readiness:
    """Finds problems. Logs the reason of a problem that is not public, once for as long as it stays the same."""

    def __init__(self, find_problems: Problems, find_warnings: Problems) -> None:
        self._find_problems = find_problems
        self._find_warnings = find_warnings
        self._logged = ""

    def list_warnings(self) -> list[str]:
        """Lists the warnings; none while the check itself fails, which is a problem."""
        try:
            return self._find_warnings()
        except Exception:  # noqa: BLE001 - as below
            return []

    def list_problems(self) -> list[str]:
        """Lists the problems, with those of the check itself."""
        try:
            problems, reason = self._find_problems(), ""
        except Exception as exc:  # noqa: BLE001 - whatever prevents this check also prevents the work of this process
            problems, reason = [DAMAGED if isinstance(exc, Corrupt) else UNAVAILABLE], f"{type(exc).__name__}: {exc}"
        if reason and reason != self._logged:
            log.error("not_ready", reason=reason)
        self._logged = reason
        return problems


def health_routes(find_problems: Problems, find_warnings: Problems = list) -> list[DeclaredRoute]:
    """Returns the two routes to add to a port's application. Shape: a server with warnings is ready."""

    readiness = _Readiness(find_problems, find_warnings)

    async def show_health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def show_readiness(_request: Request) -> JSONResponse:
        problems = await run_in_threadpool(readiness.list_problems)
        if problems:
            return JSONResponse({"status": "not ready", "problems": problems}, status_code=503)
        warnings = await run_in_threadpool(readiness.list_warnings)
        return JSONResponse({"status": "ready", "warnings": warnings} if warnings else {"status": "ready"})

    return [DeclaredRoute("/healthz", show_health, requires=ANYONE), DeclaredRoute("/readyz", show_readiness, requires=ANYONE)]
