"""The cases of authorization by SAML: several queries in one request, as the security manager sends them to an adaptor.

The server under test is a policy decision point. What it permits is not known here, so the cases of decisions need URLs whose decision the
caller knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from feedmill.conformance.cases import Case, CaseList, Unmet, expect
from feedmill.conformance.exchange import Exchange, Reply, make_word
from feedmill.model.access import Scope
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.model.identity import Subject
from feedmill.wire.samlauthorization.parse import parse_statements
from feedmill.wire.samlauthorization.render import render_queries, resource_of
from feedmill.wire.samlauthorization.schema import CONTENT_TYPE, SOAP_ACTION, Envelope, Query, Statement

ISSUER: Final = "http://google.com/enterprise/gsa/security-manager"
NAMESPACE: Final = "Default"
FOREIGN: Final = "http://conformance.example.com/"
_HANDLER: Final = "googlegsa/library, SamlBatchAuthzHandler.java"
_SPI: Final = "Authentication/Authorization for Enterprise SPI Guide, Authorization"
_CORE: Final = "SAML 2.0 core, 3.3.2.4"
_HEADERS: Final = {"Content-Type": CONTENT_TYPE, "SOAPAction": SOAP_ACTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The decision point at ``path``. Shape: URLs that ``user`` may see, and that the user may not see."""

    server: Exchange
    path: str
    user: str
    permitted: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


class DecisionTrial:
    """Sends queries."""

    def __init__(self, target: Target, case: "Case[DecisionTrial]") -> None:
        del case
        self.target = target

    def find_obstacle(self, needs: frozenset[str]) -> str:
        """Returns which URLs a case needs that are not known."""
        if "known" in needs and not (self.target.permitted or self.target.denied):
            return "needs --permitted or --denied"
        return next((f"needs --{name}" for name in ("permitted", "denied") if name in needs and not getattr(self.target, name)), "")

    def clean_up(self) -> None:
        """Does nothing: queries change nothing."""

    def list_known(self) -> tuple[str, ...]:
        """Lists the URLs whose decision is known."""
        return (*self.target.permitted, *self.target.denied)

    def post(self, body: bytes, method: str = "POST", more: str = "") -> Reply:
        """Sends a body as it is."""
        return self.target.server.send(method, self.target.path + more, body, _HEADERS)

    def ask(self, urls: Sequence[str], *, holds_credential: bool = False) -> dict[str, Verdict]:
        """Asks about documents in one request, and returns the decisions by URL. Errors: Unmet."""
        ids = {f"_{make_word()}": url for url in urls}
        envelope = write_envelope(self.target.user, holds_credential=holds_credential)
        reply = self.post(render_queries(envelope, [Query(id=name, resource=resource_of(url)) for name, url in ids.items()]))
        statements = read_statements(reply)
        decided: dict[str, Verdict] = {}
        for statement in statements:
            expect(statement.in_response_to in ids, f"a response has InResponseTo='{statement.in_response_to}', which no query has")
            url = ids[statement.in_response_to]
            expect(statement.resource == resource_of(url), f"the statement about {url} names {statement.resource}")
            expect(url not in decided, f"there are two statements about {url}")
            decided[url] = statement.verdict
        missing = [url for url in urls if url not in decided]
        expect(not missing, f"there is no statement about {', '.join(missing)}: {reply.describe()}")
        return decided


def write_envelope(user: str, *, holds_credential: bool = False, groups: tuple[str, ...] = ()) -> Envelope:
    """Returns the common part of queries about a user."""
    return Envelope(
        issuer=ISSUER,
        issued_at=datetime.now(UTC),
        user=Subject(scope=Scope.USER, name=user, namespace=NAMESPACE),
        groups=tuple(Subject(scope=Scope.GROUP, name=group, namespace=NAMESPACE) for group in groups),
        holds_credential=holds_credential,
    )


def read_statements(reply: Reply) -> list[Statement]:
    """Reads the statements of a reply. Errors: Unmet."""
    expect(reply.status in (200, 206), f"the queries are answered with {reply.describe()}")
    try:
        return parse_statements(reply.body)
    except UpstreamFailure as exc:
        raise Unmet(f"the answer cannot be read ({exc}): {reply.describe()}") from exc


def check_point(target: Target) -> None:
    """Checks that there is a decision point, before the cases. Errors: BadRequest, UpstreamFailure."""
    try:
        DecisionTrial(target, CASES.cases[0]).ask([*target.permitted, *target.denied, FOREIGN][:1])
    except Unmet as exc:
        raise BadRequest(f"{target.server.base_url}{target.path} is no policy decision point: {exc}") from exc


CASES: Final[CaseList[DecisionTrial]] = CaseList()


@CASES.add("one-query", "A query is answered with one response, to its ID and about its resource", _SPI, _CORE)
def check_one(trial: DecisionTrial) -> None:
    trial.ask([*trial.list_known(), FOREIGN][:1])


@CASES.add("several-queries", "Several queries in one request are answered with one response each", _HANDLER)
def check_several(trial: DecisionTrial) -> None:
    trial.ask(list(dict.fromkeys([*trial.list_known(), *(f"{FOREIGN}{number}" for number in range(5))])))


