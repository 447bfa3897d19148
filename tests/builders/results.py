"""Results of a search."""

from dataclasses import replace
from typing import Any

from feedmill.model.results import Result, Snippet


def make_result(url: str, **given: Any) -> Result:
    plain = Result(
        key=1,
        url=url,
        display_url=url,
        title=None,
        snippet=Snippet(text=""),
        score=1.0,
        date=None,
        mimetype="text/html; charset=utf-8",
        language=None,
        metadata=(),
    )
    return replace(plain, **given)
