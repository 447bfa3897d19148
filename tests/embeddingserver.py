"""A deterministic server of embeddings for tests, by the protocol of OpenAI.

Each word of a text adds one dimension's weight; words of the same concept share a dimension, so that "car" and "automobile" are near though
they share no letter. Words of no meaning have no weight. ``fault`` makes it answer as a broken server would.
"""

import json
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.threadedserver import serve_in_thread

DIMENSIONS = 256
CONCEPTS = (
    {"car", "cars", "automobile", "automobiles", "vehicle", "sedan"},
    {"doctor", "physician", "medic"},
    {"holiday", "vacation", "leave"},
    {"money", "salary", "wages", "pay"},
)
_STOP = {"the", "a", "an", "of", "and", "to", "in", "is", "for", "by", "with", "on", "this", "that"}
_WORD = re.compile(r"\w+")


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Returns the vector of a text; a text without words points in a direction of its own."""
    vector = [0.0] * dimensions
    for word in _WORD.findall(text.lower()):
        if word not in _STOP:
            concept = next((number for number, words in enumerate(CONCEPTS) if word in words), None)
            free = dimensions - len(CONCEPTS) - 1
            vector[len(CONCEPTS) + zlib.crc32(word.encode()) % free if concept is None else concept] += 1.0
    if not any(vector):
        vector[-1] = 1.0
    return vector


class EmbeddingServer:
    """Counts requests and texts. ``fault``: "" for none; ``refused``: a word whose texts are refused with 400."""

    def __init__(self) -> None:
        self.fault = ""
        self.refused = ""
        self.requests = 0
        self.texts: list[str] = []
        self.keys: list[str | None] = []
        self.models: list[str] = []
        self.seconds = 0.0
        self.port = 0

    @property
    def url(self) -> str:
        """The whole address for ``[semantic] url``."""
        return f"http://127.0.0.1:{self.port}/v1/embeddings"

    def answer(self, payload: dict[str, Any]) -> tuple[int, bytes]:
        """Returns the status and the body for a request."""
        texts = payload["input"]
        self.requests += 1
        self.texts += texts
        self.models.append(payload["model"])
        if self.seconds:
            time.sleep(self.seconds)
        if self.refused and any(self.refused in text for text in texts):
            return 400, b'{"error": "refused"}'
        rows: list[Any] = [embed(text, DIMENSIONS - 1 if self.fault == "dimensions" else DIMENSIONS) for text in texts]
        match self.fault:
            case "status":
                return 500, b"no"
            case "html":
                return 200, b"<html>hello</html>"
            case "nan":
                rows = [[float("nan")] * DIMENSIONS for _ in rows]
            case "words":
                rows = [["x"] * DIMENSIONS for _ in rows]
            case "count":
                rows = rows[:-1]
            case "huge":
                return 200, b'{"data": [' + b" " * 20_000_000 + b"]}"
            case "deep":
                return 200, b"[" * 100_000
            case "null":
                rows = [None for _ in rows]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        if self.fault == "indexes":
            data = [{**item, "index": 7} for item in data]
        return 200, json.dumps({"object": "list", "data": list(reversed(data)), "model": payload["model"]}).encode()


@contextmanager
def embedding_server(port: int = 0, made: EmbeddingServer | None = None) -> Iterator[EmbeddingServer]:
    """Runs a server on 127.0.0.1; with ``made`` one that was ended before, which keeps its counts."""
    server = made or EmbeddingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.keys.append(self.headers["Authorization"])
            status, answer = server.answer(json.loads(body))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            try:
                self.wfile.write(answer)
            except OSError:
                return

        def log_message(self, format: str, *args: Any) -> None:
            return

    class Listener(ThreadingHTTPServer):
        allow_reuse_address = True
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    listener = Listener(("127.0.0.1", port), Handler)
    server.port = listener.server_address[1]
    with serve_in_thread(listener):
        yield server
