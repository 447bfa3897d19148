import io
import json
import logging

import structlog

from feedmill.logs import configure_logs


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
