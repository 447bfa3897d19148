"""The log: one event a line on standard error, JSON for machines or coloured for people.

Every line holds ``at`` (UTC), ``level``, ``role`` and ``event``, the event's own fields, and ``request_id`` if it is about a request.
Messages of libraries that use ``logging`` have the same shape.
"""

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter

from feedmill.telemetry.requestids import find_request_id

_QUIET = ("uvicorn.access", "uvicorn.error", "alembic", "asyncio", "mcp", "spnego")
"""Loggers whose routine messages would hide ours. Those of spnego contain tokens, by which an attacker can guess passwords."""


def configure_logs(role: str, *, level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """Configures the log of this process; ``form`` is json, pretty, or auto: pretty on a terminal."""
    # a parent that closed standard error wants no log
    target = stream or sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - open as long as the process
    is_pretty = form == "pretty" or (form == "auto" and target.isatty())
    number = logging.getLevelName(level.upper())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        _RoleName(role),
        _add_request_id,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.PositionalArgumentsFormatter(), ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        # Modules hold their loggers from import on, before a forked role configures its own log.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(ProcessorFormatter(foreign_pre_chain=shared, processors=_final_processors(is_pretty)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(number, logging.WARNING))
    logging.captureWarnings(capture=True)


def _final_processors(is_pretty: bool) -> list[structlog.types.Processor]:
    if is_pretty:
        console = structlog.dev.ConsoleRenderer(timestamp_key="at", exception_formatter=structlog.dev.plain_traceback)
        return [ProcessorFormatter.remove_processors_meta, console]
    return [
        ProcessorFormatter.remove_processors_meta,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
    ]


def _add_request_id(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    request_id = find_request_id()
    if request_id:
        event["request_id"] = request_id
    return event


class _RoleName:
    """Adds the name of the process's role to each event."""

    def __init__(self, role: str) -> None:
        self._role = role

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["role"] = self._role
        return event
