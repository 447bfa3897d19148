"""How the crawler proves who it is, against servers that really check it."""

import asyncio
import base64
import hashlib
import json
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import spnego
from spnego.exceptions import SpnegoError

from feedmill.adapters.crawling import kerberos
from feedmill.adapters.crawling.challenges import make_digest, parse_challenges
from feedmill.adapters.crawling.cookies import CookieJar
from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.forms import find_forms
from feedmill.adapters.crawling.options import AccessRule, AccessScheme, FetchOptions, FormLogin, TokenGrant
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import Trust
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest
from feedmill.ports.http import HttpResponse
from tests.rawserver import OK, Server, redirect, running
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import PATIENCE_SECONDS

Answer = Callable[[str, bytes, bytes], bytes]
"""Makes a response of path, head and body of a request."""


def fetch(urls: list[str], *rules: AccessRule, **given: object) -> list[FetchedPage]:
    async def run() -> list[FetchedPage]:
        fetcher = HttpFetcher(replace(FetchOptions(allow_private=("/",), access=rules), **given))  # type: ignore[arg-type]
        try:
            return [await fetcher.fetch(FetchRequest(url=url, max_bytes=100_000, seconds=PATIENCE_SECONDS)) for url in urls]
        finally:
            await fetcher.close()

    return asyncio.run(run())


def text(body: str, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(body.encode())}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode()


def demanding(*challenges: str) -> bytes:
    return text("no", "401 Unauthorized", *(f"WWW-Authenticate: {each}" for each in challenges))


def find_header(head: bytes, name: str) -> str:
    lines = (line.decode("latin-1").partition(":") for line in head.split(b"\r\n")[1:])
    return next((value.strip() for found, _, value in lines if found.lower() == name), "")


def serving(answer: Answer) -> Callable[[socket.socket, bytes], bool]:
    def handle(peer: socket.socket, head: bytes) -> bool:
        size, body = int(find_header(head, "content-length") or 0), b""
        while len(body) < size:
            body += peer.recv(65_536)
        peer.sendall(answer(head.split()[1].decode(), head, body))
        return True

    return handle


def authorizations(server: Server) -> list[str]:
    return [find_header(head, "authorization").partition(" ")[0] for head in server.heads]


# --- passwords ---

BASIC = "Basic " + base64.b64encode("ann:pässwört".encode()).decode()
ANN = AccessRule(pattern="/", user="ann", password="pässwört")


def test_basic_is_sent_after_a_challenge_and_then_at_once() -> None:
    def check(_path: str, head: bytes, _body: bytes) -> bytes:
        return OK if find_header(head, "authorization") == BASIC else demanding('Basic realm="a, b"')

    with running(serving(check)) as server:
        pages = fetch([server.url("/1"), server.url("/2")], ANN)
    assert [(page.state, page.used_access, page.make_public) for page in pages] == [(CrawlState.CRAWLED, True, False)] * 2
    assert authorizations(server) == ["", "Basic", "Basic"]


def test_basic_alone_is_sent_at_once() -> None:
    with running(serving(lambda _path, _head, _body: OK)) as server:
        page = fetch([server.url()], replace(ANN, schemes=(AccessScheme.BASIC,), make_public=True))[0]
    assert (page.used_access, page.make_public) == (True, True)
    assert authorizations(server) == ["Basic"]


def test_document_that_needs_no_password_is_not_marked() -> None:
    with running(serving(lambda _path, _head, _body: OK)) as server:
        page = fetch([server.url()], ANN)[0]
    assert not page.used_access
    assert authorizations(server) == [""]


def test_first_rule_that_matches_holds_and_others_get_nothing() -> None:
    with running(serving(lambda _path, head, _body: demanding("Basic"))) as server:
        pages = fetch([server.url("/open/"), server.url("/b")], AccessRule(pattern=server.url("/open/")), ANN)
    assert [page.state for page in pages] == [CrawlState.AUTHENTICATION_FAILED] * 2
    assert authorizations(server) == ["", "", "Basic"]


def test_rejected_password_is_not_tried_on_and_on() -> None:
    with running(serving(lambda _path, _head, _body: demanding("Basic"))) as server:
        pages = fetch([server.url(f"/{number}") for number in range(8)], ANN)
    assert {page.state for page in pages} == {CrawlState.AUTHENTICATION_FAILED}
    assert authorizations(server).count("Basic") == 3


