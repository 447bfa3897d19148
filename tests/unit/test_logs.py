import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import structlog

import feedmill
from feedmill.telemetry.logs import configure_logs

SOURCE = Path(feedmill.__file__).parent
LEVELS = ("debug", "info", "warning", "error", "exception", "log")


def test_log_as_json_holds_time_level_role_and_fields() -> None:
    stream = io.StringIO()
    configure_logs("gate", form="json", stream=stream)
    structlog.get_logger().info("feed received", feed=7, client="ä")
    logging.getLogger("library").warning("something %s", "odd")
    ours, theirs = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (ours["event"], ours["feed"], ours["level"], ours["role"], ours["client"]) == ("feed received", 7, "info", "gate", "ä")
    assert ours["at"].endswith("Z")
    assert (theirs["event"], theirs["level"], theirs["role"]) == ("something odd", "warning", "gate")


def test_log_with_an_exception_keeps_it_on_one_line() -> None:
    stream = io.StringIO()
    configure_logs("gate", form="auto", stream=stream)
    try:
        raise ValueError("inside")
    except ValueError:
        structlog.get_logger().exception("failed")
    assert "ValueError: inside" in json.loads(stream.getvalue())["exception"]


def test_log_below_the_level_is_silent_and_pretty_is_text() -> None:
    stream = io.StringIO()
    configure_logs("gate", level="warning", form="pretty", stream=stream)
    structlog.get_logger().info("quiet")
    structlog.get_logger().warning("loud")
    assert "quiet" not in stream.getvalue()
    assert "loud" in stream.getvalue()


def test_every_event_of_the_source_has_a_name_to_look_for() -> None:
    named = {event for file in SOURCE.rglob("*.py") for event in _events_of(file)}
    assert {"feed_applied", "role_ended", "ready"} <= named
    assert [event for event in sorted(named) if not re.fullmatch(r"[a-z]+(_[a-z]+)*", event)] == []


def test_every_module_that_logs_names_its_logger_alike() -> None:
    lines = {line.strip() for file in SOURCE.rglob("*.py") for line in file.read_text().splitlines() if "structlog.get_logger" in line}
    assert lines == {"log = structlog.get_logger(__name__)"}


def _events_of(file: Path) -> Iterator[str]:
    text = file.read_text()
    for node in ast.walk(ast.parse(text if "structlog" in text else "")):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in LEVELS:
            continue
        if ast.unparse(node.func.value) == "log":
            yield from (name.value for name in node.args if isinstance(name, ast.Constant) and isinstance(name.value, str))
