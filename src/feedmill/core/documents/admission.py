"""Compiles the settings that concern every document: which URLs may be documents, and which documents may be public.

The first crawler access rule whose pattern matches the URL decides. So a rule for a few URLs must come before a rule for many URLs that
would match them too.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

from feedmill.core.documents.urlstate import Rules
from feedmill.core.urls.patterns import PatternSet, parse_pattern
from feedmill.model.errors import BadRequest


def build_rules(
    follow: Sequence[str], do_not_follow: Sequence[str], access_patterns: Sequence[tuple[str, bool]], secure_sources: Iterable[str]
) -> Rules:
    """Builds the rules. Shape: ``access_patterns`` holds each pattern and whether it makes URLs public, in order. Errors: BadRequest."""
    patterns = PatternSet(follow, do_not_follow)
    access = [_access_pattern(number, text, public) for number, (text, public) in enumerate(access_patterns, start=1)]

    def refusal(url: str) -> str | None:
        verdict = patterns.match_url(url)
        return None if verdict.passes else f"the url {verdict.reason}"

    def make_public(url: str) -> bool | None:
        return next((public for matches, public in access if matches(url)), None)

    return Rules(refusal=refusal, make_public=make_public, secure_sources=frozenset(secure_sources))


def _access_pattern(number: int, text: str, public: bool) -> tuple[Callable[[str], bool], bool]:
    pattern = parse_pattern(text)
    if pattern.is_exception:
        raise BadRequest(f"crawl.access, entry {number}: '{text}' is an exception, put a rule of its own before the others instead")
    return pattern.matches, public


def digest_of_rules(
    follow: Sequence[str],
    do_not_follow: Sequence[str],
    access_patterns: Sequence[tuple[str, bool]],
    secure_sources: Iterable[str],
    max_documents: int,
) -> str:
    """Returns a digest that changes whenever the settings' rules may have changed."""
    access = [[text, public] for text, public in access_patterns]
    values = [list(follow), list(do_not_follow), access, sorted(set(secure_sources)), max_documents]
    return hashlib.sha256(json.dumps(values, ensure_ascii=True).encode("ascii")).hexdigest()[:32]
