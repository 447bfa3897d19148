"""The workplace of a command: the data folder, its settings, and the server that may run there.

While a server runs, commands that read open the store themselves, and commands that write use its ports. Without a server, a command
locks the folder and does the work itself.
"""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from feedmill.model.errors import FeedmillError, NotFound

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext
    from feedmill.cli.serverport import ServerPort
    from feedmill.runtime.runstate import RunState
    from feedmill.settings import LoadedSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """A data folder and a settings file, if any."""

    data: Path
    config: Path | None

    def find_server(self) -> "RunState | None":
        """Returns the server that runs here, None if there is none."""
        from feedmill.runtime.runstate import find_server

        return find_server(self.data)

    def load(self) -> "LoadedSettings":
        """Returns the settings in force: those of the running server, otherwise those of file and environment. Errors: BadSettings."""
        from feedmill.settings import load_settings, read_snapshot

        if self.find_server() is not None:
            return read_snapshot(self.data)
        return load_settings(self.config, os.environ)

    @contextmanager
    def read(self) -> "Iterator[AppContext]":
        """Opens the context for reading, with or without a server.

        Errors: NotFound if the folder has no data, Conflict and Corrupt if its data are of another release.
        """
        from feedmill.bootstrap.backends import check_store
        from feedmill.bootstrap.context import open_context
        from feedmill.runtime.datafolder import handing_over

        loaded = self.load()
        self._check_stored(loaded.settings)
        with handing_over(self.data):
            check_store(self.data, loaded.settings)
            with open_context(self.data, loaded.settings) as context:
                yield context

    @contextmanager
    def work(self, *, may_begin: bool = False) -> "Iterator[AppContext]":
        """Opens the context for changes, for this command alone; ``may_begin`` creates a new one, which does not stay if the work fails.

        Errors: Conflict while another process has the lock, NotFound if the folder has no data.
        """
        from feedmill.bootstrap.context import open_context
        from feedmill.runtime.datafolder import handing_over
        from feedmill.runtime.migration import migrate
        from feedmill.runtime.runstate import hold_data
        from feedmill.settings import load_settings

        settings = load_settings(self.config, os.environ).settings
        if not may_begin:
            self._check_stored(settings)
        beginning = nullcontext() if self._has_store(settings) else _removed_on_failure(self.data)
        with beginning, handing_over(self.data), hold_data(self.data):
            migrate(self.data, settings)
            with open_context(self.data, settings) as context:
                yield context

    def has_data(self) -> bool:
        """Returns whether the folder has a store, or the settings name one elsewhere. Errors: BadSettings."""
        return self._has_store(self.load().settings)

    def _has_store(self, settings: "Settings") -> bool:
        return bool(settings.store.url) or (self.data / "store.sqlite").exists()

    def _check_stored(self, settings: "Settings") -> None:
        if not self._has_store(settings):
            missing = f"'{self.data}' has no data yet" if self.data.exists() else f"there is no data folder '{self.data}'"
            raise NotFound(f"{missing}; 'feedmill serve --data {shlex.quote(str(self.data))}' makes one, or name another with --data")

    def client(self, server: "RunState", listener: str) -> "ServerPort":
        """Returns a client of a listener of the running server. On the admin and the feed port it sends the server's own token.

        Errors: NotFound if there is no such token.
        """
        from feedmill.cli.serverport import ServerPort
        from feedmill.runtime.admintoken import read_token
        from feedmill.settings import read_snapshot

        token = read_token(self.data) if listener in ("admin", "gate") else ""
        return ServerPort(base_url=server.url(listener), token=token, certificate=_certificate(read_snapshot(self.data).settings, listener))


@contextmanager
def _removed_on_failure(data: Path) -> Iterator[None]:
    """Removes what a block adds to a data folder without data if the block fails, and the folder too if it was not there."""
    new = [folder for folder in (data, *data.parents) if not folder.exists()]
    present = set() if new else set(data.iterdir())
    try:
        yield
    except (FeedmillError, OSError, KeyboardInterrupt):
        with suppress(OSError):
            for path in set(data.iterdir()) - present:
                rmtree(path) if path.is_dir() else path.unlink()
            for folder in new:
                folder.rmdir()
        raise


def _certificate(settings: "Settings", listener: str) -> str:
    if listener == "search":
        return settings.search.certificate
    return settings.admin.certificate if listener == "admin" else settings.gate.certificate
