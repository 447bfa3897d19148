"""Runs the commands of a transform pipeline: each rewrites the metadata and the parameters of a document.

Rules:

1. A command gets two files as its last arguments: metadata and parameters, or only metadata if it accepts no parameters. Each file is
   UTF-8 text, names and values in turn, each followed by NUL. The command rewrites the files; a name without a value at the end is ignored.
2. A text that contains NUL cannot be passed, which is an error of the document.
3. Parameters are ``DocId``, ``Content-Type``, ``Last-Modified-Millis-UTC``, ``Display-URL``, ``Crawl-Once``, ``Lock``,
   ``Transmission-Decision``, ``Forced-Transmission-Decision``, and those of the retriever. A changed one changes the document.
4. A decision is ``as-is``, ``do-not-index`` or ``do-not-index-content``. The forced one counts first.

Source: googlegsa/library, ``CommandLineTransform``, ``MetadataTransform``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from feedmill.model.errors import BadRequest
from feedmill.ports.commands import CommandLine, Commands
from feedmill.wire.adaptorconfig.keys import AdaptorConfig, TransformCommand
from feedmill.wire.commandstream.javavalues import MAX_LONG, parse_boolean, parse_integer
from feedmill.wire.commandstream.schema import RetrievedDocument
from feedmill.wire.commandstream.uris import is_uri

DOC_ID: Final = "DocId"
CONTENT_TYPE: Final = "Content-Type"
LAST_MODIFIED: Final = "Last-Modified-Millis-UTC"
DISPLAY_URL: Final = "Display-URL"
CRAWL_ONCE: Final = "Crawl-Once"
LOCK: Final = "Lock"
DECISION: Final = "Transmission-Decision"
FORCED_DECISION: Final = "Forced-Transmission-Decision"
AS_IS, DO_NOT_INDEX, DO_NOT_INDEX_CONTENT = "as-is", "do-not-index", "do-not-index-content"

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a transform says about the whole document."""

    removes_document: bool = False
    removes_content: bool = False


class MetadataTransforms:
    """The pipeline of one adaptor. May be used from several threads."""

    def __init__(self, config: AdaptorConfig, folder: str, commands: Commands) -> None:
        self._config = config
        self._folder = folder
        self._commands = commands

    def apply(self, document: RetrievedDocument) -> tuple[RetrievedDocument, Decision]:
        """Returns a document as the commands change it. Errors: BadRequest, UpstreamFailure."""
        if not self._config.transforms:
            return document, Decision()
        metadata, params = document.metadata, _list_params(document)
        given = dict(params)
        for transform in self._config.transforms:
            metadata, params = self._run(transform, metadata, params)
        return _read_params(replace(document, metadata=metadata), given, dict(params))

    def _run(self, transform: TransformCommand, metadata: Pairs, params: Pairs) -> tuple[Pairs, Pairs]:
        label = f"transform {transform.name}"
        line = CommandLine(
            label=label,
            arguments=transform.arguments,
            folder=transform.folder or self._folder,
            seconds=self._config.limits.transform_seconds,
            max_bytes=self._config.limits.output_bytes,
        )
        files = [_write_pairs(metadata), _write_pairs(params)]
        read = self._commands.rewrite(line, files if transform.accepts_parameters else files[:1])
        return _read_pairs(read[0], label), _read_pairs(read[1], label) if transform.accepts_parameters else params


def _list_params(document: RetrievedDocument) -> Pairs:
    milliseconds = None if document.last_modified is None else str(document.last_modified * 1_000)
    own = {
        DOC_ID: document.id,
        CONTENT_TYPE: document.mime_type,
        LAST_MODIFIED: milliseconds,
        DISPLAY_URL: document.display_url,
        CRAWL_ONCE: _write_boolean(document.crawl_once),
        LOCK: _write_boolean(document.lock),
        DECISION: AS_IS,
    }
    values = {name: value for name, value in own.items() if value is not None}
    values |= {name: value for name, value in document.params if value is not None}
    return tuple(values.items())


def _read_params(document: RetrievedDocument, given: dict[str, str], params: dict[str, str]) -> tuple[RetrievedDocument, Decision]:
    """Returns the document with the parameters that differ from those that the commands got. Errors: BadRequest."""
    changed = {name: value for name, value in params.items() if given.get(name) != value}
    if CONTENT_TYPE in changed:
        document = replace(document, mime_type=changed[CONTENT_TYPE])
    if LAST_MODIFIED in changed:
        milliseconds = parse_integer(changed[LAST_MODIFIED], MAX_LONG)
        if milliseconds is None:
            raise BadRequest(f"a transform sets {LAST_MODIFIED} to '{changed[LAST_MODIFIED][:100]}', which is no integer")
        document = replace(document, last_modified=milliseconds // 1_000)
    if DISPLAY_URL in changed:
        if not is_uri(changed[DISPLAY_URL]):
            raise BadRequest(f"a transform sets {DISPLAY_URL} to '{changed[DISPLAY_URL][:100]}', which is no URI")
        document = replace(document, display_url=changed[DISPLAY_URL])
    if CRAWL_ONCE in changed:
        document = replace(document, crawl_once=parse_boolean(changed[CRAWL_ONCE]))
    if LOCK in changed:
        document = replace(document, lock=parse_boolean(changed[LOCK]))
    document = replace(document, params=tuple((name, value) for name, value in params.items() if name.startswith("X-")))
    decision = params.get(FORCED_DECISION) or params.get(DECISION) or AS_IS
    if decision not in (AS_IS, DO_NOT_INDEX, DO_NOT_INDEX_CONTENT):
        raise BadRequest(f"a transform decides '{decision[:100]}', which is none of {AS_IS}, {DO_NOT_INDEX}, {DO_NOT_INDEX_CONTENT}")
    return document, Decision(removes_document=decision == DO_NOT_INDEX, removes_content=decision == DO_NOT_INDEX_CONTENT)


def _write_boolean(value: bool | None) -> str | None:
    return None if value is None else "true" if value else "false"


def _write_pairs(pairs: Iterable[tuple[str, str]]) -> bytes:
    texts = [text for pair in pairs for text in pair]
    if any("\0" in text for text in texts):
        raise BadRequest("a name or a value contains the character NUL, which no transform can be passed")
    return "".join(f"{text}\0" for text in texts).encode()


def _read_pairs(data: bytes, label: str) -> Pairs:
    try:
        texts = data.decode().split("\0")
    except UnicodeDecodeError as exc:
        raise BadRequest(f"the {label} wrote text that is not UTF-8") from exc
    # the last NUL ends the last text; without it that text counts too
    if texts and not texts[-1]:
        texts.pop()
    return tuple(zip(texts[::2], texts[1::2], strict=False))
