"""The settings of the crawler: their faults, and that no secret of them is shown."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from feedmill.http.admin.status import _SECRET, list_settings
from feedmill.model.errors import BadSettings
from feedmill.settings import Settings
from feedmill.settings.section import Section
from tests.builders.settings import load_text

ACCESS = '[[crawl.access]]\npattern = "x.com/"\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[crawl]\nuser_agent = "a b"', "f.toml:2: crawl.user_agent: 'a b' is no name of a user agent"),
        ('[crawl]\nuser_agent = "SecMgr"', "f.toml:2: crawl.user_agent: adaptors refuse the user agent SecMgr"),
        ('[crawl]\nmail = "a)b"', "f.toml:2: crawl.mail: this becomes part of the header User-Agent"),
        ('[crawl]\nca_file = "gone.pem"', "f.toml:2: crawl.ca_file: there is no file '"),
        ('[urls]\nstart = ["www.example.com"]', "f.toml:2: urls.start[1]: 'www.example.com' is no URL; give one with its protocol"),
        (ACCESS + 'method = "kerberos"', "f.toml:3: crawl.access[1].method: 'kerberos' is none of"),
        (ACCESS + 'method = "basic"', "crawl.access[1].user: this method needs a user"),
        (ACCESS + 'user = "u"\ntoken = "t"', "f.toml:4: crawl.access[1].token: the method auto has no use for this key"),
        (
            ACCESS + 'user = "u"\npassword = "env:NONE_OF_THESE"',
            "f.toml:4: crawl.access[1].password: the variable NONE_OF_THESE is not set",
        ),
        (ACCESS + 'user = "u"\npassword = "p"\npassword_file = "x"', "f.toml:5: crawl.access[1].password_file: give either"),
        (ACCESS + 'method = "negotiate"\nuser = "u"\nkeytab = "gone"', "f.toml:5: crawl.access[1].keytab: there is no file '"),
        (
            ACCESS + 'method = "negotiate"\nuser = "u"\npassword = "p"\nkeytab = "gone"',
            "f.toml:6: crawl.access[1].keytab: give either a keytab or a password",
        ),
        (ACCESS + 'user = "u"\nkeytab = "gone"', "f.toml:4: crawl.access[1].keytab: the method auto has no use for this key"),
        (ACCESS + 'method = "form"\nuser = "u"', "crawl.access[1].login_url: give the address of the page"),
        (ACCESS + 'method = "form"\nuser = "u"\nlogin_url = "/login"', "f.toml:5: crawl.access[1].login_url: the url is none of http"),
        (ACCESS + 'method = "certificate"', "crawl.access[1].certificate: this method needs a certificate"),
        (ACCESS + 'method = "certificate"\ncertificate = "gone"', "f.toml:4: crawl.access[1].certificate: there is no file '"),
        (ACCESS + 'method = "bearer"', "crawl.access[1].token: give either a token, or token_url"),
        (ACCESS + 'method = "bearer"\ntoken_url = "https://x.com/"', "crawl.access[1].client_id: token_url needs client_id"),
        ('[[crawl.proxies]]\npattern = "/"\nurl = "http://u:p@x.com/"', "f.toml:3: crawl.proxies[1].url: the url is none of http"),
        ('[[crawl.headers]]\npattern = "/"\nname = "Host"\nvalue = "x"', "f.toml:3: crawl.headers[1].name: the crawler itself sets"),
        ('[[crawl.headers]]\npattern = "/"\nname = "X-A"\nvalue = "a\\r\\nB: c"', "f.toml:4: crawl.headers[1].value: a header holds"),
        ('[[crawl.host_loads]]\nhost = "a b"\nload = 1.0', "f.toml:2: crawl.host_loads[1].host: 'a b' is no host"),
        ('[[crawl.host_loads]]\nhost = "*"\nload = 1.0\nstart_hour = 25', "f.toml:4: crawl.host_loads[1].start_hour: 25 is out of range"),
        (
            '[[crawl.host_loads]]\nhost = "*"\nload = 1.0\nstart_hour = 3\nend_hour = 3',
            "crawl.host_loads[1].end_hour: the exception has no",
        ),
        ('[[crawl.shares]]\nprefix = "smb://x/"\nfolder = "."', "f.toml:2: crawl.shares[1].prefix: 'smb://x/' is no beginning"),
        ('[[crawl.shares]]\nprefix = "file://x/"\nfolder = "gone"', "f.toml:3: crawl.shares[1].folder: there is no folder '"),
        ('[[crawl.smb_shares]]\nprefix = "smb://x"\nuser = "u"', "f.toml:2: crawl.smb_shares[1].prefix: 'smb://x' is no beginning"),
        ('[[crawl.smb_shares]]\nprefix = "smb://x:0/y/"\nuser = "u"', "f.toml:2: crawl.smb_shares[1].prefix: 'smb://x:0/y/' is no"),
        (
            '[[crawl.smb_shares]]\nprefix = "smb://x/y/"\nuser = "u"\npassword = "env:NONE_OF_THESE"',
            "f.toml:4: crawl.smb_shares[1].password: the variable NONE_OF_THESE is not set",
        ),
        ('[[crawl.dates]]\npattern = "/"\nlocate = "meta"', "crawl.dates[1].name: name the meta tag"),
        ('[[crawl.dates]]\npattern = "/"\nlocate = "url"\nname = "x"', "f.toml:4: crawl.dates[1].name: this is the meta tag's name"),
        ('[[crawl.duplicate_hosts]]\nhost = "a.com"\nduplicates = ["a.com"]', "f.toml:3: crawl.duplicate_hosts[1].duplicates: 'a.com' is"),
        ('[[crawl.duplicate_hosts]]\nhost = "a.com"\nduplicates = ["b.com", "b.com"]', "duplicates: 'b.com' stands in two entries"),
    ],
)
def test_fault_of_crawler_settings_names_place_and_reason(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadSettings) as raised:
        load_text(tmp_path, text)
    assert any(fault in each for each in raised.value.faults), raised.value.faults


def test_all_settings_of_the_crawler_are_read(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "secret").write_text("s\n")
    crawl = load_text(
        tmp_path,
        """
        [crawl]
        mail = "admin@example.com"
        frequently = ["news.example.com/"]
        cookies = ["shop.example.com/"]
        access = [
          {pattern = "a.com/", user = "u", password_file = "secret", domain = "D"},
          {pattern = "b.com/", method = "form", user = "u", login_url = "https://b.com/login", fields = [{name = "realm", value = "x"}]},
          {pattern = "c.com/", method = "bearer", token_url = "https://c.com/token", client_id = "i", client_secret_file = "secret"},
        ]
        proxies = [{pattern = "intranet.example.com/", url = ""}, {pattern = "/", url = "http://proxy.example.com:3128"}]
        headers = [{pattern = "/", name = "Accept-Language", value = "de"}]
        shares = [{prefix = "file://files/docs/", folder = "share"}]
        dates = [{pattern = "/", locate = "meta", name = "date"}]
        duplicate_hosts = [{host = "www.example.com", duplicates = ["example.com", "WWW2.example.com:8080"]}]
        host_loads = [{host = "*", start_hour = 22, end_hour = 6, load = 10.0}]
        """,
    ).settings.crawl
    assert crawl.user_agent_header == "gsa-crawler (Enterprise; Feedmill; admin@example.com)"
    assert crawl.access[0].password_file == crawl.access[2].client_secret_file == str(tmp_path / "secret")
    assert crawl.shares[0].folder == str(tmp_path / "share")
    assert crawl.duplicate_hosts[0].duplicates == ("example.com", "www2.example.com:8080")


def test_secrets_of_the_crawler_are_not_shown(tmp_path: Path) -> None:
    loaded = load_text(
        tmp_path,
        """
        [crawl]
        access = [{pattern = "a.com/", user = "u", password = "hidden1"}, {pattern = "b.com/", method = "bearer", token = "hidden2"}]
        proxies = [{pattern = "/", url = "http://proxy.example.com:3128", user = "u", password = "hidden3"}]
        headers = [{pattern = "/", name = "Authorization", value = "hidden4"}]
        smb_shares = [{prefix = "smb://files/docs/", user = "u", password = "hidden5"}]
        """,
    )
    assert "hidden" not in repr(list_settings(loaded)) + repr(loaded.settings) + repr(loaded.warnings)
    assert sum("the secret stands in the settings in clear" in text for text in loaded.warnings) == 4


def list_secret_settings(section: type[Section], place: str = "") -> Iterator[str]:
    """Yields the settings that hold a secret, or tables with one, by their keys."""
    for name, found in section.model_fields.items():
        kinds = [kind for kind in (found.annotation, *get_args(found.annotation)) if isinstance(kind, type) and issubclass(kind, Section)]
        key = f"{place}{name}"
        if kinds and kinds[0] is found.annotation:
            yield from list_secret_settings(kinds[0], f"{key}.")
        elif not found.repr or any(True for kind in kinds for _ in list_secret_settings(kind)):
            yield key


def test_every_setting_with_a_secret_is_hidden() -> None:
    found = set(list_secret_settings(Settings))
    assert {"crawl.access", "crawl.smb_shares", "signin.proxy.secret"} <= found
    assert found <= set(_SECRET)
