"""How the crawler proves who it is to Apache: Basic, Digest, and client certificates."""

import asyncio
from collections.abc import Iterator

import pytest

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import AccessRule, FetchOptions
from feedmill.model.authorization import Trust
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest
from tests.contract.apache import PROGRAM, Apache, running_apache
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs the program apache2")

RULE = AccessRule(pattern="/", user="ann", password="pässwört")


@pytest.fixture(scope="module")
def server() -> Iterator[Apache]:
    with running_apache({"ann": "pässwört"}) as made:
        yield made


def fetch(rule: AccessRule, *urls: str) -> list[FetchedPage]:
    async def run() -> list[FetchedPage]:
        fetcher = HttpFetcher(FetchOptions(allow_private=("/",), access=(rule,)))
        try:
            return [await fetcher.fetch(FetchRequest(url=url, max_bytes=100_000, seconds=PATIENCE_SECONDS)) for url in urls]
        finally:
            await fetcher.close()

    return asyncio.run(run())


@pytest.mark.parametrize("scheme", ["basic", "digest"])
def test_password_is_accepted_and_a_wrong_one_is_not(server: Apache, scheme: str) -> None:
    urls = [server.url(f"/{scheme}/{name}.txt") for name in "ab"]
    pages = fetch(RULE, *urls)
    assert [(page.state, page.body, page.used_access) for page in pages] == [(CrawlState.CRAWLED, f"{scheme} word".encode(), True)] * 2
    wrong = AccessRule(pattern="/", user="ann", password="wrong word")
    page = fetch(wrong, urls[0])[0]
    assert (page.state, page.http_status, page.body) == (CrawlState.AUTHENTICATION_FAILED, 401, b"")
    assert "wrong word" not in page.reason


def test_client_certificate_is_shown_when_the_server_asks_for_it_for_one_folder(server: Apache) -> None:
    ca = str(server.folder / "cert.pem")
    shown = AccessRule(pattern="/", trust=Trust(ca=ca, certificate=ca, key=str(server.folder / "key.pem")))
    page = fetch(shown, server.tls_url("/tls.txt"))[0]
    assert (page.state, page.body, page.used_access) == (CrawlState.CRAWLED, b"tls word", True)
    assert fetch(AccessRule(pattern="/", trust=Trust(ca=ca)), server.tls_url("/tls.txt"))[0].state is not CrawlState.CRAWLED
