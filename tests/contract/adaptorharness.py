"""A command line adaptor of shell scripts in a folder, run by a puller on a real store."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from feedmill.adapters.commands import ProcessCommands
from feedmill.adapters.listings import FolderListings
from feedmill.adapters.spool import FolderSpool
from feedmill.model.pulling import PullRun
from feedmill.services.pulling.adaptors import AdaptorPlace, AdaptorSource, AdaptorTools
from feedmill.services.pulling.setups import PullSetup
from feedmill.wire.adaptorconfig.keys import AdaptorConfig, read_config
from feedmill.wire.commandstream.render import render_document, render_listing
from feedmill.wire.commandstream.schema import ListedDocument, RetrievedDocument
from tests.contract.pullharness import PullHarness

BASE = "adaptor://table/"
RETRIEVER = 'echo "$1 $2" >> calls\nif [ -e "docs/$1.fails" ]; then cat "docs/$1.fails" >&2; exit 3; fi\nexec cat "docs/$1"\n'


@dataclass(slots=True, kw_only=True)
class AdaptorHarness(PullHarness):
    """``folder`` has the scripts: the lister prints the file ``listing``, the retriever the file of the document in ``docs``."""

    folder: Path
    keys: dict[str, str] = field(default_factory=dict)
    is_incremental: bool = False
    max_content_bytes: int = 1_000_000

    def prepare(self) -> None:
        (self.folder / "docs").mkdir()
        self.script("lister", "exec cat listing\n")
        self.script("retriever", RETRIEVER)
        self.keys |= {"commandline.lister.cmd": "./lister", "commandline.retriever.cmd": "./retriever"}

    def script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)

    def list_documents(self, *documents: ListedDocument, tail: bytes = b"") -> None:
        (self.folder / "listing").write_bytes(b"".join(render_listing(documents)) + tail)

    def put_document(self, identifier: str, content: bytes | None = b"text", **fields: Any) -> None:
        document = RetrievedDocument(id=identifier, has_content=content is not None, **fields)
        (self.folder / "docs" / identifier).write_bytes(render_document(document) + (content or b""))

    @property
    def config(self) -> AdaptorConfig:
        return read_config(self.keys)

    def open_source(self) -> AdaptorSource:
        work = self.folder / "work"
        return AdaptorSource(
            self.config,
            AdaptorPlace(folder=str(self.folder), base_url=BASE),
            AdaptorTools(
                commands=ProcessCommands(work / "files"),
                listings=FolderListings(work / "listings"),
                open_spool=FolderSpool(work / "spool").open,
                clock=self.clock,
                max_content_bytes=self.max_content_bytes,
            ),
        )

    @property
    def setup(self) -> PullSetup:
        # the dataclass has slots, so super() is not bound here
        setup = PullHarness.setup.fget(self)  # type: ignore[attr-defined]
        assert isinstance(setup, PullSetup)
        return replace(setup, open=self.open_source, is_incremental=bool(self.config.incremental), parallel=self.config.limits.retrievers)

    def take_calls(self) -> list[str]:
        """Returns the calls of the retriever since the last time: id and time."""
        path = self.folder / "calls"
        calls = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(calls)

    def run_full(self, **options: bool) -> PullRun:
        return self.run(is_full=True, **options)
