"""The services behind the admin port, for tests of a few of them."""

from typing import Any

from feedmill.http.admin.app import Administration


def make_administration(**services: Any) -> Administration:
    """Returns services of which those that are not given do nothing."""
    idle: dict[str, Any] = {
        "read_status": dict,
        "reindex": dict,
        "remove_source": lambda *_: None,
        "render_metrics": bytes,
        "find_problems": list,
    }
    return Administration(**(idle | services))
