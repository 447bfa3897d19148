"""A running server crawls protected pages by a method for each folder; none of its secrets leaves it."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from feedmill.runtime.admintoken import read_token
from tests import programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.contract import apache
from tests.contract.apache import Apache, running_apache
from tests.contract.kdc import IS_USABLE, PASSWORD, REALM, USER, Kdc, running_kdc
from tests.contract.kerberosclient import IS_INSTALLED, PACKAGES
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(
    not (IS_USABLE and IS_INSTALLED and apache.PROGRAM and apache.HAS_KERBEROS),
    reason="needs a KDC, Apache's mod_auth_gssapi, libfaketime and the extra crawl-kerberos in .tools/kerberos-packages",
)

RIGHT, WRONG, TOKEN, HEADER = "right5ecret", "wrong5ecret", "token5ecret", "header5ecret"
SECRETS = (RIGHT, WRONG, TOKEN, HEADER, PASSWORD)
SETTINGS = """
[logs]
level = "debug"
[urls]
follow = ["localhost/"]
[crawl]
host_load = 0.0
allow_private = ["localhost/"]
headers = [{{pattern = "/", name = "X-Key", value = "{header}"}}]
access = [
  {{pattern = "contains:/kerberos/", method = "negotiate", user = "{user}@{realm}", password_file = "{file}", make_public = true}},
  {{pattern = "contains:/bound/a", user = "{user}", password = "{wrong}"}},
  {{pattern = "contains:/bound/", user = "stranger", domain = "CORP", password = "{wrong}"}},
  {{pattern = "contains:/digest/b", method = "bearer", token = "{token}"}},
  {{pattern = "contains:/b.txt", user = "ann", password = "{wrong}"}},
  {{pattern = "/", user = "ann", password = "{right}", make_public = true}},
]
"""


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with running_kdc(tmp_path_factory.mktemp("kdc")) as made:
        yield made


@pytest.fixture(scope="module")
def site(kdc: Kdc) -> Iterator[Apache]:
    with running_apache({"ann": RIGHT}, kdc) as made:
        yield made


@pytest.fixture(scope="module")
def server(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder: Path = tmp_path_factory.mktemp("crawl")
    (folder / "secret").write_text(PASSWORD)
    given = {"header": HEADER, "right": RIGHT, "wrong": WRONG, "token": TOKEN, "user": USER, "realm": REALM, "file": folder / "secret"}
    environment = kdc.environment | {"PYTHONPATH": str(PACKAGES)}
    with running(folder / "data", SETTINGS.format(**given), environment, programs.start_executable) as made:
        yield made


def entry(server: Appliance, url: str) -> dict[str, object]:
    path = f"/api/v1/crawl/entry?{urlencode({'url': url})}"
    status, _, body = server.request("GET", server.admin, path, None, {"Authorization": f"Bearer {read_token(server.data)}"})
    return dict(json.loads(body)) if status == 200 else {}


def test_protected_pages_are_found_and_no_secret_is_in_logs_and_states(server: Appliance, site: Apache) -> None:
    readable = [site.url(f"/{folder}/a.txt") for folder in ("basic", "digest", "kerberos")]
    rejected = [site.url(path) for path in ("/basic/b.txt", "/digest/b.txt", "/bound/a.txt", "/bound/b.txt")]
    assert server.feed(make_feed(*(make_record(url) for url in (*readable, *rejected))), "web")["state"] == "completed"
    for code, urls in ((1, readable), (22, rejected)):
        for url in urls:
            wait_for(code, lambda url=url: entry(server, url).get("code"))  # type: ignore[misc]
    wait_for(readable, lambda: sorted(server.urls("word")))
    assert "rejects the account crawler" in json.dumps(entry(server, rejected[2]))
    shown = server.log.read_text() + json.dumps([entry(server, url) for url in (*readable, *rejected)])
    assert not [secret for secret in SECRETS if secret in shown]
    # what pyspnego would log of each exchange: an attacker could find the password by it
    assert "step output" not in shown
