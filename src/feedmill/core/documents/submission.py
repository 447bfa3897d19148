"""Interprets the posted fields of a feed: its source, and what it does there.

The fields that are posted with a feed decide, never the XML header, which is why this module is separate from the parser. A data source
named ``web`` is always a web feed, whatever its feedtype. Source: Feeds Protocol Developer's Guide, "Choosing a Name for the Feed Data
Source", "Choosing the Feed Type".

A groups feed names its group source in ``groupsource``, with a feedtype. ``replace`` names it too and makes the feed a full one.
``cleanup`` names a group source to empty, and comes without a feed. Neither of these needs a feedtype.
Source: googlegsa/gsafeed, ``GsaFeedFileSender``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind

WEB: Final = "web"
"""The data source whose feeds are web feeds."""

SOURCE_FIELDS: Final = ("datasource", "groupsource", "replace", "cleanup")
"""The fields that name the source of a feed or a groups feed."""

MAX_NAME_CHARACTERS: Final = 250
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")
_KINDS: Final = {kind.value: kind for kind in (FeedKind.FULL, FeedKind.INCREMENTAL, FeedKind.METADATA_AND_URL)}
_GROUPS_KINDS: Final = {"full": FeedKind.GROUPS_FULL, "incremental": FeedKind.GROUPS_INCREMENTAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A feed's data source (the group source of a groups feed) and kind, both validated, and the name of its format in the registry."""

    datasource: str
    kind: FeedKind
    format: str = ""


def read_submission(values: Mapping[str, str]) -> Submission:
    """Validates the fields ``datasource`` and ``feedtype``. Errors: BadRequest, with the field and the allowed values."""
    datasource = check_datasource(values.get("datasource"))
    return Submission(datasource=datasource, kind=decide_kind(datasource, values.get("feedtype")))


def read_groups_submission(values: Mapping[str, str], *, has_data: bool) -> Submission:
    """Validates the fields of a groups feed. ``has_data``: whether XML came with them. Errors: BadRequest, as above."""
    named = {field: values[field] for field in ("cleanup", "replace", "groupsource") if values.get(field, "").strip()}
    if len({name.strip() for name in named.values()}) > 1 or {"cleanup", "replace"} <= set(named):
        raise BadRequest(f"fields {' and '.join(named)} contradict each other; give one of groupsource, replace, cleanup")
    if "cleanup" in named and has_data:
        raise BadRequest("field cleanup came with a feed; send it alone to empty a group source, or replace and the feed to replace one")
    field = next(iter(named), "groupsource")
    source = check_datasource(named.get(field), field)
    if field == "groupsource":
        return Submission(datasource=source, kind=_find_kind(values.get("feedtype"), _GROUPS_KINDS))
    return Submission(datasource=source, kind=FeedKind.GROUPS_CLEANUP if field == "cleanup" else FeedKind.GROUPS_FULL)


def check_datasource(name: str | None, field: str = "datasource") -> str:
    """Returns a valid source name without surrounding white space. Shape: ``field`` is its name in an error. Errors: BadRequest."""
    allowed = f"a letter or underscore, then letters, digits, underscores and hyphens, at most {MAX_NAME_CHARACTERS} characters"
    trimmed = (name or "").strip()
    if not trimmed:
        raise BadRequest(f"field {field} is missing; give {allowed}")
    if len(trimmed) > MAX_NAME_CHARACTERS or _NAME.fullmatch(trimmed) is None:
        raise BadRequest(f"field {field} is {trimmed[:80]!a}, which is no source's name; give {allowed}")
    return trimmed


def decide_kind(datasource: str, feedtype: str | None) -> FeedKind:
    """Returns the kind of a feed, by its feedtype in any letter case. Errors: BadRequest."""
    kind = _find_kind(feedtype, _KINDS)
    return FeedKind.METADATA_AND_URL if datasource == WEB else kind


def _find_kind(feedtype: str | None, kinds: Mapping[str, FeedKind]) -> FeedKind:
    allowed = ", ".join(kinds)
    trimmed = (feedtype or "").strip()
    if not trimmed:
        raise BadRequest(f"field feedtype is missing; give one of {allowed}")
    kind = kinds.get(trimmed.lower().replace("_", "-"))
    if kind is None:
        raise BadRequest(f"field feedtype is {trimmed[:80]!a}; give one of {allowed}")
    return kind
