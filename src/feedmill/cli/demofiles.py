"""Serves the files of the folders that the demonstration feeds, on this machine alone, so that its results lead to the files.

Only regular files inside a folder are served, and none behind a symbolic link, since the feeds hold no others.
"""

import errno
import mimetypes
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

from feedmill.adapters.threadedserver import IDLE_SECONDS, ThreadedServer, serving_in_threads
from feedmill.model.errors import BadSettings

BIND: Final = "127.0.0.1"
USUAL_PORT: Final = 8090
"""The port if it is free, so that the addresses of the documents stay the same the next time."""
PORT_VARIABLE: Final = "FEEDMILL_FILES_PORT"
"""The variable of the environment that names another port; 0 is a free one."""

_PAGES: Final = frozenset({"text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml"})
_SANDBOX: Final = "sandbox; form-action 'none'; base-uri 'none'"
"""For pages, whose scripts must not act in the name of this machine. Other types have no scripts, and viewers of PDF refuse a sandbox."""


class FileServer(ThreadedServer):
    """Serves files of folders. Shape: ``folders`` by the first part of the path. Errors of the constructor: OSError."""

    def __init__(self, folders: Mapping[str, Path], port: int) -> None:
        self.folders = {name: Path(os.path.realpath(folder)) for name, folder in folders.items()}
        super().__init__((BIND, port), _Handler)

    def url(self, name: str) -> str:
        """Returns the URL of a folder."""
        return f"http://{BIND}:{self.server_address[1]}/{name}/"

    def find_file(self, target: str) -> Path | None:
        """Returns the file that a request means, None if there is none to serve."""
        raw = unquote_to_bytes(urlsplit(target).path.removeprefix("/"))
        name, *parts = (os.fsdecode(part) for part in raw.split(b"/"))
        folder = self.folders.get(name)
        if folder is None or not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
            return None
        path = folder.joinpath(*parts)
        with suppress(OSError):
            if path.is_file() and Path(os.path.realpath(path)) == path:
                return path
        return None


@contextmanager
def serving_files(folders: Mapping[str, Path]) -> Iterator[FileServer]:
    """Serves folders in threads until the context ends, on a free port if the usual one is taken. Errors: BadSettings, OSError."""
    try:
        server = FileServer(folders, _choose_port())
    except OSError as exc:
        if exc.errno != errno.EADDRINUSE:
            raise
        server = FileServer(folders, 0)
    with serving_in_threads(server):
        yield server


def _choose_port() -> int:
    """Returns the port that the environment names, else the usual one. Errors: BadSettings."""
    text = os.environ.get(PORT_VARIABLE) or str(USUAL_PORT)
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << 16):
        raise BadSettings([f"{PORT_VARIABLE}: '{text}' is no port; give a number from 0, a free port, to 65535"])
    return int(text)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: FileServer

    def _handle(self) -> None:
        # a page of another site may reach this port under a name of its own
        if self.headers.get("Host") not in (f"{BIND}:{self.server.server_address[1]}", f"localhost:{self.server.server_address[1]}"):
            self._refuse(421)
            return
        path = self.server.find_file(self.path)
        if path is None:
            self._refuse(404)
            return
        try:
            file = path.open("rb")
        except OSError:
            self._refuse(403)
            return
        with file:
            kind = _find_type(path)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            self.send_header("X-Content-Type-Options", "nosniff")
            if kind in _PAGES:
                self.send_header("Content-Security-Policy", _SANDBOX)
            self.end_headers()
            if self.command == "GET":
                shutil.copyfileobj(file, self.wfile)

    do_GET = do_HEAD = _handle  # noqa: N815  the names are those of the standard library

    def _refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing: the screen belongs to the demonstration."""


def _find_type(path: Path) -> str:
    """Returns the type under which a browser shows a file. Markdown is shown as the text that it is."""
    kind, encoding = mimetypes.guess_type(path.name, strict=False)
    if encoding is not None or kind is None:
        return "application/octet-stream"
    return "text/plain; charset=utf-8" if kind.startswith("text/") and kind not in _PAGES else kind
