"""A search port on which people can sign in, and a browser that remembers cookies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import argon2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp

from feedmill.adapters.auditlog import FolderAuditLog
from feedmill.adapters.identity.argon2 import Argon2Hasher
from feedmill.core.urls.networks import Networks
from feedmill.http.admin.app import AdminSignIn, admin_app
from feedmill.http.common.currentuser import CurrentUser, find_current_user
from feedmill.http.common.proxyheaders import ProxyTrust
from feedmill.http.common.searchthreads import SearchBounds
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.signin.build import SignInOptions, build_page_tools, build_signin
from feedmill.http.signin.page import PageTools
from feedmill.http.signin.site import SignInSite
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.userrole import UserRole
from feedmill.ports.signin import Directory, PasswordHasher
from feedmill.services.auditing import Auditing
from feedmill.services.signin.accounts import AccountService, TokenService
from feedmill.services.signin.onetimecodes import OneTimeCodes
from feedmill.services.signin.passwordcheck import PasswordCheck, PasswordCheckDependencies
from feedmill.services.signin.passwordcheckcache import PasswordCheckCache
from feedmill.services.signin.sessions import SessionLimits, SessionService
from feedmill.services.signin.signing import SignInServices
from feedmill.services.signin.throttle import Throttle, ThrottleLimits
from feedmill.services.signin.tokencheck import TokenCheck
from tests.asgi import Answer, ask_app
from tests.builders.administration import make_administration
from tests.builders.requests import PASSWORD
from tests.contract.searchharness import SearchHarness, open_harness
from tests.fakes import ManualClock

CHEAP = argon2.Parameters(type=argon2.Type.ID, version=19, salt_len=16, hash_len=32, time_cost=1, memory_cost=8, parallelism=1)
ADMIN_TOKEN = "the-administrators-token"
PROXY = "10.0.0.1"
HOST = "search.example.com"


@dataclass(slots=True)
class SignInHarness:
    """Everything of one test."""

    search: SearchHarness
    clock: ManualClock
    signing: SignInServices
    site: SignInSite
    page_tools: PageTools
    app: ASGIApp
    seen: list[CurrentUser]

    def browser(self, **given: Any) -> "Browser":
        return Browser(self.app, **given)

    def admin(self, **services: Any) -> Starlette:
        administration = make_administration(reindex=lambda: {"folder": "x"}, **services)
        return admin_app(administration, ADMIN_TOKEN, AdminSignIn(tools=self.page_tools, signing=self.signing))

    def events(self) -> list[tuple[str, str]]:
        """Returns kind and actor of what the audit log holds."""
        return [(entry.event.kind.value, entry.event.actor) for entry in self.signing.auditing.iter_entries()]


def open_signin_harness(
    folder: Path,
    *,
    directories: tuple[Directory, ...] = (),
    bounds: ThrottleLimits | None = None,
    clock: ManualClock | None = None,
    hasher: PasswordHasher | None = None,
    **given: Any,
) -> SignInHarness:
    """Opens a harness in a folder; ``given`` are options of signing in."""
    clock = clock or ManualClock()
    search = open_harness(folder)
    auditing = Auditing(FolderAuditLog(folder / "audit"), clock)
    hasher = hasher or Argon2Hasher(CHEAP)
    tools = PasswordCheckDependencies(
        store=search.store,
        hasher=hasher,
        throttle=Throttle(bounds or ThrottleLimits(), clock.seconds),
        clock=clock,
        record=auditing.record,
        directories=directories,
    )
    signing = make_signing(tools, clock, auditing)
    options = SignInOptions(proxy=ProxyTrust(trusted=Networks.parse([PROXY])), key=b"k" * 32, admin_token=ADMIN_TOKEN, **given)
    site = build_signin(signing, options)
    page_tools = replace(build_page_tools(signing, options), offers_search=False)
    seen: list[CurrentUser] = []

    def identify(request: Request) -> AccessFilter:
        seen.append(find_current_user(request))
        return ANONYMOUS

    app = search_app(search.services(), SearchSite(identify=identify, signin=site, bounds=SearchBounds(at_once=32)))
    return SignInHarness(search, clock, signing, site, page_tools, app, seen)


@contextmanager
def opened_with_all_roles(folder: Path) -> Iterator[SignInHarness]:
    """Opens a harness with a user of each role, who is named like it and has the usual password."""
    opened = open_signin_harness(folder)
    for role in UserRole:
        opened.signing.accounts.add(role.value, PASSWORD, role=role)
    yield opened
    opened.search.store.close()


def make_signing(tools: PasswordCheckDependencies, clock: ManualClock, auditing: Auditing) -> SignInServices:
    store, check = tools.store, PasswordCheck(tools)
    return SignInServices(
        check=check,
        password_check_cache=PasswordCheckCache(check, store, clock.seconds),
        sessions=SessionService(store, clock, SessionLimits()),
        token_check=TokenCheck(store, clock),
        accounts=AccountService(store, tools.hasher, clock),
        tokens=TokenService(store, clock),
        auditing=auditing,
        one_time_codes=OneTimeCodes(store, clock),
        clock=clock,
    )


@dataclass(slots=True)
class Browser:
    """Keeps cookies and sends what browsers send; follows nothing by itself."""

    app: ASGIApp
    peer: str = "192.168.1.9"
    scheme: str = "http"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_browser: bool = True
    cookies: dict[str, str] = field(default_factory=dict)
    set_cookies: list[str] = field(default_factory=list)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, b"", headers)

    def post(self, path: str, fields: Sequence[tuple[str, str]] | Mapping[str, str], **headers: str) -> Answer:
        sent = {"content-type": "application/x-www-form-urlencoded"}
        if self.is_browser:
            sent |= {"origin": f"{self.scheme}://{HOST}", "sec-fetch-site": "same-origin"}
        return self.send("POST", path, urlencode(fields).encode(), sent | headers)

    def sign_in(self, name: str, password: str = PASSWORD, *, namespace: str = "Default", to: str = "/") -> Answer:
        """Fills in the form as it is shown."""
        form = read_form(self.get("/signin?" + urlencode({"to": to})).text)
        return self.post(form.action, {**form.hidden, f"u{namespace}": name, f"pw{namespace}": password})

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(path)
        given = {**self.headers, **headers}
        if self.cookies:
            given["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = ask_app(
            self.app, method, parts.path, query=parts.query, body=body, headers=given, host=HOST, peer=self.peer, scheme=self.scheme
        )
        self._keep(answer.cookies)
        return answer

    def _keep(self, lines: Sequence[str]) -> None:
        self.set_cookies.extend(lines)
        for line in lines:
            name, _, rest = line.partition("=")
            value = rest.partition(";")[0].strip('"')
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value


@dataclass(slots=True)
class Form:
    """A form of a page."""

    action: str = ""
    hidden: dict[str, str] = field(default_factory=dict)
    visible: dict[str, str] = field(default_factory=dict)


def read_form(text: str, choose: Callable[[Form], bool] = lambda form: form.action != "/") -> Form:
    """Reads the form of a page."""
    forms: list[Form] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            held = {name: value or "" for name, value in attrs}
            if tag == "form":
                forms.append(Form(held["action"]))
            elif tag == "input" and forms:
                into = forms[-1].hidden if held.get("type") == "hidden" else forms[-1].visible
                into[held["name"]] = held.get("value", "") if into is forms[-1].hidden else held.get("type", "")

    Reader().feed(text)
    return next(form for form in forms if choose(form))


def users(harness: SignInHarness, browser: Browser) -> list[tuple[str, str, str]]:
    """Returns the users that a browser is signed in as."""
    browser.get("/?q=x")
    return [(user.namespace, user.domain, user.name) for user in harness.seen[-1].identity.users]
