"""SMB shares on a real Samba server: folders, files, who may read them, and servers that do not answer."""

import asyncio
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

import pytest

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions, SmbShareRule
from feedmill.adapters.crawling.smb import shares
from feedmill.model.access import Access, Acl, InheritanceType, Scope
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest
from feedmill.wire.gsaheaders.parse import parse_headers
from tests.contract.samba import ANN, IS_USABLE, READER, Samba, running_samba

pytestmark = pytest.mark.skipif(not IS_USABLE, reason="needs root and the programs smbd and samba-dcerpcd with the module acl_tdb")

PERMIT, DENY = 0, 1
INHERITED, INHERIT_ONLY = 0x10, 0x08
READ_DATA, FULL = 0x1, 0x1F01FF
EVERYONE = "S-1-1-0"


@pytest.fixture(scope="module")
def samba() -> Iterator[Samba]:
    # the server reads the files of the share as the account that is signed in
    umask = os.umask(0o022)
    with running_samba() as server:
        (server.share / "sub").mkdir()
        (server.share / "sub" / "ü b.txt").write_text("text")
        yield server
    os.umask(umask)


def fetch(rule: SmbShareRule, *paths: str, seconds: float = 60.0, **given: object) -> list[FetchedPage]:
    async def run() -> list[FetchedPage]:
        fetcher = HttpFetcher(FetchOptions(smb_shares=(rule,)))
        requests = [FetchRequest(**{"url": rule.prefix + path, "max_bytes": 100_000, "seconds": seconds, **given}) for path in paths]  # type: ignore[arg-type]
        try:
            return [await fetcher.fetch(request) for request in requests]
        finally:
            await fetcher.close()

    return asyncio.run(run())


def acl_of(page: FetchedPage) -> Acl:
    headers = parse_headers(page.headers, page.url, "gsa-crawler")
    assert headers.faults == ()
    assert headers.acl is not None
    return headers.acl


def entries_of(page: FetchedPage) -> set[tuple[Access, Scope, str]]:
    return {(entry.access, entry.principal.scope, entry.principal.name) for entry in acl_of(page).entries}


def test_folders_lead_to_files_that_are_read(samba: Samba) -> None:
    root, folder, file, again = fetch(samba.make_rule(), "", "sub", "sub/%C3%BC%20b.txt", "sub/ü b.txt")
    assert f'<a href="{samba.prefix}sub/">sub</a>' in root.body.decode()
    assert ("x-robots-tag", "noindex") in folder.headers
    assert f'<a href="{samba.prefix}sub/%C3%BC%20b.txt">ü b.txt</a>' in folder.body.decode()
    assert (folder.url, file.state, file.body, again.body) == (samba.prefix + "sub/", CrawlState.CRAWLED, b"text", b"text")
    assert dict(file.headers)["content-type"] == "text/plain"
    assert (file.used_access, file.make_public) == (True, False)
    unchanged = fetch(samba.make_rule(), "sub/ü b.txt", etag=file.etag)[0]
    assert (unchanged.state, unchanged.body) == (CrawlState.CRAWLED_FROM_CACHE, b"")


def test_acl_of_a_file_names_those_who_may_read_it(samba: Samba) -> None:
    (samba.share / "acl.txt").write_text("text")
    ann, reader = samba.sids[ANN], samba.sids[READER]
    before = fetch(samba.make_rule(), "acl.txt")[0]
    samba.set_acl(
        "acl.txt",
        (DENY, 0, READ_DATA, reader),
        (PERMIT, INHERITED, FULL, ann),
        (PERMIT, INHERITED, FULL, reader),
        (PERMIT, 0, 0x2, EVERYONE),
    )
    after = fetch(samba.make_rule(), "acl.txt", etag=before.etag)[0]
    assert after.state is CrawlState.CRAWLED
    assert entries_of(after) == {(Access.PERMIT, Scope.USER, rf"FILES\{ANN}"), (Access.DENY, Scope.USER, rf"FILES\{READER}")}
    acl = acl_of(after)
    assert (acl.inherit_from, acl.inheritance_type) == (samba.prefix, InheritanceType.LEAF_NODE)
    assert not any(entry.principal.case_sensitive for entry in acl.entries)
    assert acl_of(fetch(samba.make_rule(reads_share_acl=False), "acl.txt")[0]).inherit_from is None
    public = fetch(samba.make_rule(is_public=True), "acl.txt")[0]
    assert (public.make_public, "x-gsa-doc-controls" in dict(public.headers)) == (True, False)


