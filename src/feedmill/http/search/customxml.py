"""Reads ``proxycustom=`` from a request; the process that applies the stylesheet parses it, never the server.

Source: Search Protocol Reference, "Custom XML".
"""

from typing import Final

from feedmill.model.errors import BadRequest

MAX_CUSTOM_BYTES: Final = 8_192


def check_custom(text: str) -> bytes:
    """Returns the bytes for the stylesheet, empty for a blank text, without parsing them. Errors: BadRequest."""
    data = text.encode("utf-8", "replace") if text.strip() else b""
    if len(data) > MAX_CUSTOM_BYTES:
        raise BadRequest(f"proxycustom= has more than {MAX_CUSTOM_BYTES} bytes")
    return data
