"""Reads small request bodies whole."""

from starlette.requests import Request

from feedmill.model.errors import TooLarge


async def read_body(request: Request, max_bytes: int, refusal: str = "") -> bytes:
    """Returns a request's body. Shape: ``refusal`` is the error's text. Errors: TooLarge, as soon as the body is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_bytes:
            raise TooLarge(refusal or f"the body is larger than {max_bytes} bytes")
    return bytes(body)