def test_redirect_takes_no_password_to_a_server_without_a_rule() -> None:
    with running(serving(lambda _path, _head, _body: demanding("Basic"))) as other:

        def lead_away(_path: str, head: bytes, _body: bytes) -> bytes:
            return redirect(other.url()) if find_header(head, "authorization") else demanding("Basic")

        with running(serving(lead_away)) as server:
            page = fetch([server.url("/a")], replace(ANN, pattern=server.url("/")))[0]
    assert (page.state, page.used_access) == (CrawlState.AUTHENTICATION_FAILED, True)
    assert authorizations(other) == [""]


@pytest.mark.parametrize(("algorithm", "name"), [("MD5", "md5"), ("SHA-256", "sha256")])
def test_digest(algorithm: str, name: str) -> None:
    def digest(value: str) -> str:
        return hashlib.new(name, value.encode()).hexdigest()

    def check(path: str, head: bytes, _body: bytes) -> bytes:
        challenge = f'Digest realm="r", nonce="n", qop="auth,auth-int", algorithm={algorithm}, opaque="o"'
        found = parse_challenges(HttpResponse(status=401, headers=(("www-authenticate", find_header(head, "authorization").encode()),)))
        if not found or found[0].scheme != "digest":
            return demanding("Basic", challenge)
        given = found[0].parameters
        middle = f"{given['nonce']}:{given['nc']}:{given['cnonce']}:{given['qop']}"
        wanted = digest(f"{digest('ann:r:pässwört')}:{middle}:{digest(f'GET:{path}')}")
        return OK if given["response"] == wanted and given["uri"] == path else demanding(challenge)

    with running(serving(check)) as server:
        pages = fetch([server.url("/1?a=b"), server.url("/2")], ANN)
    assert [page.state for page in pages] == [CrawlState.CRAWLED] * 2
    assert authorizations(server) == ["", "Digest", "Digest"]
    assert "nc=00000002" in find_header(server.heads[2], "authorization")


def test_digest_of_several_realms_of_a_server() -> None:
    def check(path: str, head: bytes, _body: bytes) -> bytes:
        realm = path[1:2]
        is_tried = f'realm="{realm}"' in find_header(head, "authorization")
        return OK if is_tried else demanding(f'Digest realm="{realm}", nonce="n{realm}", qop="auth"')

    with running(serving(check)) as server:
        pages = fetch([server.url(path) for path in ("/a", "/b", "/b2", "/a2", "/c", "/d", "/e")], ANN)
    assert [page.state for page in pages] == [CrawlState.CRAWLED] * 7


def test_digest_of_the_standard() -> None:
    # RFC 7616, 3.9.1
    challenge = {"realm": "http-auth@example.org", "qop": "auth, auth-int", "algorithm": "SHA-256"}
    challenge |= {"nonce": "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"}
    value = make_digest(
        challenge,
        user="Mufasa",
        password="Circle of Life",
        method="GET",
        path="/dir/index.html",
        uses=1,
        client_nonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
    )
    assert 'response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"' in value


