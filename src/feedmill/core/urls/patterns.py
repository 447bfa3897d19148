"""URL patterns, the appliance's language for sets of URLs.

The first rule that fits a pattern applies (docs/reference/url-patterns.md has a table of examples):

1. ``contains:TEXT``, ``regexp:EXPR`` (also ``regexpCase:``), ``regexpIgnoreCase:EXPR``: anywhere in the URL.
2. ``^TEXT``, ``TEXT$``, ``^TEXT$`` without the slash that ends the host: plain prefix, suffix, whole URL.
3. ``/TEXT``: anywhere in the path; ``/`` alone and the empty pattern mean every URL. ``</>TEXT``: the path begins with it.
4. ``HOST/PATH``: the host ends in HOST and the path begins with ``/PATH``, or is exactly it before a ``$``. The left of HOST is not
   anchored, so ``google.com/`` also means ``notgoogle.com``, unless the pattern has a protocol or ``^``. A pattern without a port means any
   port or none, ``:*`` any explicit port, ``:8080`` this one. ``www?:HOST/PATH`` means exactly HOST, with or without ``www.``.
5. ``TEXT`` with neither slash nor anchor: anywhere in protocol, host and port.

Letter case counts, except in protocol and host. User name and password are examined only if the pattern has an ``@``. A leading ``-`` or
``+-`` makes an exception, which has a meaning only in a list of patterns (``PatternSet``).
Source: "Constructing URL Patterns" in the appliance's manual; googlegsa/secmgr, ``ParsedUrlPattern``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from feedmill.core.urls.expressions import Expression
from feedmill.core.urls.patternrules import (
    ExpressionRule,
    HostRule,
    OptionalWwwRule,
    PathRule,
    Rule,
    TextRule,
    UrlParts,
    covers_everything,
    split_url,
)
from feedmill.model.errors import BadRequest

MAX_PATTERN_CHARACTERS = 8192

_PATTERN_PORT = re.compile(r"[^\[\]:]*(?:\[[^\[\]]*\])?(?::(?P<port>[^:\[\]]*))?\Z")
_PORT = re.compile(r"(?:\*|[0-9]{1,5})\Z")
_EXPRESSION = re.compile(r"\s*(?:-|\+-)?regexp(?:Ignore)?(?:Case)?:")
_PROTOCOL_ONLY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One pattern as written. ``is_exception``: it has a leading ``-``, and ``body`` is the rest; ``matches`` ignores this flag."""

    text: str
    is_exception: bool
    body: str
    covers: Rule = field(repr=False, compare=False)

    def matches(self, url: str) -> bool:
        """Whether the pattern matches the URL. Errors: none, whatever the text."""
        return self.covers(split_url(url))


def parse_pattern(text: str) -> Pattern:
    """Parses one pattern. Errors: BadRequest, with the reason and the correct notation."""
    text = text.strip()
    if text.startswith("#"):
        raise BadRequest(f"'{_shorten(text)}' is a comment, no url pattern")
    if len(text) > MAX_PATTERN_CHARACTERS:
        raise BadRequest(f"the url pattern '{_shorten(text)}' is longer than {MAX_PATTERN_CHARACTERS} characters")
    body = text[2:] if text.startswith("+-") else text.removeprefix("-")
    is_exception = body != text
    if is_exception and not body:
        raise BadRequest("an exception without a url pattern, write the pattern right behind the '-'")
    return Pattern(text=text, is_exception=is_exception, body=body, covers=_parse_body(body))


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _parse_body(body: str) -> Rule:
    if body in ("", "/"):
        return covers_everything
    prefix, colon, rest = body.partition(":")
    if colon and prefix in ("regexp", "regexpCase", "regexpIgnoreCase"):
        return ExpressionRule(Expression(rest, ignores_case=prefix == "regexpIgnoreCase"))
    if colon and prefix == "contains":
        if not rest:
            raise BadRequest("'contains:' without a text, write '/' for every url")
        return TextRule(rest, left=False, right=False)
    if colon and prefix == "www?":
        return _parse_optional_www(rest)
    return _parse_anchored(body)


def _parse_anchored(body: str) -> Rule:
    left, right = body.startswith("^"), body.endswith("$")
    text = body[left : len(body) - right] if len(body) > left else ""
    if not text:
        raise BadRequest(f"the url pattern '{body}' has no text, write '/' for every url")
    if text.startswith("</>"):
        return PathRule(TextRule("/" + text[3:], left=True, right=right))
    if text.startswith("/") and not left:
        return PathRule(TextRule(text, left=False, right=right))
    protocol, host, path = _split_pattern(text)
    # ``^http:/`` is the beginning of a URL, not the host ``http:`` with a path.
    if (left and _PROTOCOL_ONLY.match(text)) or (path is None and (left or right)):
        return TextRule(text, left=left, right=right)
    tail = None if path is None else PathRule(TextRule(path, left=True, right=right))
    name, port = _split_port(host, body)
    return HostRule(protocol.lower() + _fold_host(name), port, left, tail)


