"""``feedmill access``: shows which users may see a document, and why."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypeAlias, TypeVar

import typer

from feedmill.cli.accesschanges import CHANGES_EXAMPLES, list_changes
from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, At, Config, Data, Groups, Json, Namespace, clean, console, print_json, read_time, workplace
from feedmill.core.access.explanation import NO_ONE_NAMED, describe_match, describe_principal
from feedmill.core.access.principals import read_identity
from feedmill.model.access import AccessClass
from feedmill.model.accessfinding import Finding
from feedmill.model.audit import AuditKind, Detail
from feedmill.model.decision import Decision
from feedmill.model.document import Document
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.policyacl import EarlyDecision
from feedmill.wire.decisions import parse_question, render_decision, render_early_decision, render_named, render_principal

if TYPE_CHECKING:
    from feedmill.services.access.explaining import AccessQuestion

access_app = typer.Typer(help="Show which users may see a document, and why.", no_args_is_help=True, rich_markup_mode=None)

ExplainMany: TypeAlias = "Callable[[Sequence[AccessQuestion]], list[Decision]]"

_Found = TypeVar("_Found")

BATCH_LINES = 2_000
BYTE_ORDER_MARK = "\ufeff"

ACCESS_EXAMPLES = """Examples:

  feedmill access explain http://intranet.example.com/a.html --user 'CORP\\ann'

  feedmill access who http://intranet.example.com/a.html

  feedmill access changes --since 2026-11-01 --user 'CORP\\ann'

  feedmill access list nobody"""

EXPLAIN_EXAMPLES = """Examples:

  feedmill access explain http://intranet.example.com/a.html --user 'CORP\\ann'

  feedmill access explain http://intranet.example.com/a.html --user ann --namespace hr --group staff --json

  feedmill access explain --batch questions.jsonl"""

LIST_EXAMPLES = """Examples:

  feedmill access list nobody

  feedmill access list unresolved --json

  feedmill access list public --limit 100"""


access_app.command("changes", epilog=CHANGES_EXAMPLES)(list_changes)


@access_app.callback()
def _group() -> None:
    """Show which users may see a document, and why."""


@access_app.command("explain", epilog=EXPLAIN_EXAMPLES)
def explain(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="A document's URL, or one that has only an ACL.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="U", help="The user: NAME, DOMAIN\\NAME or NAME@DOMAIN.")] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
    groups: Groups = None,
    batch: Annotated[Path | None, typer.Option("--batch", metavar="FILE", help="Questions as JSON lines; - reads standard input.")] = None,
    at: At = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Decide what the ACLs of a URL say to a user, and print the whole explanation. With --batch, decide many."""
    from feedmill.bootstrap.access import build_explaining
    from feedmill.services.access.explaining import AccessQuestion

    if (url is None) is (batch is None):
        raise typer.BadParameter("give either a URL or --batch FILE")
    if batch is not None and (user is not None or groups or namespace != DEFAULT_NAMESPACE):
        raise typer.BadParameter("with --batch users and groups stand in the file")
    moment = None if at is None else read_time(at)
    with workplace(data, config).read() as context:
        explaining = build_explaining(context)
        if batch is not None:
            record_command(context, "access explain", {"batch": str(batch), "at": at or ""}, AuditKind.DECISION_REQUESTED)
            _explain_batch(partial(explaining.explain_many, at=moment), batch, as_json=as_json)
        elif url is not None:
            details: dict[str, Detail] = {
                "url": url,
                "user": user or "",
                "namespace": namespace,
                "groups": groups or [],
                "at": at or "",
            }
            record_command(context, "access explain", details, AuditKind.DECISION_REQUESTED)
            question = AccessQuestion(url=url, identity=read_identity(user, namespace, groups or ()))
            _print_early_decision(explaining.explain_with_policy(question, at=moment), user, as_json, is_past=moment is not None)


