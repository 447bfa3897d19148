"""A Keycloak of a test's own, with a realm made by its administration interface, and a browser that goes where it is sent.

Keycloak is no package of Debian or PyPI: ``FEEDMILL_KEYCLOAK`` names the folder of a distribution, which ``.ci/keycloak`` fetches.
"""

import html
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.appliance import reserve_port

HOME = os.environ.get("FEEDMILL_KEYCLOAK", "")
REASON = "FEEDMILL_KEYCLOAK names no Keycloak; see 'make test-keycloak'"
REALM = "main"
PASSWORD = "bob's secret"
ADMIN = "admin"
READY_SECONDS = 900.0
MAX_HOPS = 12


@dataclass(slots=True)
class Keycloak:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]
    token: str = ""

    @property
    def realm_url(self) -> str:
        return f"{self.url}/realms/{REALM}"

    def sign_in(self) -> None:
        """Gets a token for administration; each holds a minute."""
        form = {"grant_type": "password", "client_id": "admin-cli", "username": ADMIN, "password": ADMIN}
        request = urllib.request.Request(f"{self.url}/realms/master/protocol/openid-connect/token", urllib.parse.urlencode(form).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.token = json.load(answer)["access_token"]

    def call(self, method: str, path: str, body: object = None, *, kind: str = "application/json") -> Any:
        """Asks the administration interface."""
        self.sign_in()
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        request = urllib.request.Request(f"{self.url}/admin/realms{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as exc:
            with exc:
                raise AssertionError(f"{method} {path}: {exc.code} {exc.read()!r}") from exc
        return json.loads(text) if text else None

    def descriptor(self) -> bytes:
        """Returns the realm's SAML metadata."""
        with urllib.request.urlopen(f"{self.realm_url}/protocol/saml/descriptor", timeout=60) as answer:
            return bytes(answer.read())

    def change_client(self, client_id: str, attributes: Mapping[str, str], **given: object) -> None:
        """Changes a client."""
        found = self.call("GET", f"/{REALM}/clients?clientId={urllib.parse.quote(client_id, safe='')}")[0]
        self.call("PUT", f"/{REALM}/clients/{found['id']}", found | given | {"attributes": found["attributes"] | attributes})

    def end_sessions_of(self, name: str) -> None:
        """Ends what a user has open, as an administrator does."""
        found = self.call("GET", f"/{REALM}/users?exact=true&username={name}")
        self.call("POST", f"/{REALM}/users/{found[0]['id']}/logout")


def user(name: str, *groups: str) -> dict[str, Any]:
    """Returns a user for the realm."""
    return {
        "username": name,
        "enabled": True,
        "email": f"{name}@example.test",
        "emailVerified": True,
        "firstName": name.title(),
        "lastName": "Test",
        "groups": list(groups),
        "credentials": [{"type": "password", "value": PASSWORD, "temporary": False}],
    }


@contextmanager
def running_keycloak(home: Path, log: Path) -> Iterator[Keycloak]:
    """Runs Keycloak for a block, its data in memory."""
    with reserve_port() as first, reserve_port() as second:
        port, management = (int(each.getsockname()[1]) for each in (first, second))
    url = f"http://127.0.0.1:{port}"
    given = ["--db=dev-mem", "--health-enabled=true", "--http-enabled=true", f"--hostname={url}", "--http-host=127.0.0.1"]
    given += [f"--http-port={port}", f"--http-management-port={management}", "--cache=local"]
    environment = os.environ | {
        "KC_BOOTSTRAP_ADMIN_USERNAME": ADMIN,
        "KC_BOOTSTRAP_ADMIN_PASSWORD": ADMIN,
        "JAVA_OPTS_KC_HEAP": "-Xms128m -Xmx384m",
        "HOME": str(home),
    }
    with log.open("wb") as out:
        line = [str(home / "bin" / "kc.sh"), "start", *given]
        process = subprocess.Popen(line, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        _wait(url, process, log)
        yield Keycloak(url, process)
    finally:
        # the script stays the parent of the server in some ways of starting it
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/realms/master/.well-known/openid-configuration", timeout=10):
                return
        except (OSError, urllib.error.URLError):
            assert process.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < deadline, f"Keycloak does not answer: {log.read_text()[-4000:]}"
            time.sleep(0.5)


@dataclass(slots=True)
class Form:
    """A form of a page."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Page:
    """Where a browser is."""

    url: str
    status: int
    text: str
    headers: dict[str, str]

    def form(self, having: str = "") -> Form:
        """Returns the first form that has a field, with the values it has."""
        return next(form for form in read_forms(self.url, self.text) if not having or having in form.fields)


@dataclass(slots=True)
class WebBrowser:
    """Keeps cookies a server, follows redirections and sends forms of pages that scripts would send."""

    cookies: dict[str, dict[str, str]] = field(default_factory=dict)
    hops: list[str] = field(default_factory=list)

    def get(self, url: str) -> Page:
        return self._go("GET", url, b"", "")

    def send(self, form: Form, given: Mapping[str, str]) -> Page:
        """Sends a form, filled in."""
        body = urllib.parse.urlencode({**form.fields, **given})
        if form.method == "get":
            return self.get(f"{form.action}?{body}")
        return self._go("POST", form.action, body.encode(), "")

    def sign_in(self, page: Page, name: str, password: str = PASSWORD) -> Page:
        """Fills in the form of Keycloak's page."""
        return self.send(page.form("username"), {"username": name, "password": password})

    def _go(self, method: str, url: str, body: bytes, origin: str) -> Page:
        for _ in range(MAX_HOPS):
            page = self._fetch(method, url, body, origin)
            self.hops.append(f"{method} {url.partition('?')[0]} {page.status}")
            if page.status in (301, 302, 303):
                url, method, body, origin = urllib.parse.urljoin(url, page.headers["location"]), "GET", b"", ""
                continue
            onward = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
            if page.status == 200 and onward is not None:
                url, method, body, origin = urllib.parse.urljoin(url, html.unescape(onward[1])), "GET", b"", ""
                continue
            forms = read_forms(url, page.text) if "SAML" in page.text else []
            posted = [form for form in forms if {"SAMLResponse", "SAMLRequest"} & form.fields.keys()]
            if page.status != 200 or not posted:
                return page
            # a page with such a form sends it by a script as soon as it is there
            origin = "null"
            url, method, body = posted[0].action, "POST", urllib.parse.urlencode(posted[0].fields).encode()
        raise AssertionError(f"sent about without an end: {self.hops}")

    def _fetch(self, method: str, url: str, body: bytes, origin: str) -> Page:
        parts = urllib.parse.urlsplit(url)
        cookies = self.cookies.setdefault(parts.netloc, {})
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
        if method == "POST":
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin or f"{parts.scheme}://{parts.netloc}"}
            if origin:
                headers = {name: value for name, value in headers.items() if name != "Cookie"} | {"Sec-Fetch-Site": "cross-site"}
        connection = HTTPConnection(parts.hostname or "", parts.port or 80, timeout=120)
        try:
            connection.request(method, parts._replace(scheme="", netloc="", fragment="").geturl() or "/", body or None, headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            for line in answer.headers.get_all("Set-Cookie") or []:
                self._store(cookies, line)
            return Page(url, answer.status, text, {name.lower(): value for name, value in answer.getheaders()})
        finally:
            connection.close()

    @staticmethod
    def _store(cookies: dict[str, str], line: str) -> None:
        name, _, rest = line.partition("=")
        value = rest.partition(";")[0]
        if "max-age=0" in line.lower() or not value:
            cookies.pop(name, None)
        else:
            cookies[name] = value


def read_forms(url: str, text: str) -> list[Form]:
    """Reads the forms of a page."""
    forms: list[Form] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            held = {name: value or "" for name, value in attrs}
            if tag == "form":
                forms.append(Form(urllib.parse.urljoin(url, held.get("action", "")), held.get("method", "get").lower()))
            elif tag == "input" and forms and held.get("name"):
                forms[-1].fields[held["name"]] = held.get("value", "")

    Reader().feed(text)
    return forms
