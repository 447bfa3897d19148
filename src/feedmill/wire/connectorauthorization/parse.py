"""Reads the response of a connector manager.

Rules:

1. Only ``CmResponse/AuthorizationResponse/Answer`` counts, with one ``Resource`` and one ``Decision`` each.
2. A decision is PERMIT, DENY or INDETERMINATE in any letter case; any other word decides nothing.
3. Of several answers about one document the strictest counts (``core.access.strictness``).
4. Bytes, depth and answers are limited; a document type declaration is refused (``wire/xmlstream/small``).

Source: googlegsa/manager.v3, ``AuthorizationHandler``.
"""

from dataclasses import dataclass, field

from feedmill.core.access.strictness import stricter
from feedmill.model.decision import Verdict
from feedmill.model.errors import UpstreamFailure
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.small import SmallReader

MAX_ANSWERS = 20_000
MAX_TEXT = 20_000

_ANSWER = ["CmResponse", "AuthorizationResponse", "Answer"]
_RESOURCE, _DECISION, _STATUS = [*_ANSWER, "Resource"], [*_ANSWER, "Decision"], ["CmResponse", "StatusId"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of a manager. ``status`` is "0" for success."""

    verdicts: dict[str, Verdict]
    status: str


def parse_answers(data: bytes) -> Answers:
    """Returns the answers. Errors: UpstreamFailure; no other for any bytes."""
    reading = _Reading()
    try:
        reading.read_whole_document(data)
    except NotWellFormed as exc:
        raise UpstreamFailure(f"line {exc.line} of its answer: {exc.reason}") from exc
    if not reading.is_response:
        raise UpstreamFailure("it is no answer of a connector manager")
    return Answers(verdicts=reading.verdicts, status=reading.status)


@dataclass(slots=True)
class _PartialAnswer:
    """An unfinished answer."""

    resources: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


class _Reading(SmallReader):
    """Collects the answers."""

    def __init__(self) -> None:
        super().__init__(has_namespaces=False)
        self.is_response = False
        self.status = ""
        self.verdicts: dict[str, Verdict] = {}
        self._text: list[str] = []
        self._size = 0
        self._one = _PartialAnswer()
        self._answers = 0

    def start(self, _name: str, _attributes: dict[str, str]) -> None:
        """Begins an answer."""
        self.is_response = self.is_response or self.path == _ANSWER[:1]
        self._text, self._size = [], 0
        if self.path == _ANSWER:
            self._one = _PartialAnswer()

    def end(self, _name: str) -> None:
        """Stores the value of an element that counts."""
        text = "".join(self._text).strip()
        if self.path == _RESOURCE:
            self._one.resources.append(text)
        elif self.path == _DECISION:
            self._one.decisions.append(text)
        elif self.path == _STATUS:
            self.status = text
        elif self.path == _ANSWER:
            self._take_answer()
        self._text, self._size = [], 0

    def take_text(self, text: str) -> None:
        """Collects the text of the open element."""
        self._size += len(text)
        if self._size > MAX_TEXT:
            raise UpstreamFailure(f"a text in it is longer than {MAX_TEXT} characters")
        self._text.append(text)

    def _take_answer(self) -> None:
        self._answers += 1
        if self._answers > MAX_ANSWERS:
            raise UpstreamFailure(f"it has more than {MAX_ANSWERS} answers")
        if len(self._one.resources) != 1 or len(self._one.decisions) != 1:
            return
        url, word = self._one.resources[0], self._one.decisions[0].upper()
        verdict = Verdict(word) if word in Verdict.__members__ else Verdict.INDETERMINATE
        self.verdicts[url] = stricter(verdict, self.verdicts.get(url, verdict))
