"""The settings of semantic search: the server of the model, and how near a document must be."""

import hashlib
from collections.abc import Iterator
from os.path import isfile
from typing import Annotated

from pydantic import AfterValidator, Field

from feedmill.core.urls.targets import parse_target
from feedmill.model.errors import BadRequest
from feedmill.settings.keypaths import Fault
from feedmill.settings.secrets import read_secret
from feedmill.settings.section import Section


def _check_url(text: str) -> str:
    if text:
        try:
            parse_target(text)
        except BadRequest as exc:
            raise ValueError(f"{exc}; give the whole address, such as http://127.0.0.1:8090/v1/embeddings") from exc
    return text


class SemanticSettings(Section):
    """Semantic search; without a URL nothing of it runs.

    Units: seconds for the vector of a query; the cosine, from 0 to 1, above which a document is near to a query.
    """

    url: Annotated[str, AfterValidator(_check_url)] = ""
    model: str = ""
    key: str = Field(default="", repr=False)
    key_file: str = ""
    ca_file: str = ""
    query_prefix: Annotated[str, Field(max_length=1_000)] = ""
    passage_prefix: Annotated[str, Field(max_length=1_000)] = ""
    seconds: Annotated[float, Field(ge=0.01, le=60)] = 1.0
    min_similarity: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def is_on(self) -> bool:
        """Whether documents are embedded, and searched by their meaning."""
        return bool(self.url)

    @property
    def stored_model(self) -> str:
        """The name under which embeddings are stored, "" if nothing is embedded.

        A prefix changes all vectors of passages, so it is part of the name.
        """
        if not self.is_on or not self.passage_prefix:
            return self.model if self.is_on else ""
        return f"{self.model} {hashlib.blake2b(self.passage_prefix.encode(), digest_size=8).hexdigest()}"


def check_semantic(settings: SemanticSettings) -> Iterator[Fault]:
    """Yields faults between keys, and of the files and variables that they name."""
    if not settings.is_on:
        return
    if not settings.model.strip():
        yield ("semantic", "model"), "give the name of the model that the server of semantic.url has"
    if settings.key and settings.key_file:
        yield ("semantic", "key_file"), "give either key or key_file"
    else:
        yield from _check_key(settings)
    if settings.ca_file and not isfile(settings.ca_file):
        yield ("semantic", "ca_file"), f"there is no file '{settings.ca_file}'"


def _check_key(settings: SemanticSettings) -> Iterator[Fault]:
    place = ("semantic", "key_file" if settings.key_file else "key")
    try:
        key = read_secret(settings.key, settings.key_file)
    except BadRequest as exc:
        yield place, str(exc)
        return
    if not key.isascii() or not key.isprintable():
        yield place, "a key is sent in a header, which holds printable ASCII only"
