"""Reads what a connector manager answers.

Rules:

1. Only ``CmResponse/AuthorizationResponse/Answer`` counts, with one ``Resource`` and one ``Decision`` each.
2. A decision is PERMIT, DENY or INDETERMINATE in any letter case; another word decides nothing.
3. Of several answers about one document the strictest counts: DENY, then INDETERMINATE.
4. A document type declaration is refused as soon as it begins. Everything is bounded: bytes, depth, answers.

Source: gsa-compat 7.2; connector manager 3.x, ``AuthorizationHandler``.
"""

from dataclasses import dataclass, field
from xml.parsers import expat

from feedmill.model.decision import Verdict
from feedmill.model.errors import Unanswered

MAX_DEPTH = 40
MAX_ANSWERS = 20_000
MAX_TEXT = 20_000

_ANSWER = ["CmResponse", "AuthorizationResponse", "Answer"]
_RESOURCE, _DECISION, _STATUS = [*_ANSWER, "Resource"], [*_ANSWER, "Decision"], ["CmResponse", "StatusId"]
_STRICTNESS = (Verdict.PERMIT, Verdict.INDETERMINATE, Verdict.DENY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a manager said. ``status`` is "0" where all went well."""

    verdicts: dict[str, Verdict]
    status: str


def parse_answers(data: bytes) -> Answers:
    """Gives the answers. Errors: Unanswered; nothing else, whatever the bytes."""
    reading = _Reading()
    try:
        reading.parser.Parse(data, True)
    except expat.ExpatError as exc:
        raise Unanswered(f"it is not XML: {expat.ErrorString(exc.code)}, line {exc.lineno}") from exc
    except (ValueError, LookupError) as exc:
        raise Unanswered("its encoding is not known") from exc
    if not reading.is_response:
        raise Unanswered("it is no answer of a connector manager")
    return Answers(verdicts=reading.verdicts, status=reading.status)


@dataclass(slots=True)
class _One:
    """An answer on its way."""

    resources: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


class _Reading:
    """Takes the parser's events; the way to the element at hand is kept from the root on."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._take_text
        self.is_response = False
        self.status = ""
        self.verdicts: dict[str, Verdict] = {}
        self._way: list[str] = []
        self._text: list[str] = []
        self._size = 0
        self._one = _One()
        self._answers = 0

    def _refuse_doctype(self, _name: str, _system: str | None, _public: str | None, _subset: int) -> None:
        raise Unanswered("it has a document type declaration")

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._way.append(name)
        if len(self._way) > MAX_DEPTH:
            raise Unanswered(f"its elements are nested more than {MAX_DEPTH} deep")
        self.is_response = self.is_response or self._way == _ANSWER[:1]
        self._text, self._size = [], 0
        if self._way == _ANSWER:
            self._one = _One()

    def _end(self, _name: str) -> None:
        text = "".join(self._text).strip()
        if self._way == _RESOURCE:
            self._one.resources.append(text)
        elif self._way == _DECISION:
            self._one.decisions.append(text)
        elif self._way == _STATUS:
            self.status = text
        elif self._way == _ANSWER:
            self._take_answer()
        self._text, self._size = [], 0
        self._way.pop()

    def _take_answer(self) -> None:
        self._answers += 1
        if self._answers > MAX_ANSWERS:
            raise Unanswered(f"it has more than {MAX_ANSWERS} answers")
        if len(self._one.resources) != 1 or len(self._one.decisions) != 1:
            return
        url, word = self._one.resources[0], self._one.decisions[0].upper()
        verdict = Verdict(word) if word in Verdict.__members__ else Verdict.INDETERMINATE
        self.verdicts[url] = max(verdict, self.verdicts.get(url, verdict), key=_STRICTNESS.index)

    def _take_text(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_TEXT:
            raise Unanswered(f"a text in it is longer than {MAX_TEXT} characters")
        self._text.append(text)
