"""Bodies and headers of HTTP requests."""

import base64

PASSWORD = "a good long password"


def make_multipart(*fields: tuple[str, bytes], boundary: str = "<<") -> bytes:
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n" for name, value in fields]
    return b"".join(parts) + f"--{boundary}--\r\n".encode()


def make_basic(name: str, password: str = PASSWORD) -> str:
    """Returns the value of ``Authorization`` for HTTP Basic."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()
