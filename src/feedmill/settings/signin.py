"""How people sign in, and how long the audit log is kept."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from feedmill.core.networks import EVERYBODY
from feedmill.settings.section import Section, check_network, wrap_word

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _check_header_name(text: str) -> str:
    if not _HEADER_NAME.fullmatch(text):
        raise ValueError(f"'{text}' is no header's name, such as X-Forwarded-User")
    return text


def _check_proxy_network(text: str) -> str:
    if text == EVERYBODY:
        raise ValueError("'all' would let everybody be whoever he says; name the addresses of your proxies")
    return check_network(text)


def _check_namespace(text: str) -> str:
    if text != text.strip() or not text.isprintable():
        raise ValueError("a namespace has no blanks at its ends and no control characters")
    return text


HeaderName = Annotated[str, AfterValidator(_check_header_name)]
Namespace = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_namespace)]


class SignInProxy(Section):
    """Which reverse proxies are believed when they say who asks, and how they say it."""

    trusted: Annotated[tuple[Annotated[str, AfterValidator(_check_proxy_network)], ...], BeforeValidator(wrap_word)] = ()
    user_header: HeaderName = "X-Forwarded-User"
    groups_header: HeaderName = "X-Forwarded-Groups"
    namespace: Namespace = "Default"


class SignIn(Section):
    """How people sign in. Units: minutes."""

    basic: bool = True
    session_minutes: Annotated[int, Field(ge=1, le=43_200)] = 720
    idle_minutes: Annotated[int, Field(ge=1, le=43_200)] = 60
    secure_cookies: bool = False
    max_failures: Annotated[int, Field(ge=1, le=1_000)] = 10
    failure_minutes: Annotated[int, Field(ge=1, le=1_440)] = 5
    proxy: SignInProxy = SignInProxy()


class Audit(Section):
    """How long the audit log is kept. Units: days, 0 = for ever."""

    days: Annotated[int, Field(ge=0, le=36_500)] = 365