def test_entries_that_do_not_decide_on_reading_permit_no_user(samba: Samba) -> None:
    (samba.share / "closed.txt").write_text("text")
    unknown = "S-1-5-21-1-2-3-4567"
    samba.set_acl("closed.txt", (PERMIT, 0, FULL, unknown), (PERMIT, INHERIT_ONLY | 0x3, FULL, EVERYONE), (PERMIT, 0, FULL, "S-1-5-18"))
    assert acl_of(fetch(samba.make_rule(), "closed.txt")[0]).entries == ()
    samba.set_acl("closed.txt", (DENY, 0, FULL, unknown), (PERMIT, 0, FULL, EVERYONE))
    assert acl_of(fetch(samba.make_rule(), "closed.txt")[0]).entries == ()
    samba.set_acl("closed.txt", (PERMIT, 0, 0x80000000, "S-1-5-11"), (PERMIT, 0, FULL, "S-1-5-32-544"))
    given = fetch(samba.make_rule(everyone="All", namespace="ad"), "closed.txt")[0]
    assert entries_of(given) == {(Access.PERMIT, Scope.GROUP, "All"), (Access.PERMIT, Scope.GROUP, r"BUILTIN\Administrators")}
    assert {entry.principal.namespace for entry in acl_of(given).entries} == {"ad"}


def test_acl_of_the_share_is_that_of_its_first_folder(samba: Samba) -> None:
    root = fetch(samba.make_rule(), "")[0]
    assert (entries_of(root), acl_of(root).inheritance_type) == (
        {(Access.PERMIT, Scope.GROUP, "Everyone")},
        InheritanceType.AND_BOTH_PERMIT,
    )
    samba.set_share_acl(",".join(f"{samba.sids[user]}:ALLOWED/0x0/READ" for user in (ANN, READER)))
    changed = fetch(samba.make_rule(), "", etag=root.etag)[0]
    assert entries_of(changed) == {(Access.PERMIT, Scope.USER, rf"FILES\{user}") for user in (ANN, READER)}
    samba.set_share_acl(f"{EVERYONE}:ALLOWED/0x0/FULL")


@pytest.mark.parametrize(
    "path", ["../secret", "%2e%2e/secret", "sub/..%5c..%5csecret", "sub//x", "acl.txt::$DATA", "sub/%00", "x*", "none", "%ff"]
)
def test_nothing_leads_out_of_the_share(samba: Samba, path: str) -> None:
    (samba.folder / "secret").write_text("secret")
    page = fetch(samba.make_rule(), path)[0]
    assert (page.state, page.body) == (CrawlState.NOT_FOUND, b"")


def test_symbolic_links_out_of_the_share_are_not_read(samba: Samba) -> None:
    (samba.share / "link").symlink_to("/etc")
    page = fetch(samba.make_rule(), "link/passwd")[0]
    (samba.share / "link").unlink()
    assert page.state is not CrawlState.CRAWLED


def test_large_folder_is_listed_in_pieces(samba: Samba) -> None:
    folder = samba.share / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"file {number:03}.txt").write_text("")
    url, seen = "many/", list[str]()
    while url:
        body = fetch(samba.make_rule(), url, max_bytes=4_000)[0].body.decode()
        links = re.findall(r'<a href="([^"]+)"', body)
        assert len(links) < 300
        url = next((unquote(link).removeprefix(samba.prefix) for link in links if "?after=" in link), "")
        seen += [link for link in links if "?after=" not in link]
    assert len(seen) == len(set(seen)) == 300


def test_absent_share_or_disk_removes_nothing(samba: Samba) -> None:
    assert fetch(samba.make_rule(share="other"), "sub/")[0].state is CrawlState.CONNECTION_FAILED
    held = samba.share.rename(samba.folder / "held")
    samba.share.mkdir()
    try:
        assert fetch(samba.make_rule(), "sub/ü b.txt")[0].state is CrawlState.CONNECTION_FAILED
    finally:
        samba.share.rmdir()
        held.rename(samba.share)


def test_rejected_password_is_sent_once(samba: Samba, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = fetch(samba.make_rule(password="wrong word"), "a.txt", "b.txt")
    assert [page.state for page in pages] == [CrawlState.AUTHENTICATION_FAILED] * 2
    assert "again in some minutes" in pages[1].reason
    assert not any("wrong word" in page.reason + repr(samba.make_rule(password="wrong word")) for page in pages)
    monkeypatch.setattr(shares, "IS_INSTALLED", False)
    assert "extra smb" in fetch(samba.make_rule(), "a.txt")[0].reason


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Runs a server that answers everything with the same bytes, b"" for never."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                    held.append(peer)
                    if peer.recv(4_096) and answer:
                        peer.sendall(answer)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for peer in held:
                peer.close()
            thread.join()


@pytest.mark.parametrize(
    "answer", [b"\xff" * 64, b"\0\0\0\x04abcd", b"\0\0\0\x40\xfeSMB" + b"\x01" * 60, b"HTTP/1.1 400 Bad Request\r\n\r\n"]
)
def test_answer_that_is_none_is_a_failure(answer: bytes) -> None:
    with answering(answer) as port:
        rule = SmbShareRule(prefix="smb://x/docs/", host="127.0.0.1", port=port, share="docs", user="u", password="p")
        assert fetch(rule, "a.txt")[0].state is CrawlState.CONNECTION_FAILED


def test_server_that_never_answers_holds_up_nothing() -> None:
    with answering(b"") as port:
        rule = SmbShareRule(prefix="smb://x/docs/", host="127.0.0.1", port=port, share="docs", user="u", password="p")
        assert fetch(rule, "a.txt", seconds=0.5)[0].state is CrawlState.CONNECTION_TIMED_OUT
