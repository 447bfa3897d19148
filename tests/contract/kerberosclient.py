"""A process that fetches with Kerberos, since its libraries read their settings from the environment, and other tests go without them.

Shape: each line of its input is a JSON object with ``rules`` (fields of access rules), ``urls`` and ``seconds``. It writes a line with the
pages.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import AccessRule, AccessScheme, FetchOptions
from feedmill.model.authorization import Trust
from feedmill.model.crawling import CrawlState, FetchRequest
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".tools/kerberos-packages"
IS_INSTALLED = (PACKAGES / "gssapi").is_dir()


class KerberosClient:
    """The process, from outside. All requests go by the same fetcher as long as the rules are the same."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def fetch(self, rules: list[dict[str, Any]], *urls: str, seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"rules": rules, "urls": urls, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        pages = json.loads(self._process.stdout.readline())
        return [page | {"state": CrawlState(page["state"])} for page in pages]


@contextmanager
def running_client(environment: Mapping[str, str]) -> Iterator[KerberosClient]:
    """Runs the process for a block."""
    whole = os.environ | {"PYTHONPATH": f"{ROOT}:{PACKAGES}"} | dict(environment)
    command = [sys.executable, "-m", "tests.contract.kerberosclient"]
    with subprocess.Popen(command, cwd=ROOT, env=whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield KerberosClient(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE_SECONDS)


async def _serve() -> None:
    fetchers: dict[str, HttpFetcher] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        given = json.loads(line)
        key = json.dumps(given["rules"])
        if key not in fetchers:
            rules = tuple(map(_make_rule, given["rules"]))
            fetchers[key] = HttpFetcher(FetchOptions(allow_private=("/",), access=rules))
        pages = [await _fetch(fetchers[key], url, given["seconds"]) for url in given["urls"]]
        sys.stdout.write(json.dumps(pages) + "\n")
        sys.stdout.flush()
    for fetcher in fetchers.values():
        await fetcher.close()


def _make_rule(fields: dict[str, Any]) -> AccessRule:
    schemes = {"schemes": tuple(AccessScheme(name) for name in fields["schemes"])} if "schemes" in fields else {}
    trust = {"trust": Trust(ca=fields["trust"])} if "trust" in fields else {}
    return AccessRule(**(fields | schemes | trust))


async def _fetch(fetcher: HttpFetcher, url: str, seconds: float) -> dict[str, Any]:
    page = await fetcher.fetch(FetchRequest(url=url, max_bytes=100_000, seconds=seconds))
    found = {"state": int(page.state), "status": page.http_status, "body": page.body.decode(), "reason": page.reason}
    return found | {"used_access": page.used_access, "headers": dict(page.headers)}


if __name__ == "__main__":
    asyncio.run(_serve())
