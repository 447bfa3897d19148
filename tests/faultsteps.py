"""Every step that works on one document at a time, by the process in which it can fail: what the tests of faults go through.

A test holds this to the fault points in the code, so that a new step cannot be left out.
"""

from tests.builders.feedxml import make_feed, make_record

BAD = (17, 100, 180)
COUNT = 200

FEEDING = ("parse", "content", "apply", "class", "store")
"""Steps of a feed's records: one that fails is in error."""

FEEDS = ("scan",)
"""Steps of a feed as a whole, before it is known which records it has: the feed fails."""

REMOVING = ("sweep", "groups", "eviction")
"""Steps of a feed that are not about documents that it names."""

EXTRACTING = ("extract.hand_over", "extract.keep")
INDEXING = ("index.links", "index.text", "index.entry", "index.put", "links.read", "links.write")
SETTINGS = ("admission", "sweep.policies", "sweep.patterns")
"""Steps of what follows a change of the settings."""

CRAWLING = ("fetch",)
"""Steps of what the crawler fetched."""

REBUILDING = ("index.rebuild",)
PULLING = ("load", "pull", "delete")
"""Steps of the run of a pull source: one that fails is an error of the run, and its document stays."""

ANSWERING = ("result", "snippet", "title", "decision", "copy", "passages", "suggest", "cluster")
"""Steps of an answer: nothing that lasts is written in them."""

STEPS = (*FEEDING, *FEEDS, *REMOVING, *CRAWLING, *EXTRACTING, *INDEXING, *SETTINGS, *REBUILDING, *PULLING, *ANSWERING)

_ANSWER = "an answer writes nothing, and its process answers many users at once: the requests end, and the role is started again"
_RUN = "a run goes on at its page, and fails if it ends its process again and again; a failed run deletes nothing"
NOT_KILLED = dict.fromkeys(ANSWERING, _ANSWER) | dict.fromkeys(PULLING, _RUN)
"""Steps that cost more than their documents where they end their process, and why."""


def marker_of(step: str) -> str:
    """Returns the part of a URL that says which documents a step fails for."""
    return f"{step}/bad"


def url_of(step: str, number: int, bad: tuple[int, ...] = BAD) -> str:
    """Returns the URL of a document, which says whether a step fails for it."""
    return f"http://www.example.com/{step}/{'bad/' if number in bad else ''}{number}"


def word_of(step: str) -> str:
    """Returns the word that the documents of a step have."""
    return "needle" + step.replace(".", "").replace("_", "")


def source_of(step: str) -> str:
    """Returns the name of the data source of a step's documents."""
    return step.replace(".", "-").replace("_", "-")


def page_of(step: str, url: str, number: int, *, has_title: bool = True, **attributes: str) -> str:
    """Returns the record of a document. Without a title only its text has the word of the step."""
    word = word_of(step)
    title = f"<title>{word} {number}</title>" if has_title else ""
    content = f'{title}<p>{word} <a href="{url_of(step, number + 1)}">next {number}</a></p>'
    return make_record(url, content, (), **attributes)


def documents(step: str, bad: tuple[int, ...] = BAD, *, has_title: bool = True, **attributes: str) -> bytes:
    """Returns a feed of 200 documents, each linking to the next one."""
    return make_feed(*(page_of(step, url_of(step, number, bad), number, has_title=has_title, **attributes) for number in range(COUNT)))
