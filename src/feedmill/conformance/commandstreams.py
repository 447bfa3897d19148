"""The cases of command line adaptors: what a lister, a retriever and an authorizer print.

The kit runs the programs as the adaptor library would: without a shell, with the id and the time of the last crawl behind the arguments of
the retriever, with the question on the standard input of the authorizer. The cases need programs that list at least one document.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from feedmill.adapters.commands import ProcessCommands
from feedmill.conformance.cases import Case, CaseList, Unmet, expect
from feedmill.conformance.exchange import make_word
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest, BadStream, UpstreamFailure
from feedmill.ports.commands import CommandLine
from feedmill.wire.commandstream.authorizer import AuthorizerReader
from feedmill.wire.commandstream.commands import CommandReader
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.render import render_question
from feedmill.wire.commandstream.retriever import RetrieverReader
from feedmill.wire.commandstream.schema import Decisions, ListedDocument, RetrievedDocument

MAX_LISTED: Final = 100_000
"""How many listed documents the cases look at."""
RETRIEVED: Final = 5
MAX_BYTES: Final = 1 << 30
NEVER: Final = 0
_SECONDS_LIMIT: Final = 1 << 36
"""A later time than this, in seconds, was given in milliseconds."""
_PARSER: Final = "Adaptor library, CommandStreamParser (Javadoc)"
_READER: Final = "googlegsa/library, CommandStreamParser.java"
T = TypeVar("T")
_CALLER: Final = "googlegsa/library, CommandLineAdaptor.java"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The programs under test with their arguments; an empty tuple for one that there is not.

    The authorizer decides for ``user``, who is in ``groups``.
    """

    lister: tuple[str, ...]
    retriever: tuple[str, ...] = ()
    authorizer: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path)
    delimiter: str = "\0"
    user: str = ""
    groups: tuple[str, ...] = ()
    seconds: float = 60.0


class ProgramTrial:
    """Runs the programs."""

    def __init__(self, target: Target, case: "Case[ProgramTrial]") -> None:
        del case
        self.target = target
        self._commands = ProcessCommands(target.folder)

    def find_obstacle(self, needs: frozenset[str]) -> str:
        """Returns which program a case needs that there is not."""
        return next((f"needs --{name}" for name in sorted(needs) if not getattr(self.target, name)), "")

    def clean_up(self) -> None:
        """Does nothing: the programs only read."""

    def list_documents(self, *, strict: bool = False) -> tuple[list[ListedDocument], CommandReader]:
        """Runs the lister, and returns its first documents and its reader. Errors: Unmet."""
        reader = ListerReader(strict=strict)
        documents: list[ListedDocument] = []

        def take(found: Iterator[ListedDocument]) -> None:
            documents.extend(islice(found, max(MAX_LISTED - len(documents), 0)))
            # the rest is read too, since a fault may come late
            for _ in found:
                pass

        self._run("lister", self.target.lister, lambda piece: take(reader.feed(piece)))
        _read(lambda: take(reader.close()), "lister")
        return documents, reader

    def iter_listed(self) -> Iterator[str]:
        """Yields the ids of a few documents that exist. Errors: Unmet."""
        documents, _ = self.list_documents()
        expect(documents, "the lister lists no document")
        yield from islice((document.id for document in documents if not document.delete), RETRIEVED)

    def retrieve(
        self, document_id: str, since_milliseconds: int = NEVER, *, strict: bool = False
    ) -> tuple[RetrievedDocument, CommandReader]:
        """Runs the retriever for a document. Errors: Unmet."""
        reader = RetrieverReader(document_id, strict=strict)
        self._run(f"retriever for '{document_id}'", (*self.target.retriever, document_id, str(since_milliseconds)), reader.feed)
        return _read(reader.close, f"retriever for '{document_id}'"), reader

    def authorize(self, ids: list[str], *, user: str = "", strict: bool = False) -> tuple[Decisions, CommandReader]:
        """Asks the authorizer. Errors: Unmet."""
        target, reader = self.target, AuthorizerReader(strict=strict)
        question = render_question(user or target.user, None, target.groups, ids, target.delimiter)
        self._run("authorizer", target.authorizer, reader.feed, question)
        return _read(reader.close, "authorizer"), reader

    def _run(self, label: str, arguments: tuple[str, ...], take: Callable[[bytes], object], question: bytes = b"") -> None:
        line = CommandLine(
            label=label, arguments=arguments, folder=str(self.target.folder), seconds=self.target.seconds, max_bytes=MAX_BYTES, limit=""
        )
        try:
            self._commands.run(line, take, standard_input=question)
        except UpstreamFailure as exc:
            raise Unmet(str(exc)) from exc
        except BadStream as exc:
            raise Unmet(f"{label}: byte {exc.offset}, command {exc.command}: {exc}") from exc


def _read(close: Callable[[], T], label: str) -> T:
    try:
        return close()
    except BadStream as exc:
        raise Unmet(f"{label}: byte {exc.offset}, command {exc.command}: {exc}") from exc


def check_lister(target: Target) -> None:
    """Checks that the lister can be run and lists something, before the cases. Errors: BadRequest."""
    try:
        next(ProgramTrial(target, CASES.cases[0]).iter_listed())
    except Unmet as exc:
        raise BadRequest(f"the cases need a lister that lists documents: {exc}") from exc
    except StopIteration:
        raise BadRequest("the cases need a lister that lists documents; all of this one are deleted") from None


CASES: Final[CaseList[ProgramTrial]] = CaseList()


@CASES.add("listing-readable", "The lister ends with status 0, and all that it prints can be read", _PARSER, _CALLER)
def check_listing(trial: ProgramTrial) -> None:
    trial.list_documents()