@pytest.mark.parametrize("protocol", ["ntlm", "negotiate"])
def test_ntlm_proves_each_connection_once(protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users").write_text("CORP:ann:secret")
    monkeypatch.setenv("NTLM_USER_FILE", str(tmp_path / "users"))
    contexts: dict[socket.socket, spnego.ContextProxy] = {}
    word = "NTLM" if protocol == "ntlm" else "Negotiate"

    def handle(peer: socket.socket, head: bytes) -> bool:
        context = contexts.get(peer)
        scheme, _, token = find_header(head, "authorization").partition(" ")
        if context is not None and context.complete:
            peer.sendall(OK)
        elif scheme != word:
            peer.sendall(demanding(word))
        else:
            context = contexts.setdefault(peer, spnego.server(protocol=protocol))
            try:
                out = context.step(base64.b64decode(token))
            except SpnegoError:
                peer.sendall(demanding(word))
                del contexts[peer]
                return True
            peer.sendall(OK if context.complete else demanding(f"{word} {base64.b64encode(out or b'').decode()}"))
        return True

    right = AccessRule(pattern="/", user="ann", password="secret", domain="CORP")
    with running(handle) as server:
        pages = fetch([server.url("/1"), server.url("/2")], right)
    assert [(page.state, page.used_access) for page in pages] == [(CrawlState.CRAWLED, True)] * 2
    assert server.connections == 1
    assert authorizations(server) == ["", word, word, ""]
    with running(handle) as server:
        assert fetch([server.url()], replace(right, password="wrong"))[0].state is CrawlState.AUTHENTICATION_FAILED


def ntlm_acceptor(*offered: str) -> Callable[[socket.socket, bytes], bool]:
    """Returns a server that offers some schemes and accepts NTLM for each connection, without the tokens of Negotiate."""
    contexts: dict[socket.socket, spnego.ContextProxy] = {}

    def handle(peer: socket.socket, head: bytes) -> bool:
        scheme, _, token = find_header(head, "authorization").partition(" ")
        context = contexts.get(peer)
        if scheme != "NTLM":
            peer.sendall(OK if context is not None and context.complete else demanding(*offered))
        else:
            context = contexts.setdefault(peer, spnego.server(protocol="ntlm"))
            out = context.step(base64.b64decode(token))
            peer.sendall(OK if context.complete else demanding(f"NTLM {base64.b64encode(out or b'').decode()}"))
        return True

    return handle


def test_without_kerberos_a_server_is_read_by_ntlm_if_it_offers_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users").write_text("CORP:ann:secret")
    monkeypatch.setenv("NTLM_USER_FILE", str(tmp_path / "users"))
    monkeypatch.setattr(kerberos, "IS_INSTALLED", False)
    rule = AccessRule(pattern="/", user="ann", password="secret", domain="CORP")
    with running(ntlm_acceptor("Negotiate", "NTLM")) as server:
        pages = fetch([server.url("/1"), server.url("/2")], rule)
    assert [(page.state, page.used_access) for page in pages] == [(CrawlState.CRAWLED, True)] * 2
    assert authorizations(server) == ["", "NTLM", "NTLM", ""]


@pytest.mark.parametrize("secret", [{"password": "secret"}, {"keytab": "/nowhere/x.keytab"}])
def test_server_that_takes_only_kerberos_says_what_to_install(monkeypatch: pytest.MonkeyPatch, secret: dict[str, str]) -> None:
    monkeypatch.setattr(kerberos, "IS_INSTALLED", False)
    with running(serving(lambda _path, _head, _body: demanding("Negotiate"))) as server:
        pages = fetch([server.url(f"/{number}") for number in range(4)], AccessRule(pattern="/", user="ann", **secret))  # type: ignore[arg-type]
    assert {page.state for page in pages} == {CrawlState.AUTHENTICATION_FAILED}
    assert all("apt-get install gcc libkrb5-dev" in page.reason for page in pages)


@pytest.mark.parametrize("word", ["NTLM", "Negotiate"])
def test_token_that_a_server_made_up_is_a_rejection(word: str) -> None:
    challenge = b"NTLMSSP\0\2\0\0\0" + b"\x0c\0\x0c\0\xff\xff\xff\x7f" + b"\xff" * 24
    tokens = [challenge, challenge[:11], challenge[:30], b"NTLMSSP\0\7\0\0\0", b"\xa1\x82\xff\xff", b"\xff" * 60]

    def answer(path: str, head: bytes, _body: bytes) -> bytes:
        has_begun = find_header(head, "authorization")
        return demanding(f"{word} {base64.b64encode(tokens[int(path[1:])]).decode()}" if has_begun else word)

    with running(serving(answer)) as server:
        pages = [fetch([server.url(f"/{number}")], ANN)[0] for number in range(len(tokens))]
    assert {page.state for page in pages} == {CrawlState.AUTHENTICATION_FAILED}


def test_challenges_are_split() -> None:
    values = [b'Newauth realm="apps", type=1, title="Login to \\"apps\\", now", Basic realm="simple"', b"NTLM abc==", b", ,Negotiate"]
    response = HttpResponse(status=401, headers=tuple(("www-authenticate", value) for value in values))
    assert [(each.scheme, each.token, each.parameters) for each in parse_challenges(response)] == [
        ("newauth", "", {"realm": "apps", "type": "1", "title": 'Login to "apps", now'}),
        ("basic", "", {"realm": "simple"}),
        ("ntlm", "abc==", {}),
        ("negotiate", "", {}),
    ]


# --- certificates and tokens ---


def test_client_certificate(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.load_verify_locations(tmp_path / "cert.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    ca = str(tmp_path / "cert.pem")
    with running(serving(lambda _path, _head, _body: OK), context) as server:
        url = server.url(host="localhost")
        with_certificate = fetch([url], AccessRule(pattern="/", trust=Trust(ca=ca, certificate=ca, key=str(tmp_path / "key.pem"))))[0]
        without = fetch([url], trust=Trust(ca=ca))[0]
    assert (with_certificate.state, with_certificate.used_access) == (CrawlState.CRAWLED, True)
    assert without.state is not CrawlState.CRAWLED


def test_bearer_token_is_fetched_and_fetched_again_when_refused() -> None:
    granted: list[str] = []

    def answer(path: str, head: bytes, body: bytes) -> bytes:
        if path == "/token":
            assert find_header(head, "authorization") == "Basic " + base64.b64encode(b"me:s%2Fcret").decode()
            assert parse_qs(body.decode()) == {"grant_type": ["client_credentials"], "scope": ["read"]}
            granted.append(f"token-{len(granted)}")
            return text(json.dumps({"access_token": granted[-1], "token_type": "Bearer", "expires_in": 3600}))
        is_current = find_header(head, "authorization") == f"Bearer {granted[-1]}" and not (path == "/2" and len(granted) == 1)
        return OK if is_current else demanding("Bearer")

    with running(serving(answer)) as server:
        grant = TokenGrant(token_url=server.url("/token"), client_id="me", client_secret="s/cret", scope="read")
        rule = AccessRule(pattern="/", grant=grant)
        pages = fetch([server.url(path) for path in ("/1", "/2", "/3")], rule)
        fixed = fetch([server.url("/1")], AccessRule(pattern="/", token=granted[-1]))[0]
    assert [(page.state, page.used_access) for page in (*pages, fixed)] == [(CrawlState.CRAWLED, True)] * 4
    assert len(granted) == 2
    assert "s/cret" not in repr(rule)


def test_refused_client_credentials_are_not_sent_on_and_on() -> None:
    with running(serving(lambda _path, _head, _body: text("{}", "400 Bad Request"))) as server:
        rule = AccessRule(pattern="/", grant=TokenGrant(token_url=server.url("/token"), client_id="a", client_secret="b"))
        pages = fetch([server.url("/1"), server.url("/2")], rule)
    assert [page.state for page in pages] == [CrawlState.AUTHENTICATION_FAILED] * 2
    assert len(server.heads) == 1


# --- forms ---


class LoginSite:
    """A site with a login form that has a token against forged requests, redirects, and sessions that end."""

    def __init__(self, *, action: str = "/login?step=2", after: str = "302 Found") -> None:
        self.action = action
        self.after = after
        self.sessions: set[str] = set()
        self.logins: list[dict[str, list[str]]] = []
        self.tokens = 0

    def answer(self, path: str, head: bytes, body: bytes) -> bytes:
        cookie = find_header(head, "cookie")
        if path.startswith("/login") and head.startswith(b"POST"):
            self.logins.append(parse_qs(body.decode()))
            is_right = self.logins[-1].get("pw") == ["secret"] and self.logins[-1].get("csrf") == [f"t{self.tokens}"]
            if not is_right or f"pre={self.tokens}" not in cookie:
                return self.form("wrong")
            self.sessions.add(f"s{len(self.logins)}")
            return redirect("/welcome", self.after).replace(
                b"\r\n\r\n", f"\r\nSet-Cookie: sid=s{len(self.logins)}; Path=/; HttpOnly\r\n\r\n".encode()
            )
        if path.startswith("/login"):
            return self.form("")
        if any(f"sid={session}" in cookie for session in self.sessions):
            return text(f"secret {path}")
        return redirect(f"/login?next={path}")

    def form(self, note: str) -> bytes:
        self.tokens += 1
        page = (
            f'<p>{note}<form action="/search"><input name=q></form><FORM method="POST" action="{self.action}">'
            f'<input type=hidden name=csrf value="t{self.tokens}"><input name=login><input type=password name=pw>'
            "<input type=checkbox name=keep checked><select name=realm><option value=a><option value=b selected></select>"
            "<input type=submit name=go value=Go></FORM>"
        )
        return text(page, "200 OK", f"Set-Cookie: pre={self.tokens}")


def form_rule(server: Server, **given: str) -> AccessRule:
    login = FormLogin(login_url=server.url("/login"), fields=(("extra", "1"),))
    return AccessRule(pattern="/", user="ann", password=given.get("password", "secret"), form=login)


def test_form_login_sends_the_token_and_keeps_the_session() -> None:
    site = LoginSite()
    with running(serving(site.answer)) as server:
        pages = fetch([server.url("/a"), server.url("/b")], form_rule(server))
    assert [(page.state, page.body, page.used_access) for page in pages] == [
        (CrawlState.CRAWLED, b"secret /a", True),
        (CrawlState.CRAWLED, b"secret /b", True),
    ]
    assert site.logins == [
        {"csrf": ["t1"], "login": ["ann"], "pw": ["secret"], "keep": ["on"], "realm": ["b"], "go": ["Go"], "extra": ["1"]}
    ]


def test_form_login_is_repeated_when_the_session_is_over() -> None:
    site = LoginSite()

    def end_session(path: str, head: bytes, body: bytes) -> bytes:
        if path == "/b" and len(site.logins) == 1:
            site.sessions.clear()
        return site.answer(path, head, body)

    with running(serving(end_session)) as server:
        pages = fetch([server.url(path) for path in ("/a", "/b", "/c")], form_rule(server))
    assert [page.body for page in pages] == [b"secret /a", b"secret /b", b"secret /c"]
    assert len(site.logins) == 2


def test_wrong_password_of_a_form_is_sent_once() -> None:
    site = LoginSite()
    with running(serving(site.answer)) as server:
        pages = fetch([server.url("/a"), server.url("/b")], form_rule(server, password="wrong"))
    assert [(page.state, page.used_access) for page in pages] == [(CrawlState.AUTHENTICATION_FAILED, True)] * 2
    assert len(site.logins) == 1
    assert not any("wrong" in page.reason for page in pages)


@pytest.mark.parametrize("where", ["action", "redirect"])
def test_password_of_a_form_goes_to_no_other_host(where: str) -> None:
    with running(serving(lambda _path, _head, _body: OK)) as other:
        site = LoginSite(action=other.url("/steal", host="localhost")) if where == "action" else LoginSite(after="307 Again")

        def answer(path: str, head: bytes, body: bytes) -> bytes:
            return site.answer(path, head, body).replace(b"Location: /welcome", f"Location: {other.url()}".encode())

        with running(serving(answer)) as server:
            page = fetch([server.url("/a")], form_rule(server))[0]
    assert page.state is CrawlState.AUTHENTICATION_FAILED
    assert "another host" in page.reason
    assert other.heads == []


def test_forms_of_a_hostile_page_are_read() -> None:
    assert find_forms(b"<form" * 10_000 + b"<input name=a><select name=b><option><textarea name=c>") is not None
    form = find_forms(b'<form><input name=a value="1"><input name=a value="2"><input type=image name=i><textarea name=t>x</textarea>')[0]
    assert (form.fields, form.is_post) == ({"a": "1", "t": ""}, False)


# --- cookies ---


def test_cookies_are_stored_only_for_their_patterns() -> None:
    def answer(_path: str, _head: bytes, _body: bytes) -> bytes:
        return text("x", "200 OK", "Set-Cookie: a=1; Path=/stored", "Set-Cookie: b=2; Domain=example.com", "Set-Cookie: c=3; Max-Age=0")

    with running(serving(answer)) as server:
        fetch([server.url(path) for path in ("/stored/1", "/stored/2", "/other", "/stored/3")], cookies=(server.url("/stored/"),))
    assert [find_header(head, "cookie") for head in server.heads] == ["", "a=1", "", "a=1"]


@pytest.mark.parametrize("given", ["a=1; Max-Age=\xb2", "a=1; Max-Age=--5", "a=1; Expires=\xff", "=; Path", "a=1; Max-Age=" + "9" * 40])
def test_any_cookie_is_read(given: str) -> None:
    jar, target = CookieJar(), parse_target("http://example.com/a")
    jar.store(target, HttpResponse(status=200, headers=(("set-cookie", given.encode("latin-1")),)))
    assert jar.make_header(target) in ("", "a=1")
