"""``feedmill adaptor``: reads what the commands of a command line adaptor print, and tries those of a source."""

import base64
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, assert_never

import typer

from feedmill.cli.options import DATA, Config, Data, Json, clean, print_json, render_json, workplace
from feedmill.model.errors import BadRequest, BadStream
from feedmill.model.pulling import RunMode
from feedmill.wire.commandstream.authorizer import AuthorizerReader
from feedmill.wire.commandstream.commands import CommandReader
from feedmill.wire.commandstream.json import BatchedStream, parse_batched, render_decision, render_listed, render_remark, render_retrieved
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.retriever import RetrieverReader
from feedmill.wire.commandstream.schema import Decisions, ListedDocument, RetrievedDocument, StreamKind

if TYPE_CHECKING:
    from feedmill.services.pulling.adaptors import AdaptorSource

adaptor_app = typer.Typer(help="Check the commands of a command line adaptor.", no_args_is_help=True, rich_markup_mode=None)

PIECE_BYTES = 262_144
BYTE_ORDER_MARK = "\ufeff"

ADAPTOR_EXAMPLES = """Examples:

  feedmill adaptor check files --config feedmill.toml

  ./lister | feedmill adaptor parse - --kind lister --strict"""

PARSE_EXAMPLES = """Examples:

  feedmill adaptor parse listing.bin --kind lister --strict

  ./retriever.sh /docs/a 0 | feedmill adaptor parse - --kind retriever --id /docs/a --json

  feedmill adaptor parse --batch streams.jsonl"""

CHECK_EXAMPLES = """Examples:

  feedmill adaptor check files

  feedmill adaptor check files --id /docs/a --json"""


@adaptor_app.callback()
def _group() -> None:
    """Check the commands of a command line adaptor."""