@CASES.add("listing-strict", "The lister prints nothing that the library ignores, such as unknown commands or repeated ids", _READER)
def check_listing_strictly(trial: ProgramTrial) -> None:
    _expect_no_remarks(trial.list_documents(strict=True)[1])


@CASES.add("listing-ids", "No listed id is empty", _PARSER)
def check_ids(trial: ProgramTrial) -> None:
    documents, _ = trial.list_documents()
    expect(all(document.id for document in documents), "an id is empty")


@CASES.add("listing-seconds", "last-modified is in seconds since 1970, not in milliseconds", _PARSER)
def check_times(trial: ProgramTrial) -> None:
    for document in trial.list_documents()[0]:
        late = document.last_modified is not None and abs(document.last_modified) >= _SECONDS_LIMIT
        expect(not late, f"the document '{document.id}' has last-modified={document.last_modified}")


@CASES.add("listing-repeatable", "Two listings, one after the other, name the same documents", _CALLER)
def check_repeatable(trial: ProgramTrial) -> None:
    one, two = (sorted(document.id for document in trial.list_documents()[0]) for _ in range(2))
    expect(one == two, f"the first listing names {len(one)} documents, the second {len(two)}, or others")


@CASES.add("retrieved-readable", "A listed document is retrieved with status 0 under the requested id", _CALLER, needs=["retriever"])
def check_retrieved(trial: ProgramTrial) -> None:
    for document_id in trial.iter_listed():
        document, _ = trial.retrieve(document_id)
        expect(not document.not_found, f"the listed document '{document_id}' is answered with not-found")


@CASES.add("retrieved-content", "A document that was never crawled is retrieved with its content", _CALLER, needs=["retriever"])
def check_content(trial: ProgramTrial) -> None:
    for document_id in trial.iter_listed():
        document, _ = trial.retrieve(document_id)
        expect(not document.up_to_date, f"'{document_id}' is said to be up-to-date, although the time of its last crawl is 0")
        expect(document.has_content or document.not_found, f"'{document_id}' has no content")


@CASES.add(
    "retrieved-strict", "The retriever prints nothing that the library ignores, such as an ACL without acl", _READER, needs=["retriever"]
)
def check_retrieved_strictly(trial: ProgramTrial) -> None:
    for document_id in trial.iter_listed():
        _expect_no_remarks(trial.retrieve(document_id, strict=True)[1])


@CASES.add("retrieved-again", "The retriever takes the time of the last crawl in milliseconds", _CALLER, needs=["retriever"])
def check_retrieved_again(trial: ProgramTrial) -> None:
    for document_id in trial.iter_listed():
        # a program that took milliseconds for seconds would call everything changed; one that took seconds would call it up-to-date
        document, _ = trial.retrieve(document_id, 1_000)
        expect(not document.up_to_date, f"'{document_id}' is said not to have changed since the first second of 1970")


@CASES.add("retrieved-unknown", "A document that does not exist is answered with not-found", _PARSER, needs=["retriever"])
def check_unknown(trial: ProgramTrial) -> None:
    document, _ = trial.retrieve(f"conformance_{make_word()}")
    expect(document.not_found, "the retriever says something else of a document that does not exist")


@CASES.add("decisions-complete", "The authorizer decides every document of the question", _PARSER, needs=["authorizer", "user"])
def check_decisions(trial: ProgramTrial) -> None:
    ids = list(trial.iter_listed())
    decisions, _ = trial.authorize(ids)
    missing = [each for each in ids if decisions.get(each) is None]
    expect(not missing, f"there is no decision about {', '.join(missing)}; the library denies them")


@CASES.add("decisions-others", "The authorizer decides no other documents", _PARSER, needs=["authorizer", "user"])
def check_others(trial: ProgramTrial) -> None:
    ids = list(trial.iter_listed())[:1]
    decisions, _ = trial.authorize(ids)
    others = sorted(set(decisions) - set(ids))
    expect(not others, f"there are decisions about {', '.join(others[:5])}")


@CASES.add(
    "decisions-strict",
    "The authorizer prints PERMIT, DENY or INDETERMINATE in capitals, and nothing unknown",
    _READER,
    needs=["authorizer", "user"],
)
def check_decisions_strictly(trial: ProgramTrial) -> None:
    _expect_no_remarks(trial.authorize(list(trial.iter_listed()), strict=True)[1])


@CASES.add("decisions-one-by-one", "A document is decided alone as among others", _CALLER, needs=["authorizer", "user"])
def check_alone(trial: ProgramTrial) -> None:
    ids = list(trial.iter_listed())
    together, _ = trial.authorize(ids)
    for each in ids:
        alone, _ = trial.authorize([each])
        expect(alone.get(each) == together.get(each), f"'{each}' is decided {alone.get(each)} alone and {together.get(each)} among others")


@CASES.add("decisions-unknown", "A document that does not exist is not permitted", _CALLER, needs=["authorizer", "user"])
def check_unknown_decision(trial: ProgramTrial) -> None:
    unknown = f"conformance_{make_word()}"
    decisions, _ = trial.authorize([unknown])
    expect(decisions.get(unknown) is not Verdict.PERMIT, "it is permitted")


@CASES.add("decisions-stranger", "A user that does not exist is decided about, without an error", _CALLER, needs=["authorizer", "user"])
def check_stranger(trial: ProgramTrial) -> None:
    trial.authorize(list(trial.iter_listed()), user=f"conformance_{make_word()}")


def _expect_no_remarks(reader: CommandReader) -> None:
    first = next(iter(reader.remarks), None)
    if first is not None:
        raise Unmet(f"byte {first.offset}, command {first.command}: {first.reason}; {reader.remark_count} such faults")
