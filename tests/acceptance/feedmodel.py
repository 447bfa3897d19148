"""What feeds result in, as plainly as possible: the reference that fault tests compare a server with.

A source writes only to URLs of its own, so that its documents follow from its feeds alone, in the order of their ids. Each version of a
document has a word that stands nowhere else, and metadata ``rev`` that names the record which set it.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.builders.feedxml import make_feed, make_record


class Act(Enum):
    """What a record asks for: content, metadata alone, a deletion, or something that no parser understands."""

    PUT = "put"
    DESCRIBE = "describe"
    DELETE = "delete"
    FAIL = "fail"


class Damage(Enum):
    """What is wrong with a feed as a whole."""

    NONE = "none"
    CUT = "cut off"
    CROSSED = "tags that cross"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One record. ``word`` is in its content, ``rev`` in its metadata; None where it sends none."""

    act: Act
    url: str
    word: str | None = None
    rev: str | None = None

    def render(self, padding: str) -> str:
        """Returns the record as XML."""
        metadata = [] if self.rev is None else [("rev", self.rev)]
        match self.act:
            case Act.DELETE:
                return make_record(self.url, action="delete")
            case Act.FAIL:
                return make_record(self.url, "<p>never</p>", action="explode")
            case _:
                page = None if self.word is None else f"<title>A page</title><p>{self.word} and more</p>{padding}"
                return make_record(self.url, page, metadata)


_COMMENT = f"<!--{'x-' * 50_000}x-->"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSpec:
    """One feed: what it says, and the place (0 to 1) where it is cut off if it is. Unit of ``comments``: 100,000 bytes that say nothing."""

    source: str
    feedtype: str
    steps: tuple[Step, ...]
    padding: str = ""
    damage: Damage = Damage.NONE
    cut_at: float = 0.5
    comments: int = 0

    def render(self) -> bytes:
        """Returns the feed as XML."""
        whole = make_feed(*(step.render(self.padding) for step in self.steps), *([_COMMENT] * self.comments))
        match self.damage:
            case Damage.NONE:
                return whole
            case Damage.CUT:
                start, end = whole.index(b"<group>") + 7, whole.index(b"</gsafeed>")
                return whole[: start + int((end - start) * self.cut_at)]
            case Damage.CROSSED:
                return whole.replace(b"</group>", b"</record></group>")

    def is_error(self, step: Step) -> bool:
        """Whether a record of this feed is one in error."""
        return step.act is Act.FAIL or (self.feedtype == "full" and step.act is Act.DESCRIBE)

    def receipt(self) -> dict[str, Any]:
        """Returns what the feed's receipt must say at its end."""
        if self.damage is not Damage.NONE:
            return {"state": "failed in error", "records": 0, "included": 0, "errors": 0}
        count = Counter(self.is_error(step) for step in self.steps)
        state = "completed" if not count[True] else "completed with errors" if count[False] else "failed in error"
        return {"state": state, "records": len(self.steps), "included": count[False], "errors": count[True]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A document as it must be found."""

    word: str | None = None
    rev: str | None = None


@dataclass
class Reference:
    """The documents of one source."""

    pages: dict[str, Page] = field(default_factory=dict)

    def take(self, spec: FeedSpec) -> None:
        """Applies a feed."""
        if spec.damage is not Damage.NONE:
            return
        for step in spec.steps:
            if not spec.is_error(step):
                self._take_step(step, is_whole=spec.feedtype == "full")
        if spec.feedtype == "full" and spec.receipt()["state"] != "failed in error":
            named = {step.url for step in spec.steps}
            self.pages = {url: page for url, page in self.pages.items() if url in named}

    def _take_step(self, step: Step, *, is_whole: bool) -> None:
        if step.act is Act.DELETE:
            self.pages.pop(step.url, None)
            return
        old = self.pages.get(step.url, Page())
        word = old.word if step.act is Act.DESCRIBE else step.word
        rev = old.rev if step.rev is None and not is_whole else step.rev
        self.pages[step.url] = Page(word=word, rev=rev)
