"""Changes of documents as a feed brings them; a name stands for a URL of one host."""

import io

from feedmill.core.documents.urlstate import Rules
from feedmill.model.access import Acl
from feedmill.model.change import AclChange, Content, Delete, InvalidRecord, PutAcl, PutDocument, SourcePosition
from feedmill.model.document import Attributes, Metadata
from tests.builders.access import STAFF

OPEN = Rules(refusal=lambda _url: None, make_public=lambda _url: None)
"""Rules that refuse no URL and make none public."""


def url(name: str) -> str:
    return f"http://docs.test/{name}"


def make_content(text: str) -> Content:
    data = text.encode()
    return Content(stream=io.BytesIO(data), size_bytes=len(data))


def put(
    name: str,
    content: str | None = "body",
    *,
    record: int = 1,
    metadata: Metadata | None = None,
    acl: Acl | None = None,
    attributes: Attributes | None = None,
    whole: bool = False,
) -> PutDocument:
    return PutDocument(
        place=SourcePosition(record=record, line=record),
        url=url(name),
        attributes=attributes or Attributes(),
        metadata=metadata,
        content=None if content is None else make_content(content),
        acl=AclChange(element=acl),
        whole=whole,
    )


def delete(name: str) -> Delete:
    return Delete(place=SourcePosition(record=1, line=1), url=url(name))


def faulty(name: str | None, *, record: int = 1, reason: str = "no host") -> InvalidRecord:
    return InvalidRecord(place=SourcePosition(record=record, line=record), url=None if name is None else url(name), reason=reason)


def put_acl(name: str, acl: Acl | None = STAFF) -> PutAcl:
    return PutAcl(place=SourcePosition(record=0, line=1), url=url(name), acl=acl)
