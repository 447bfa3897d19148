"""Search results as the XML of Thunderstone's appliance.

Scores and the percentages that follow from them are left out: they depend on documents that the user may not see.
Source: Thunderstone Search Appliance Manual, "XML Elements in Search Results".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Final

from feedmill.core.documents.presentation import select_metadata
from feedmill.model.dataload import Profile
from feedmill.model.results import Result, ResultPage
from feedmill.wire.dataload.schema import FIELD_PREFIX
from feedmill.wire.xmltext import clean_text

OUTPUT_VERSION: Final = "1"
FIELD_NAMESPACE: Final = "http://www.thunderstone.com/ThunderstoneResults/fields"
_ROOT: Final = "ThunderstoneResults"


def render_results(page: ResultPage, profile: Profile, echo: Mapping[str, str], write_time: Callable[[datetime], str]) -> bytes:
    """Returns one page of results. Shape: ``echo`` are the elements that repeat the request."""
    parts = [_element(name, value) for name, value in {"XmlOutputVersion": OUTPUT_VERSION, **echo}.items()]
    parts.append(_element("ExitReason", "Timeout" if page.deadline_warnings else "ok"))
    last = page.start + len(page.results)
    summary = {"Start": str(page.start + 1 if page.results else 0), "End": str(last if page.results else 0), "Total": str(page.length)}
    parts.append(f"<Summary>{_join(summary.items())}</Summary>\n")
    parts += (_render_result(result, page.start + place, profile, write_time) for place, result in enumerate(page.results, 1))
    return _document(parts)


def render_exit(reason: str, echo: Mapping[str, str]) -> bytes:
    """Returns the response to a request that names no profile, with the reason."""
    return _document([_element(name, value) for name, value in {**echo, "ExitReason": reason}.items()])


def _render_result(result: Result, number: int, profile: Profile, write_time: Callable[[datetime], str]) -> str:
    metadata = dict(reversed(result.metadata))
    fields = {
        "Num": str(number),
        "Url": result.url,
        "UrlDisplay": result.display_url,
        "DocSize": metadata.get("size", str(result.content_bytes)),
        "Depth": metadata.get("depth", ""),
        "ResultTitle": result.title or result.display_url,
        "Abstract": result.snippet.text,
        "Modified": write_time(result.date) if result.date is not None else "",
    }
    return f"<Result>{_join((*fields.items(), *_iter_fields(result, profile)))}</Result>\n"


def _iter_fields(result: Result, profile: Profile) -> Iterator[tuple[str, str]]:
    """Yields the additional fields that the profile outputs."""
    for field in profile.fields:
        if field.output:
            yield from ((f"{FIELD_PREFIX}:{field.name}", value) for _, value in select_metadata(result.metadata, (field.name,)))


def _join(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<{name}>{_text(value)}</{name}>" for name, value in pairs if value)


def _element(name: str, value: str) -> str:
    return f"<{name}>{_text(value)}</{name}>\n"


def _document(parts: Iterable[str]) -> bytes:
    namespace = f' xmlns:{FIELD_PREFIX}="{FIELD_NAMESPACE}"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{_ROOT}{namespace}>\n{"".join(parts)}</{_ROOT}>\n'.encode("utf-8", "replace")


def _text(text: str) -> str:
    return escape(clean_text(text), quote=False)
