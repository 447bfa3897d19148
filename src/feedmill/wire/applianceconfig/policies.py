"""Reads and writes policy ACLs as lines of text, the form of the old appliance's tools.

A line is ``PATTERN PRINCIPAL PRINCIPAL ...``. A principal is ``user:NAME`` or ``group:NAME``; without a prefix it is a group. Names may
hold blanks. Attributes follow a name: ``right=none`` denies, and so does any right other than ``read``, as on the appliance.
Additions to the old form: ``namespace=NAME``, ``case=insensitive``, ``unqualified=yes``; and a pattern, name or value in double quotes,
as JSON writes them, if it would be ambiguous otherwise. Empty lines and lines that begin with ``#`` are ignored. A file with faults is
refused as a whole, with the line of each fault.
Source: googlegsa/secmgr, ``AclUtil``.
"""

import json
import re
from collections.abc import Iterable, Iterator

from feedmill.model.access import Access, Entry, Principal, Scope
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.policyacl import PolicyAcl
from feedmill.wire.applianceconfig.faults import refuse_faults
from feedmill.wire.applianceconfig.policyfeed import is_feed, iter_feed

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_KEYS = "right|namespace|case|unqualified"
_PATTERN = re.compile(rf"\s*({_QUOTED}(?=\s|\Z)|\S+)")
_PREFIX = re.compile(r"\s*(?:(user|group):\s*)?")
# a name ends at the first of several blanks, so the search for its end does not restart at each of them
_NAME = re.compile(rf"{_QUOTED}(?=\s|\Z)|.+?(?=(?<!\s)\s++(?:(?:user|group):|(?:{_KEYS})=)|(?<!\s)\s*+\Z)", re.DOTALL)
_MARK = re.compile(rf"\s+({_KEYS})=({_QUOTED}|\S+)")
_NO_NAME = re.compile(rf"(?:user|group):|(?:{_KEYS})=")
_NEEDS_QUOTES = re.compile(
    rf'\s(?:user|group):|\s(?:{_KEYS})=|\A(?:user|group):|\A(?:{_KEYS})=|\A["\s]|\s\Z|\A\Z|[\x00-\x1f\x7f-\x9f\u2028\u2029]'
)


def read_policies(text: str) -> tuple[PolicyAcl, ...]:
    """Returns policies, from lines or from a feed of the old administration API. Errors: BadRequest with the faults and their lines."""
    found: dict[str, PolicyAcl] = {}
    faults: list[str] = []
    for number, pattern, principals in iter_feed(text) if is_feed(text) else _iter_lines(text):
        try:
            policy = _read_one(pattern, principals)
            if policy.pattern in found:
                raise BadRequest(f"'{policy.pattern[:80]}' has a line already; put all users and groups into one")
            found[policy.pattern] = policy
        except BadRequest as exc:
            faults.append(f"line {number}: {exc}")
    refuse_faults(faults)
    return tuple(found.values())


def _iter_lines(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        start = _PATTERN.match(line)
        if start is not None and not line.startswith("#"):
            yield number, start[1], line[start.end() :]


def _read_one(pattern: str, principals: str) -> PolicyAcl:
    # a name in quotes may be empty too
    pattern = _unquote(pattern)
    if not pattern:
        raise BadRequest("no url pattern")
    if not principals.strip():
        raise BadRequest("no user and no group; a line is PATTERN user:NAME group:NAME ...")
    return PolicyAcl(pattern=pattern, entries=tuple(_iter_entries(principals.rstrip())))


def _iter_entries(text: str) -> Iterator[Entry]:
    place = 0
    while place < len(text):
        prefix = _PREFIX.match(text, place)
        name = _NAME.match(text, prefix.end()) if prefix is not None else None
        if prefix is None or name is None or not name[0].strip() or _NO_NAME.match(text, prefix.end()):
            raise BadRequest(f"a user or group without a name at '{text[place : place + 40].strip()}'")
        place = name.end()
        marks: dict[str, str] = {}
        while mark := _MARK.match(text, place):
            marks[mark[1]] = _unquote(mark[2])
            place = mark.end()
        yield _entry_of(prefix[1] or "group", _unquote(name[0].strip()), marks)


def _entry_of(scope: str, name: str, marks: dict[str, str]) -> Entry:
    if not name.strip():
        raise BadRequest("a user or group without a name")
    case, unqualified = marks.get("case", "sensitive"), marks.get("unqualified", "no")
    if case not in ("sensitive", "insensitive"):
        raise BadRequest(f"case={case[:40]} is neither sensitive nor insensitive")
    if unqualified not in ("yes", "no"):
        raise BadRequest(f"unqualified={unqualified[:40]} is neither yes nor no")
    principal = Principal(
        scope=Scope(scope),
        name=name,
        namespace=marks.get("namespace") or DEFAULT_NAMESPACE,
        case_sensitive=case == "sensitive",
        unqualified=unqualified == "yes",
    )
    return Entry(access=Access.PERMIT if marks.get("right", "read") == "read" else Access.DENY, principal=principal)


def _unquote(text: str) -> str:
    if not (text.startswith('"') and text.endswith('"') and len(text) > 1):
        return text
    try:
        return str(json.loads(text))
    except ValueError as exc:
        raise BadRequest(f"{text[:80]} is no text in quotes: {exc}") from exc


def render_policies(policies: Iterable[PolicyAcl]) -> str:
    """Returns policies as text, a line each; a policy without users and groups denies all users, and is written as a comment."""
    return "".join(f"{_render_line(policy)}\n" for policy in policies)


def _render_line(policy: PolicyAcl) -> str:
    pattern = policy.pattern
    if re.search(r'\s|\A"|\A#|\A<(?!/>)', pattern):
        pattern = _quote(pattern)
    if not policy.entries:
        return f"# {pattern} denies everybody"
    return " ".join([pattern, *(_render_entry(entry) for entry in policy.entries)])


def _render_entry(entry: Entry) -> str:
    who = entry.principal
    parts = [f"{who.scope.value}:{_quote(who.name) if _NEEDS_QUOTES.search(who.name) else who.name}"]
    if entry.access is Access.DENY:
        parts.append("right=none")
    if who.namespace != DEFAULT_NAMESPACE:
        needs_quotes = re.search(r'\s|\A"|\A\Z', who.namespace)
        parts.append(f"namespace={_quote(who.namespace) if needs_quotes else who.namespace}")
    if not who.case_sensitive:
        parts.append("case=insensitive")
    if who.unqualified:
        parts.append("unqualified=yes")
    return " ".join(parts)


def _quote(text: str) -> str:
    """Returns a text in quotes, with escapes for all characters that end a line."""
    return json.dumps(text)
