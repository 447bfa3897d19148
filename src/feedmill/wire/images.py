"""Finds the media type of an image by its first bytes, as browsers do.

Source: WHATWG MIME Sniffing, 6.1 (images); SVG 2, 5.1 (the root element).
"""

import re
from typing import Final

SVG: Final = "image/svg+xml"
_SIGNATURES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (
        # a declaration, comments and a document type may precede the root element
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--(?:(?!-->).){0,2000}-->\s*){0,9}"
            rb"(?:<!DOCTYPE svg[^>\[]{0,300}>\s*)?<svg[\s>]",
            re.DOTALL,
        ),
        SVG,
    ),
)


def find_image_type(data: bytes) -> str | None:
    """Returns the media type, None for data that is no PNG, JPEG, GIF, WebP or SVG."""
    return next((kind for signature, kind in _SIGNATURES if signature.match(data)), None)
