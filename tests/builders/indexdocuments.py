"""Documents as an index gets them."""

from dataclasses import replace
from typing import Any

from feedmill.model.search import IndexDocument


def make_index_document(**given: Any) -> IndexDocument:
    plain = IndexDocument(
        key=1,
        url="http://www.example.com/dir/page.html",
        display_url=None,
        access_class=0,
        title="",
        body="",
        metadata=(),
        datasource="hr",
        mimetype="text/html",
        language="en",
        last_modified=None,
        pagerank=96,
    )
    return replace(plain, **given)


def with_body(*bodies: str) -> list[IndexDocument]:
    return [make_index_document(key=number, body=body) for number, body in enumerate(bodies, 1)]


def with_url(*urls: str) -> list[IndexDocument]:
    return [make_index_document(key=number, url=url, body="x") for number, url in enumerate(urls, 1)]