def _split_pattern(text: str) -> tuple[str, str, str | None]:
    """Returns protocol with its ``://``, host with port, and the path; the path is None without the slash that ends the host."""
    head, sign, rest = text.partition("://")
    if not sign or "/" in head or "<" in head:
        head, sign, rest = "", "", text
    ends = [place for place in (rest.find("</>"), rest.find("/")) if place >= 0]
    if not ends:
        return head + sign, rest, None
    end = min(ends)
    return head + sign, rest[:end], "/" + rest[end + (3 if rest.startswith("</>", end) else 1) :]


def _split_port(host: str, body: str) -> tuple[str, str | None]:
    user, at, name = host.rpartition("@")
    found = _PATTERN_PORT.match(name)
    if found is None:
        raise BadRequest(f"the url pattern '{_shorten(body)}' has more than one ':' in its host, put an IPv6 address in brackets")
    port = found["port"]
    if port and not _PORT.match(port):
        raise BadRequest(
            f"the url pattern '{_shorten(body)}' has the port '{_shorten(port)}', write a number or '*'; "
            "the known prefixes are contains:, regexp:, regexpCase:, regexpIgnoreCase: and www?:"
        )
    return user + at + (name if port is None else name[: found.start("port") - 1]), port or None


def _fold_host(name: str) -> str:
    user, at, host = name.rpartition("@")
    return user + at + host.lower()


def _parse_optional_www(rest: str) -> Rule:
    rule = _parse_anchored(rest) if rest else None
    if not isinstance(rule, HostRule) or rule.path is None or "@" in rule.text:
        raise BadRequest(f"'www?:{_shorten(rest)}' needs a host and a slash, as in 'www?:example.com/'")
    protocol, sign, host = rule.text.rpartition("://")
    return OptionalWwwRule(protocol + sign, host.removeprefix("www."), HostRule("", rule.port, False, rule.path))


# --- lists of patterns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternAnswer:
    """The result of checking a URL against patterns. ``pattern`` is the one that blocked it, None if it passes or none matched."""

    passes: bool
    pattern: str | None = None
    reason: str = ""


_PASSES = PatternAnswer(passes=True)
_NO_MATCH = PatternAnswer(passes=False, reason="matches no follow pattern")


class PatternSet:
    """The follow and the do-not-follow patterns, one a line; comments and empty lines are ignored.

    A URL passes if it matches a follow pattern and no exception among them. It must also match no do-not-follow pattern, or else an
    exception among those. Errors: BadRequest, with the list and line.
    """

    def __init__(self, follow: Iterable[str], do_not_follow: Iterable[str] = ()) -> None:
        wanted = _parse_list("follow", follow)
        unwanted = _parse_list("do_not_follow", do_not_follow)
        self._follow = _rules(wanted, exceptions=False)
        self._not_after_all = _rules(wanted, exceptions=True)
        self._do_not_follow = _rules(unwanted, exceptions=False)
        self._after_all = _rules(unwanted, exceptions=True)
        # Then every URL passes, and none has to be split.
        self._is_open = not unwanted and not self._not_after_all and any(rule is covers_everything for _, rule in self._follow)

    @property
    def is_empty(self) -> bool:
        """Whether no URL can pass."""
        return not self._follow

    def match_url(self, url: str) -> PatternAnswer:
        """Returns whether a URL passes, and the reason if not."""
        return _PASSES if self._is_open else self.match_parts(split_url(url))

    def match_parts(self, parts: UrlParts) -> PatternAnswer:
        """Returns the same for a URL that is split already."""
        if self._is_open:
            return _PASSES
        if _find_rule(self._follow, parts) is None:
            return _NO_MATCH
        blocking = _find_rule(self._not_after_all, parts)
        if blocking is not None:
            return PatternAnswer(passes=False, pattern=blocking, reason=f"matches the exception '{blocking}' of the follow patterns")
        blocking = _find_rule(self._do_not_follow, parts)
        if blocking is not None and _find_rule(self._after_all, parts) is None:
            return PatternAnswer(passes=False, pattern=blocking, reason=f"matches the do-not-follow pattern '{blocking}'")
        return _PASSES


def is_remark(line: str) -> bool:
    """Whether an entry of a list is empty or a comment; such entries are ignored."""
    return not line.strip() or line.lstrip().startswith("#")


def is_expression(line: str) -> bool:
    """Whether a pattern, or an exception, is a regular expression."""
    return _EXPRESSION.match(line) is not None


def _parse_list(name: str, lines: Iterable[str]) -> list[Pattern]:
    patterns = []
    for number, line in enumerate(lines, start=1):
        if is_remark(line):
            continue
        try:
            patterns.append(parse_pattern(line))
        except BadRequest as exc:
            raise BadRequest(f"{name}, entry {number}: {exc}") from exc
    return patterns


def _rules(patterns: list[Pattern], *, exceptions: bool) -> tuple[tuple[str, Rule], ...]:
    return tuple((pattern.text, pattern.covers) for pattern in patterns if pattern.is_exception is exceptions)


def _find_rule(rules: tuple[tuple[str, Rule], ...], url: UrlParts) -> str | None:
    for text, covers in rules:
        if covers(url):
            return text
    return None
