"""How the text of an extracted document is kept: one blob with the links that were found beside it.

line 1      JSON object {"links": [[url, text], ...]}
the rest    the text in UTF-8
"""

import json
from collections.abc import Sequence

from feedmill.model.errors import Corrupt
from feedmill.model.extraction import Link


def encode_text(text: str, links: Sequence[Link]) -> bytes:
    """Returns the bytes that keep a text and its links."""
    header = json.dumps({"links": links}, ensure_ascii=True, separators=(",", ":"))
    return header.encode("ascii") + b"\n" + text.encode("utf-8", "ignore")


def decode_text(data: bytes) -> str:
    """Returns the text. Errors: Corrupt."""
    end = data.find(b"\n")
    if end < 0:
        raise Corrupt("a kept text has no header line; extract the document anew")
    return data[end + 1 :].decode("utf-8", "replace")


def decode_links(data: bytes) -> list[Link]:
    """Returns the links. Errors: Corrupt."""
    end = data.find(b"\n")
    try:
        return [Link(url=url, text=text) for url, text in json.loads(data[: max(end, 0)])["links"]]
    except (ValueError, KeyError, TypeError) as exc:
        raise Corrupt("a kept text has an unreadable header line; extract the document anew") from exc
