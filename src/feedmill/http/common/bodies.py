"""Reads small request bodies whole."""

from starlette.requests import Request

from feedmill.model.errors import TooLarge


async def read_body(request: Request, max_bytes: int, refusal: str = "") -> bytes:
    """Reads a body. Shape: ``refusal`` is what a sender of more is told. Errors: TooLarge, as soon as there is too much."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_bytes:
            raise TooLarge(refusal or f"the body is larger than {max_bytes} bytes")
    return bytes(body)
