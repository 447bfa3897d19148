"""Reads DOC, XLS, PPT, RTF and MSG with xberg, an optional package; without it these formats have a reason that says so."""

import asyncio
import re
from typing import Any

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.sniff import RTF
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits

# with the escaped backslash, so that what stands behind it is none
_SYMBOL = re.compile(rb"\\[\\~_]")
_SYMBOLS = {b"\\~": b" ", b"\\_": b"-"}
_FIELDS = (("title", "title"), ("authors", "author"), ("subject", "subject"), ("keywords", "keywords"), ("category", "category"))


def read_legacy(data: bytes, mimetype: str, limits: ExtractionLimits) -> Content:
    """Reads a document of one of the old formats. Errors: Unreadable."""
    try:
        import xberg
    except ImportError as exc:
        raise Unreadable(f"documents of type {mimetype} need the package xberg, which is not installed (extra: office)") from exc
    if mimetype == RTF:
        data = _replace_symbols(data)
    source = xberg.ExtractInput(kind=xberg.ExtractInputKind.BYTES, bytes=data, mime_type=mimetype)
    try:
        result = asyncio.run(xberg.extract(source, _configure(xberg, limits)))
    except (xberg.XbergError, RuntimeError, ValueError, OSError) as exc:
        raise Unreadable(_explain(str(exc))) from exc
    if not result.results:
        raise Unreadable(_explain("; ".join(str(error) for error in result.errors[:2])))
    document = result.results[0]
    metadata = _read_metadata(document.metadata)
    title = next((value for name, value in metadata if name == "title"), None)
    return Content(text=document.content, title=title, metadata=metadata)


def _replace_symbols(data: bytes) -> bytes:
    """Returns RTF with blanks and hyphens for those that keep words together, which the library takes for ``~`` and ``_``."""
    # binary data says how long it is
    return data if b"\\bin" in data else _SYMBOL.sub(lambda found: _SYMBOLS.get(found[0], found[0]), data)


def _configure(xberg: Any, limits: ExtractionLimits) -> Any:
    return xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        output_format="plain",
        extraction_timeout_secs=max(1, int(limits.seconds)),
        concurrency=xberg.ConcurrencyConfig(max_threads=1),
    )


def _explain(message: str) -> str:
    if "password" in message.lower() or "encrypt" in message.lower():
        return "the document is encrypted and needs a password"
    return clean_line(f"the document is damaged or of an unknown kind: {message}", 300)


def _read_metadata(found: Any) -> Metadata:
    pairs: list[tuple[str, str]] = []
    for field, name in _FIELDS:
        value = getattr(found, field, None)
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, text) for one in values if one is not None and (text := clean_line(str(one)))]
    return tuple(pairs)