@CASES.add("together-as-alone", "A document is decided alone as among others", _HANDLER, needs=["known"])
def check_alone(trial: DecisionTrial) -> None:
    together = trial.ask(trial.list_known())
    for url in trial.list_known():
        alone = trial.ask([url])
        expect(alone[url] is together[url], f"{url} is decided {alone[url].value} alone and {together[url].value} among others")


@CASES.add("permitted", "What the user may see is permitted", _SPI, needs=["permitted"])
def check_permitted(trial: DecisionTrial) -> None:
    for url, verdict in trial.ask(trial.target.permitted).items():
        expect(verdict is Verdict.PERMIT, f"{url} is decided {verdict.value}")


@CASES.add("denied", "What the user may not see is not permitted", _SPI, needs=["denied"])
def check_denied(trial: DecisionTrial) -> None:
    for url, verdict in trial.ask(trial.target.denied).items():
        expect(verdict is not Verdict.PERMIT, f"{url} is decided {verdict.value}")


@CASES.add("credential", "The extension SecmgrCredential with the same user changes no decision", _HANDLER, needs=["known"])
def check_credential(trial: DecisionTrial) -> None:
    plain, extended = trial.ask(trial.list_known()), trial.ask(trial.list_known(), holds_credential=True)
    expect(plain == extended, f"without the extension: {_describe(plain)}; with it: {_describe(extended)}")


@CASES.add("unknown-document", "A document that does not exist is not permitted", _HANDLER, needs=["known"])
def check_unknown(trial: DecisionTrial) -> None:
    parts = urlsplit(trial.list_known()[0])
    url = f"{parts.scheme}://{parts.netloc}/doc/conformance_{make_word()}"
    expect(trial.ask([url])[url] is not Verdict.PERMIT, f"{url} is permitted")


@CASES.add("foreign-document", "A URL of another server is decided Indeterminate", _HANDLER)
def check_foreign(trial: DecisionTrial) -> None:
    verdict = trial.ask([FOREIGN])[FOREIGN]
    expect(verdict is Verdict.INDETERMINATE, f"{FOREIGN} is decided {verdict.value}")


@CASES.add("stranger", "A user that does not exist is permitted nothing that the user under test is denied", _SPI, needs=["denied"])
def check_stranger(trial: DecisionTrial) -> None:
    stranger = write_envelope(f"conformance_{make_word()}")
    queries = [Query(id=f"_{make_word()}", resource=resource_of(url)) for url in trial.target.denied]
    for statement in read_statements(trial.post(render_queries(stranger, queries))):
        expect(statement.verdict is not Verdict.PERMIT, f"{statement.resource} is permitted to '{stranger.user.name}'")


@CASES.add("two-subjects", "Queries about two users in one request are refused with status 400", _HANDLER)
def check_two_subjects(trial: DecisionTrial) -> None:
    name = make_word()
    one = render_queries(write_envelope(f"{name}1"), [Query(id=f"_{make_word()}", resource=FOREIGN) for _ in range(2)])
    _expect_refused(trial.post(one.replace(f"{name}1".encode(), f"{name}2".encode(), 1)))


@CASES.add("no-resource", "A query without a resource is refused with status 400", _HANDLER)
def check_no_resource(trial: DecisionTrial) -> None:
    body = render_queries(write_envelope(trial.target.user), [Query(id=f"_{make_word()}", resource=FOREIGN)])
    _expect_refused(trial.post(body.replace(f' Resource="{FOREIGN}"'.encode(), b"")))


@CASES.add("no-subject", "A query without a subject is refused with status 400", _HANDLER)
def check_no_subject(trial: DecisionTrial) -> None:
    body = render_queries(write_envelope(trial.target.user), [Query(id=f"_{make_word()}", resource=FOREIGN)])
    begin, end = body.index(b"<saml:Subject>"), body.index(b"</saml:Subject>") + len(b"</saml:Subject>")
    _expect_refused(trial.post(body[:begin] + body[end:]))


@CASES.add("credential-of-another", "A SecmgrCredential of another user than the subject is refused", _HANDLER)
def check_other_credential(trial: DecisionTrial) -> None:
    name = f"conformance_{make_word()}"
    body = render_queries(write_envelope(name, holds_credential=True), [Query(id=f"_{make_word()}", resource=FOREIGN)])
    _expect_refused(trial.post(body.replace(f"<saml:NameID>{name}<".encode(), b"<saml:NameID>other<")))


@CASES.add("no-xml", "What is no XML is refused", _HANDLER)
def check_no_xml(trial: DecisionTrial) -> None:
    _expect_refused(trial.post(b"GET me that"), statuses=range(400, 600))


@CASES.add("post-only", "Another method than POST is answered with status 405", _HANDLER)
def check_method(trial: DecisionTrial) -> None:
    status = trial.post(b"", method="GET").status
    expect(status == 405, f"GET is answered with status {status}")


@CASES.add("other-path", "A path that only begins alike is answered with status 404", _HANDLER)
def check_path(trial: DecisionTrial) -> None:
    status = trial.post(b"", more="/conformance").status
    expect(status == 404, f"the path {trial.target.path}/conformance is answered with status {status}")


def _expect_refused(reply: Reply, statuses: Sequence[int] = (400,)) -> None:
    expect(reply.status in statuses, f"it is answered with {reply.describe()}")


def _describe(decisions: dict[str, Verdict]) -> str:
    return ", ".join(f"{url} {verdict.value}" for url, verdict in decisions.items())
