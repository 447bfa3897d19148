"""Settings of seedlists as pull sources."""

from pathlib import Path

import pytest

from feedmill.model.errors import BadSettings
from feedmill.settings.pulling import DatabaseSourceSettings, SeedlistSourceSettings, list_token_servers
from tests.builders.settings import load_text

HEAD = '[[sources]]\nname = "x"\n'
DATABASE = HEAD.replace("x", "y") + 'kind = "database"\ndsn = "sqlite:////x"\ncrawl_query = "SELECT id FROM t"\nkeys = ["id"]\n'
URL = 'kind = "seedlist"\nurl = "https://list.example.com/seedlist/myserver"\n'


def test_kinds_of_sources_stand_beside_each_other(tmp_path: Path) -> None:
    settings = load_text(tmp_path, HEAD + URL + DATABASE).settings
    seedlist, database = settings.sources
    assert isinstance(seedlist, SeedlistSourceSettings)
    assert seedlist.url == "https://list.example.com/seedlist/myserver"
    assert isinstance(database, DatabaseSourceSettings)
    assert type(settings).model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD + 'kind = "seedlist"', "sources[1].url: this key must be given"),
        (HEAD + 'kind = "seedlist"\nurl = 5', "f.toml:4: sources[1].url: must be text"),
        (HEAD + 'kind = "seedlist"\nurl = "ftp://x/"', "f.toml:4: sources[1].url: "),
        (HEAD + URL + 'dsn = "x"', "f.toml:5: sources[1].dsn: unknown key"),
        (HEAD + URL + 'password = "env:NONE"', "f.toml:5: sources[1].password: "),
        (HEAD + URL + 'password = "p"', "sources[1].user: the password has no user; give user too"),
        (HEAD + URL + 'login_url = "https://list.example.com/login"', "sources[1].user: the login form needs a user"),
        (HEAD + URL + 'user = "a"\nlogin_url = "login"', "sources[1].login_url: "),
        (HEAD + URL + 'user_field = "name"', "sources[1].user_field: this is part of a login form; give login_url too"),
        (HEAD + URL + '[sources.user_tokens]\nurl = "ftp://x/"\ncookies = ["a"]', "sources[1].user_tokens: url: "),
        (HEAD + URL + '[sources.user_tokens]\nurl = "http://x/"', "sources[1].user_tokens: cookies: say how users are known there"),
        (HEAD + URL + '[sources.user_tokens]\nurl = "http://x/"\ncookies = ["GSA_SESSION_ID"]', "is a cookie of this server"),
        (HEAD + URL + '[sources.user_tokens]\nurl = "http://x/"\ncookies = ["a b"]', "'a b' is no name of a cookie"),
        (HEAD + URL + '[sources.user_tokens]\nurl = "http://x/"\nuser_header = "Cookie"', "has another meaning in a request"),
        (HEAD + 'kind = "mailbox"', "this version has no sources of kind 'mailbox'; it has adaptor, database, seedlist"),
        (HEAD, "sources[1].kind: this key must be given"),
    ],
)
def test_fault_is_named_at_its_key(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load_text(tmp_path, text)
    assert any(fault in each for each in caught.value.faults), caught.value.faults


def test_sources_with_the_same_service_for_tokens_share_it(tmp_path: Path) -> None:
    tokens = '[sources.user_tokens]\nurl = "https://list.example.com/getACLTokens"\ncookies = ["LtpaToken2"]\n'
    other = tokens.replace("LtpaToken2", "Other")
    text = "".join(HEAD.replace("x", name) + URL + added for name, added in (("a", tokens), ("b", tokens), ("c", other), ("d", "")))
    found = list_token_servers(load_text(tmp_path, text).settings.sources)
    assert [(each.sources, each.cookies) for each in found] == [(("a", "b"), ("LtpaToken2",)), (("c",), ("Other",))]