@adaptor_app.command("parse", epilog=PARSE_EXAMPLES)
def parse(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A command's output; - reads standard input.")] = None,
    kind: Annotated[StreamKind | None, typer.Option("--kind", help="The command that printed it.")] = None,
    requested_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The document that the retriever was called for.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Also report what the adaptor library ignores, and exit with 1 then.")] = False,
    batch: Annotated[Path | None, typer.Option("--batch", metavar="FILE", help="Streams as JSON lines; - reads standard input.")] = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Read a command stream as the adaptor library would, and print what it says. With --batch, read many."""
    del data, config
    if (file is None) is (batch is None):
        raise typer.BadParameter("give either a file or --batch FILE")
    if batch is not None:
        if kind is not None or requested_id is not None or strict:
            raise typer.BadParameter("with --batch the kinds and the ids stand in the file, and there is no --strict")
        with _open_input(batch) as lines:
            _parse_batch(lines)
        return
    if kind is None:
        raise typer.BadParameter("--kind is missing")
    if requested_id is not None and kind is not StreamKind.RETRIEVER:
        raise typer.BadParameter("--id belongs to --kind retriever")
    assert file is not None
    with _open_input(file) as stream:
        try:
            reader = _parse_stream(stream, kind, requested_id, strict=strict, as_json=as_json)
        except BadStream as exc:
            raise exc if as_json else BadRequest(f"byte {exc.offset}, command {exc.command}: {exc}") from exc
    _print_remarks(reader, as_json=as_json)


@adaptor_app.command("check", epilog=CHECK_EXAMPLES)
def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The pull source of kind adaptor, as [[sources]] names it.")],
    requested_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The document to retrieve; else the first listed.")] = None,
    count: Annotated[int, typer.Option("--count", min=0, max=1_000_000, help="How many listed documents to print.")] = 5,
    incremental: Annotated[bool, typer.Option("--incremental", help="Call the incremental command instead of the lister.")] = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Call the lister of a source and its retriever for one document, print what they say, and change nothing."""
    from feedmill.bootstrap.pullsources import build_adaptor

    settings = workplace(data, config).load().settings
    with TemporaryDirectory(prefix="feedmill-adaptor-") as folder, closing(build_adaptor(settings, name, Path(folder))) as source:
        total, first = 0, None
        for document in source.iter_listing(RunMode.INCREMENTAL if incremental else RunMode.FULL):
            total += 1
            first = first if first is not None or document.delete else document.id
            if total <= count:
                shown = render_listed(document)
                _print_line(render_json({"listed": shown}) if as_json else _describe_listed(document))
        _print_line(render_json({"documents": total}) if as_json else f"{total} documents are listed")
        identifier = first if requested_id is None else requested_id
        if identifier is not None:
            _check_document(source, identifier, as_json=as_json)


def _check_document(source: "AdaptorSource", identifier: str, *, as_json: bool) -> None:
    found = source.read_document(identifier)
    if found.content is not None:
        found.content.close()
    said = {name: value for name, value in render_retrieved(found.document, None).items() if name != "content"}
    if as_json:
        print_json({"retrieved": said | {"content_bytes": found.content_bytes if found.content is not None else None}})
        return
    _print_line("")
    _print_said(said)
    if found.content is not None:
        _print_line(f"content: {found.content_bytes} bytes")


@contextmanager
def _open_input(path: Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    if not path.is_file():
        raise typer.BadParameter(f"there is no file '{path}'")
    with path.open("rb") as stream:
        yield stream


def _iter_pieces(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(PIECE_BYTES), b"")


def _parse_stream(stream: BinaryIO, kind: StreamKind, requested_id: str | None, *, strict: bool, as_json: bool) -> CommandReader:
    """Prints the content of a stream and returns its reader. Errors: BadStream."""
    match kind:
        case StreamKind.LISTER:
            lister = ListerReader(strict=strict)
            _print_listing(lister, stream, as_json=as_json)
            return lister
        case StreamKind.RETRIEVER:
            retriever = RetrieverReader(requested_id, strict=strict)
            (_print_document_as_json if as_json else _print_document)(retriever, stream)
            return retriever
        case StreamKind.AUTHORIZER:
            authorizer = AuthorizerReader(strict=strict)
            for piece in _iter_pieces(stream):
                authorizer.feed(piece)
            _print_decisions(authorizer.close(), as_json=as_json)
            return authorizer
        case _:
            assert_never(kind)


def _print_remarks(reader: CommandReader, *, as_json: bool) -> None:
    """Prints what the library ignores. Errors: BadRequest, if there is anything."""
    for remark in reader.remarks:
        if as_json:
            print_json(render_remark(remark))
        else:
            _print_line(f"byte {remark.offset}, command {remark.command}: {remark.reason}")
    if reader.remark_count:
        raise BadRequest(f"the adaptor library ignores {reader.remark_count} faults of the stream")


def _print_listing(reader: ListerReader, stream: BinaryIO, *, as_json: bool) -> None:
    documents = chain(chain.from_iterable(map(reader.feed, _iter_pieces(stream))), reader.close())
    for document in documents:
        sys.stdout.write(f"{render_json(render_listed(document)) if as_json else clean(_describe_listed(document))}\n")


def _describe_listed(document: ListedDocument) -> str:
    details = [] if document.last_modified is None else [f"last-modified={document.last_modified}"]
    details += [] if document.result_link is None else [f"result-link={document.result_link}"]
    flags = ("crawl_immediately", "crawl_once", "lock", "delete")
    return "  ".join([document.id, *details, *(name.replace("_", "-") for name in flags if getattr(document, name))])


def _print_document(reader: RetrieverReader, stream: BinaryIO) -> None:
    content_bytes = sum(len(reader.feed(piece)) for piece in _iter_pieces(stream))
    document = reader.close()
    _print_said(render_retrieved(document, None))
    if document.has_content:
        _print_line(f"content: {content_bytes} bytes")


def _print_said(said: dict[str, Any]) -> None:
    for name, value in said.items():
        if value is not None and value is not False and value != ():
            _print_line(f"{name.replace('_', '-')}: {value if isinstance(value, str) else render_json(value)}")


def _print_document_as_json(reader: RetrieverReader, stream: BinaryIO) -> None:
    """Prints a document with its content, which may be larger than the memory."""
    unwritten, is_begun = b"", False
    for piece in _iter_pieces(stream):
        unwritten += reader.feed(piece)
        if reader.document is not None:
            if not is_begun:
                sys.stdout.write(_render_head(reader.document))
                is_begun = True
            # the Base64 of pieces is the Base64 of all if their sizes are multiples of 3
            whole = len(unwritten) - len(unwritten) % 3
            sys.stdout.write(base64.b64encode(unwritten[:whole]).decode())
            unwritten = unwritten[whole:]
    document = reader.close()
    if not document.has_content:
        print_json(render_retrieved(document, None))
        return
    head = "" if is_begun else _render_head(document)
    sys.stdout.write(f'{head}{base64.b64encode(unwritten).decode()}"}}\n')


def _render_head(document: RetrievedDocument) -> str:
    """Returns the JSON of a document up to the first character of its content, which is the last field."""
    return render_json(render_retrieved(document, b"")).removesuffix('"}')


def _print_decisions(decisions: Decisions, *, as_json: bool) -> None:
    for document_id, verdict in decisions.items():
        if as_json:
            print_json(render_decision(document_id, verdict))
        else:
            _print_line(f"{'no decision' if verdict is None else verdict.value:<14}{document_id}")


def _print_line(text: str) -> None:
    sys.stdout.write(clean(text) + "\n")


def _parse_batch(lines: BinaryIO) -> None:
    for number, line in enumerate(lines, start=1):
        text = line.decode(errors="surrogateescape").removeprefix(BYTE_ORDER_MARK).strip()
        if not text:
            continue
        try:
            given = parse_batched(text)
        except BadRequest as exc:
            raise BadRequest(f"line {number}: {exc}") from exc
        print_json(_ANSWERS[given.kind](given))


def _answer_listing(given: BatchedStream) -> dict[str, Any]:
    """Returns the documents of a listing, also those before an error."""
    reader, error = ListerReader(), None
    documents: list[ListedDocument] = []
    try:
        for document in chain(reader.feed(given.stream), reader.close()):
            documents.append(document)  # noqa: PERF402  those before an error stay
    except BadStream as exc:
        error = str(exc)
    return {"records": [render_listed(document) for document in documents], "error": error}


def _answer_document(given: BatchedStream) -> dict[str, Any]:
    reader = RetrieverReader(given.id)
    try:
        content = reader.feed(given.stream)
        document = reader.close()
    except BadStream as exc:
        return {"document": None, "error": str(exc)}
    return {"document": render_retrieved(document, content if document.has_content else None), "error": None}


def _answer_decisions(given: BatchedStream) -> dict[str, Any]:
    reader = AuthorizerReader()
    try:
        reader.feed(given.stream)
        decisions = reader.close()
    except BadStream as exc:
        return {"decisions": [], "error": str(exc)}
    return {"decisions": [render_decision(*decision) for decision in decisions.items()], "error": None}


_ANSWERS = {
    StreamKind.LISTER: _answer_listing,
    StreamKind.RETRIEVER: _answer_document,
    StreamKind.AUTHORIZER: _answer_decisions,
}
