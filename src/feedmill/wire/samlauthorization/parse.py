"""Reads the responses to authorization decision queries: one ``Response`` a query in one SOAP body, in any order.

Rules:

1. Only elements in their proper place count: ``Envelope/Body/Response/Assertion/AuthzDecisionStatement``. A decision anywhere else, such
   as in advice or evidence or in a detail of another vendor, is ignored.
2. A ``Response`` that does not report success states nothing. Nor does one without ``InResponseTo``, with a decision other than
   the three words, with a statement about another action than ``GET``, or with an assertion whose times are unreadable.
3. Bytes, depth and statements are limited; a document type declaration is refused (``wire/xmlstream/small``).

Source: SAML 2.0 core, 2.3.3, 2.5.1, 2.7.4, 3.2.2; SOAP 1.1, 4.4 (faults); googlegsa/library, ``SamlBatchAuthzHandler``.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from feedmill.model.errors import UpstreamFailure
from feedmill.wire.samlauthorization.schema import ASSERTION, DECISIONS, GET, PROTOCOL, SOAP, SOAP_12, SUCCESS, Statement
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.small import SmallReader

MAX_STATEMENTS = 20_000
MAX_TEXT = 10_000

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)

_RESPONSE = (f"{PROTOCOL} Response",)
_STATUS = (*_RESPONSE, f"{PROTOCOL} Status", f"{PROTOCOL} StatusCode")
_ASSERTION = (*_RESPONSE, f"{ASSERTION} Assertion")
_NAME = (*_ASSERTION, f"{ASSERTION} Subject", f"{ASSERTION} NameID")
_CONDITIONS = (*_ASSERTION, f"{ASSERTION} Conditions")
_RESTRICTION = (*_CONDITIONS, f"{ASSERTION} AudienceRestriction")
_AUDIENCE = (*_RESTRICTION, f"{ASSERTION} Audience")
_STATEMENT = (*_ASSERTION, f"{ASSERTION} AuthzDecisionStatement")
_ACTION = (*_STATEMENT, f"{ASSERTION} Action")


@dataclass(slots=True)
class _Answer:
    """An unfinished response; ``statements`` are those of all its assertions, ``assertion`` is the open one."""

    in_response_to: str
    is_success: bool = False
    statements: list[Statement] = field(default_factory=list)
    assertion: list[Statement] = field(default_factory=list)
    subject: str | None = None
    times: tuple[datetime | None, datetime | None] = (None, None)
    audiences: list[set[str]] = field(default_factory=list)
    is_readable: bool = True
    decision: tuple[str, str] = ("", "")
    actions: list[str] = field(default_factory=list)


def parse_statements(data: bytes) -> list[Statement]:
    """Returns the statements in a SOAP envelope, in order. Errors: UpstreamFailure, for a fault too; no other for any bytes."""
    reading = _Reading()
    try:
        reading.read_whole_document(data)
    except NotWellFormed as exc:
        raise UpstreamFailure(f"line {exc.line} of its answer: {exc.reason}") from exc
    if reading.fault is not None:
        raise UpstreamFailure(f"it is a fault: {_shorten(reading.fault)}")
    if not reading.has_body:
        raise UpstreamFailure("it is no SOAP envelope with a body")
    return reading.statements


class _Reading(SmallReader):
    """Collects the statements of all responses, and the text of a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.statements: list[Statement] = []
        self.fault: str | None = None
        self.has_body = False
        self._text: list[str] | None = None
        self._answer: _Answer | None = None

    def _place(self) -> tuple[str, ...] | None:
        """Returns the path below the body, None outside of the body."""
        path = self.path
        is_below = (
            len(path) > 2 and path[0] in (f"{SOAP} Envelope", f"{SOAP_12} Envelope") and path[1] == path[0].replace("Envelope", "Body")
        )
        return tuple(path[2:]) if is_below else None

    def start(self, _name: str, attributes: dict[str, str]) -> None:
        """Begins the value for an element if the element is in its proper place."""
        self._text = None
        self.has_body = self.has_body or self.path in ([f"{uri} Envelope", f"{uri} Body"] for uri in (SOAP, SOAP_12))
        place = self._place()
        if place is None:
            return
        if self._is_fault_text(place):
            self._text = []
        elif place == _RESPONSE:
            self._answer = _Answer(in_response_to=attributes.get("InResponseTo", ""))
        elif self._answer is not None:
            self._start_inside(self._answer, place, attributes)

    def _start_inside(self, answer: _Answer, place: tuple[str, ...], attributes: dict[str, str]) -> None:
        if place == _STATUS:
            # Codes of the second level are inside the first one, so their path is another one and they are ignored.
            answer.is_success = attributes.get("Value") == SUCCESS
        elif place == _ASSERTION:
            answer.assertion, answer.subject, answer.times, answer.audiences, answer.is_readable = [], None, (None, None), [], True
        elif place == _CONDITIONS:
            answer.is_readable = self._read_times(answer, attributes)
        elif place == _RESTRICTION:
            answer.audiences.append(set())
        elif place == _STATEMENT:
            answer.decision, answer.actions = (attributes.get("Resource", ""), attributes.get("Decision", "")), []
        elif place in (_NAME, _ACTION, _AUDIENCE):
            self._text = []

    def end(self, _name: str) -> None:
        """Stores the value of an element that counts."""
        place = self._place()
        text, self._text = self._text, None
        if place is not None:
            said = "".join(text).strip() if text is not None else None
            if said is not None and self._is_fault_text(place):
                self.fault = said
            elif place[0].endswith(" Fault") and len(place) == 1:
                self.fault = self.fault or "without a text"
            elif self._answer is not None:
                self._end_inside(self._answer, place, said)

    def take_text(self, text: str) -> None:
        """Collects the text of an element that counts."""
        if self._text is None:
            return
        self._text.append(text)
        if sum(map(len, self._text)) > MAX_TEXT:
            raise UpstreamFailure(f"a name in it is longer than {MAX_TEXT} characters")

    def _end_inside(self, answer: _Answer, place: tuple[str, ...], said: str | None) -> None:
        if place == _NAME:
            # None: elements stand in the name, so it names no user. An absent subject would count for every user.
            answer.subject = said or ""
        elif place == _ACTION and said is not None:
            answer.actions.append(said)
        elif place == _AUDIENCE and said is not None:
            answer.audiences[-1].add(said)
        elif place == _STATEMENT:
            self._add_statement(answer)
        elif place == _ASSERTION and answer.is_readable:
            self._end_assertion(answer)
        elif place == _RESPONSE:
            if answer.is_success and answer.in_response_to:
                self.statements += answer.statements
            self._answer = None

    @staticmethod
    def _end_assertion(answer: _Answer) -> None:
        low, high = answer.times
        audiences = tuple(frozenset(names) for names in answer.audiences)
        answer.statements += [
            replace(each, subject=answer.subject, not_before=low, not_after=high, audiences=audiences) for each in answer.assertion
        ]

    def _add_statement(self, answer: _Answer) -> None:
        resource, word = answer.decision
        verdict = DECISIONS.get(word)
        if len(self.statements) + len(answer.statements) + len(answer.assertion) >= MAX_STATEMENTS:
            raise UpstreamFailure(f"it has more than {MAX_STATEMENTS} statements")
        if verdict is not None and (not answer.actions or GET in answer.actions):
            answer.assertion.append(Statement(in_response_to=answer.in_response_to, resource=resource, verdict=verdict))

    @staticmethod
    def _is_fault_text(place: tuple[str, ...]) -> bool:
        if not place[0].endswith(" Fault"):
            return False
        return place[1:] == ("faultstring",) or place[1:] == (f"{SOAP_12} Reason", f"{SOAP_12} Text")

    @staticmethod
    def _read_times(answer: _Answer, attributes: dict[str, str]) -> bool:
        given = [attributes.get(name) for name in ("NotBefore", "NotOnOrAfter")]
        read = [None if text is None else _read_time(text) for text in given]
        answer.times = (read[0], read[1])
        return all(text is None or time is not None for text, time in zip(given, read, strict=True))


def _read_time(text: str) -> datetime | None:
    """Returns a time of XML Schema; one without a zone is UTC, as SAML defines."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    whole, fraction, zone = found.groups()
    try:
        read = datetime.fromisoformat(f"{whole}.{(fraction or '0')[:6]:0<6}{zone or 'Z'}")
        return read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _shorten(text: str) -> str:
    shown = " ".join(text.split())
    return ascii(shown if len(shown) <= 200 else shown[:200] + "...")
