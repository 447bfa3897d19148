"""Documents as a store keeps them, each valid as it is and changed by keyword."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from feedmill.model.document import Attributes, Document, DocumentState, Origin

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def a_document(url: str, **given: Any) -> Document:
    plain = Document(
        id=None,
        url=url,
        state=DocumentState.LIVE,
        origin=Origin.CONTENT,
        datasource="src",
        version=1,
        feed_id=1,
        seen_feed_id=1,
        attributes=Attributes(),
        metadata=(),
        secure=False,
        content=None,
        content_bytes=0,
        charset=None,
        text=None,
        updated_at=NOW,
    )
    return replace(plain, **given)