@access_app.command("who", epilog="Example:\n\n  feedmill access who http://intranet.example.com/a.html --json")
def who(
    url: Annotated[str, typer.Argument(metavar="URL", help="A document's URL, or one that has only an ACL.")],
    at: At = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the users and groups that the ACLs of a URL name, with the decision for each of them alone."""
    from feedmill.bootstrap.access import build_explaining

    moment = None if at is None else read_time(at)
    with workplace(data, config).read() as context:
        record_command(context, "access who", {"url": url, "at": at or ""}, AuditKind.DECISION_REQUESTED)
        named = build_explaining(context).list_named(url, at=moment)
    if as_json:
        print_json({"url": url, "principals": [render_named(principal, verdict) for principal, verdict in named]})
        return
    for principal, verdict in named:
        console().print(clean(f"{verdict.value:<14}{describe_principal(principal)}"))
    if not named:
        console().print(clean(f"no ACL and no policy of {url} names a user or group"))


@access_app.command("list", epilog=LIST_EXAMPLES)
def list_findings(
    finding: Annotated[Finding, typer.Argument(metavar="nobody|unresolved|public", help="What to list.")],
    limit: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many at most.")] = 1_000,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List documents that no user can see, groups of ACLs that no groups feed defines, or public documents among restricted ones."""
    from feedmill.bootstrap.access import build_access_review

    with workplace(data, config).read() as context:
        record_command(context, "access list", {"finding": finding.value}, AuditKind.DECISION_REQUESTED)
        review = build_access_review(context)
        if finding is Finding.UNRESOLVED:
            _print_found(islice(review.iter_unresolved(), limit), describe_principal, render_principal if as_json else None)
        else:
            _print_found(islice(review.iter_documents(finding), limit), _describe_document, _render_document if as_json else None)


def _describe_document(document: Document) -> str:
    return f"{document.url}  {document.datasource}"


def _render_document(document: Document) -> dict[str, object]:
    return {"url": document.url, "datasource": document.datasource}


def _print_found(found: Iterable[_Found], write: Callable[[_Found], str], render: Callable[[_Found], dict[str, object]] | None) -> None:
    """Prints findings: as text one by one as they arrive, with ``render`` as one piece of JSON."""
    if render is not None:
        print_json([render(each) for each in found])
        return
    out = console()
    for each in found:
        out.print(clean(write(each)))


def _print_decision(decision: Decision, user: str | None, as_json: bool) -> None:
    if as_json:
        print_json(render_decision(decision, user))
        return
    out = console()
    out.print(clean(f"{decision.verdict.value}: {decision.reason}"))
    for step in decision.path:
        said = describe_match(step.match) if step.match is not None else "no entry names the user"
        out.print(clean(f"  {step.url} ({step.acl.inheritance_type.value}): {step.local.value}, {said}"))


def _print_early_decision(early: EarlyDecision, user: str | None, as_json: bool, *, is_past: bool) -> None:
    if as_json:
        print_json(render_early_decision(early, user))
        return
    _print_decision(early.decision, user, as_json)
    by_policy, out = early.policy_decision, console()
    if by_policy is not None:
        said = describe_match(by_policy.match) if by_policy.match is not None else "it names the user nowhere"
        out.print(clean(f"  policy {by_policy.policy.name} ({by_policy.policy.pattern}): {by_policy.verdict.value}, {said}"))
        out.print(clean(f"  both together: {early.verdict.value}"))
    said = _describe_class(early.access_class, is_past=is_past)
    if said:
        out.print(clean(f"  {said}"))


def _describe_class(access_class: int | None, *, is_past: bool) -> str:
    """Says what decides about a document without a user, "" if its ACL or a policy does."""
    match access_class:
        case None:
            return "searches had no document of this URL then" if is_past else "searches have no document of this URL"
        case AccessClass.PUBLIC:
            return "the document is public: every user may see it"
        case AccessClass.CLOSED:
            return f"the document is not public, and {NO_ONE_NAMED}"
        case _:
            return ""


def _explain_batch(explain_many: ExplainMany, file: Path, *, as_json: bool) -> None:
    if str(file) == "-":
        _answer_lines(explain_many, sys.stdin, as_json=as_json)
        return
    if not file.is_file():
        raise typer.BadParameter(f"there is no file '{file}'")
    with file.open(encoding="utf-8", errors="surrogateescape") as lines:
        _answer_lines(explain_many, lines, as_json=as_json)


def _answer_lines(explain_many: ExplainMany, lines: TextIO, *, as_json: bool) -> None:
    details = _parse_lines(lines)
    is_over = False
    while not is_over:
        chunk: list[tuple[AccessQuestion, str | None]] = []
        fault: BadRequest | None = None
        try:
            for question in islice(details, BATCH_LINES):
                chunk.append(question)  # noqa: PERF402  what was read before a fault is answered
        except BadRequest as exc:
            fault = exc
        _answer_chunk(explain_many, chunk, as_json=as_json)
        if fault is not None:
            # the decisions on the lines before the bad one are printed
            raise fault
        is_over = len(chunk) < BATCH_LINES


def _answer_chunk(explain_many: ExplainMany, chunk: "Sequence[tuple[AccessQuestion, str | None]]", *, as_json: bool) -> None:
    decisions = explain_many([question for question, _ in chunk])
    if as_json:
        for decision, (_, user) in zip(decisions, chunk, strict=True):
            print_json(render_decision(decision, user))
    else:
        sys.stdout.write("".join(f"{decision.verdict.value}\n" for decision in decisions))


def _parse_lines(lines: Iterable[str]) -> "Iterator[tuple[AccessQuestion, str | None]]":
    from feedmill.services.access.explaining import AccessQuestion

    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(BYTE_ORDER_MARK).strip()
        if not text:
            continue
        try:
            url, user, identity = parse_question(text)
        except BadRequest as exc:
            raise BadRequest(f"line {number}: {exc}") from exc
        yield AccessQuestion(url=url, identity=identity), user
