"""The generations of a Tantivy index: a folder each, below one folder."""

import os
import shutil
from pathlib import Path

from feedmill.adapters.index.tantivy.reader import TantivyIndex, can_serve
from feedmill.adapters.index.tantivy.schema import SCHEMA_VERSION
from feedmill.adapters.index.tantivy.segments import META
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.model.ranking import Ranking


class TantivyGenerations:
    """Implements ``ports.IndexGenerations`` in a folder."""

    schema = str(SCHEMA_VERSION)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_names(self) -> list[str]:
        """Lists the generations that exist, also unfinished ones, and the folders of separate builds."""
        return os.listdir(self._folder) if self._folder.exists() else []

    def open_writer(self, name: str) -> TantivyWriter:
        """Opens the only writer of a generation, and creates the generation if it does not exist."""
        return TantivyWriter(self._folder / name)

    def open_index(self, name: str, ranking: Ranking | None = None) -> TantivyIndex:
        """Opens a generation for searches. One that does not exist is empty."""
        return TantivyIndex(self._folder / name, ranking)

    def remove(self, name: str) -> None:
        """Removes a generation. One that does not exist is no error."""
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def exists(self, name: str) -> bool:
        """Returns whether a generation exists with what was committed to it."""
        return (self._folder / name / META).exists()

    def can_serve(self, name: str) -> bool:
        """Returns whether this program can read and write a generation of another schema."""
        return can_serve(self._folder / name)
