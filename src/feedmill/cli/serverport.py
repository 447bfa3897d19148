"""A port of a running server, as commands use it: by ``feedmill_client``, whose errors become those of the model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from feedmill.model.errors import (
    BadRequest,
    Busy,
    Conflict,
    Denied,
    FeedmillError,
    NotFound,
    TooLarge,
    Unreachable,
    UpstreamFailure,
    VersionConflict,
)
from feedmill_client import errors
from feedmill_client.options import Options, Retries
from feedmill_client.port import OnProgress, Port, ignore_progress

_TABLE: Final[tuple[tuple[type[errors.FeedmillError], type[FeedmillError]], ...]] = (
    (errors.TooLarge, TooLarge),
    (errors.BadRequest, BadRequest),
    (errors.NotFound, NotFound),
    (errors.Overtaken, VersionConflict),
    (errors.Conflict, Conflict),
    (errors.Denied, Denied),
    (errors.Unreachable, Unreachable),
    (errors.Busy, Busy),
    (errors.FeedmillError, UpstreamFailure),
)
"""Our error for each error of the client. The first match counts, so special errors stand before general ones."""

# the user of a command sees at once that no server answers, and decides whether to try again
_ONCE: Final = Options(retries=Retries(attempts=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPort:
    """A port by its base URL, which may hold a user and a password or token. ``certificate`` and ``ca_file``: see ``Options``."""

    base_url: str
    token: str = ""
    certificate: str = ""
    ca_file: str = ""

    def push(self, path: str, fields: Mapping[str, str], file: Path, on_progress: OnProgress = ignore_progress) -> str | None:
        """Posts a feed and returns its id, or None if the server returns none. Errors: Denied, Busy, BadRequest, NotFound."""
        with self._open() as port:
            return port.push(path, fields, file, on_progress)

    def get_json(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Reads a resource. Errors: NotFound, Denied, Busy, BadRequest."""
        with self._open() as port:
            return port.get_json(path, parameters)

    def post_json(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Posts a request without a body. Errors: as ``get_json``."""
        with self._open() as port:
            return port.post_json(path, parameters)

    def send_json(self, method: str, path: str, body: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Any:
        """Sends JSON. Errors: as ``get_json``."""
        with self._open() as port:
            return port.send_json(method, path, body, parameters)

    def delete(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Deletes a resource. Returns what the server answers. Errors: as ``get_json``."""
        with self._open() as port:
            return port.delete(path, parameters)

    @contextmanager
    def _open(self) -> Iterator[Port]:
        try:
            with Port(self.base_url, token=self.token, certificate=self.certificate, options=replace(_ONCE, ca_file=self.ca_file)) as port:
                yield port
        except errors.FeedmillError as exc:
            if type(exc.__cause__).__name__ == "SSLCertVerificationError" and not self.certificate:
                raise Unreachable(f"{exc}; if it is the right server, name a file with its certificate by --ca") from exc
            raise next(ours for theirs, ours in _TABLE if isinstance(exc, theirs))(str(exc)) from exc
