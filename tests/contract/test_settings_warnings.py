"""Warnings about settings that are valid and open more than an operator may have meant, and faults where everybody would be believed."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedmill.adapters.crawling import kerberos
from feedmill.cli.main import build_app
from feedmill.model.errors import BadSettings
from feedmill.settings import load_settings
from feedmill.settings.warnings import CHECKS
from tests.builders.settings import load_text
from tests.sandboxparts import launch

SOURCE = '[[sources]]\nname = "x"\nkind = "database"\ndsn = "sqlite:////x"\ncrawl_query = "SELECT id FROM t"\nkeys = ["id"]\n'
DIRECTORY = '[[signin.ldap]]\nname = "a"\nurls = ["{url}"]\nuser_base = "o=x"\nstart_tls = {start_tls}\n'
ANYBODY = ["0.0.0.0/0", "::/0", "0.0.0.0/1', '128.0.0.0/1", "::/1', '8000::/1", "0.0.0.0/1', '128.0.0.0/2', '192.0.0.0/2', '10.0.0.0/8"]


def warnings(folder: Path, text: str, mode: int = 0o600, **environment: str) -> list[str]:
    path = folder / "f.toml"
    path.write_text(text)
    path.chmod(mode)
    return [warning.replace(f"{folder}/", "") for warning in load_settings(path, environment).warnings]


@pytest.mark.parametrize("section", ["signin.proxy", "signin.client_address"])
@pytest.mark.parametrize("networks", ANYBODY)
def test_networks_that_are_everybody_are_refused_where_all_is(tmp_path: Path, section: str, networks: str) -> None:
    with pytest.raises(BadSettings, match=rf"f\.toml:2: {section}\.trusted: .* is every address"):
        load_text(tmp_path, f"[{section}]\ntrusted = ['{networks}']\n")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ('[gate]\nbind = "0.0.0.0"\ntrusted = "all"', "f.toml:3: gate.trusted: every address may push"),
        ('[gate]\nbind = "::"\ntrusted = ["0.0.0.0/0"]', "f.toml:3: gate.trusted: every address may push"),
        ('[gate]\nbind = "10.0.0.1"\ntrusted = ["::/1", "8000::/1"]', "f.toml:3: gate.trusted: every address may push"),
        ('[search]\nhosts = ["*"]', "f.toml:2: search.hosts: a web page of any site"),
        ('[gate]\nallow_origins = ["*"]', "f.toml:2: gate.allow_origins: any web page"),
        ('[search]\nallow_origins = ["*"]', "f.toml:2: search.allow_origins: any web page"),
        ('[signin.proxy]\ntrusted = ["0.0.0.0/1"]', "f.toml:2: signin.proxy.trusted: every machine of 0.0.0.0/1"),
        ('[signin.client_address]\ntrusted = ["2000::/3"]', "f.toml:2: signin.client_address.trusted: every machine of 2000::/3"),
        ('[signin.proxy]\ntrusted = ["::1"]', "f.toml:2: signin.proxy.trusted: every account of this machine"),
        ('[signin.proxy]\nsecret_header = "X-S"\nsecret = "s"', "f.toml:3: signin.proxy.secret: the secret stands"),
        ('[search]\nbind = "0.0.0.0"', "f.toml:2: search.bind: users send their passwords to this port without TLS"),
        (DIRECTORY.format(url="ldap://ldap.example.com", start_tls="false"), "signin.ldap[1].start_tls: passwords go to ldap://ldap"),
        (DIRECTORY.format(url="ldaps://x", start_tls="true") + 'password = "p"', "f.toml:6: signin.ldap[1].password: the secret stands"),
        ('[store]\nurl = "postgresql://u:p@host/x"', "f.toml:2: store.url: the password stands"),
        ('[[crawl.access]]\npattern = "x.com/"\npassword = "p"', "f.toml:3: crawl.access[1].password: the secret stands"),
        ('[crawl.render]\npatterns = ["x.com/"]\nbrowser = "/nowhere/chromium"', "f.toml:3: crawl.render.browser: pages of these patterns"),
        (SOURCE + 'password = "p"', "f.toml:7: sources[1].password: the secret stands"),
        (SOURCE.replace("sqlite:////x", "postgresql://u:p@x/y"), "f.toml:4: sources[1].dsn: the secret stands"),
    ],
)
def test_settings_that_open_much_are_reported_with_their_line(tmp_path: Path, text: str, warning: str) -> None:
    found = warnings(tmp_path, text)
    assert any(warning in each for each in found), found


@pytest.mark.parametrize(
    "text",
    [
        '[gate]\ntrusted = "all"',
        '[gate]\nbind = "0.0.0.0"\ntrusted = ["10.0.0.0/8"]',
        '[search]\nbind = "0.0.0.0"\n[signin]\npublic_url = "https://search.example.com"',
        '[signin.proxy]\ntrusted = ["10.0.0.0/8", "2001:db8::/32"]',
        DIRECTORY.format(url="ldap://ldap.example.com", start_tls="true"),
        DIRECTORY.format(url="ldap://127.0.0.1:389", start_tls="false"),
        '[[crawl.access]]\npattern = "x.com/"\npassword = "env:NAME"',
    ],
)
def test_settings_that_open_nothing_are_not_reported(tmp_path: Path, text: str) -> None:
    silent = ("gate.trusted", "search.bind", "signin.", "crawl.")
    assert not [each for each in warnings(tmp_path, text, mode=0o644) if any(key in each for key in silent)]


def test_key_of_an_adaptor_without_effect_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("commandline.lister.cmd=l\ncommandline.retriever.cmd=r\ncommandline.lister.arg2=b\n")
    text = '[[sources]]\nname = "x"\nkind = "adaptor"\nconfig = "a.properties"\n'
    assert any("f.toml:4: sources[1].config: commandline.lister.arg2 has no effect" in each for each in warnings(tmp_path, text))


def test_negotiate_without_its_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[[crawl.access]]\npattern = "x.com/"\nmethod = "{}"\nuser = "u"\npassword = "env:CRAWL_PASSWORD"'
    monkeypatch.setenv("CRAWL_PASSWORD", "p")
    monkeypatch.setattr(kerberos, "IS_INSTALLED", False)
    found = [each for each in warnings(tmp_path, text.format("negotiate")) if "crawl.access" in each]
    assert len(found) == 1
    assert found[0].startswith("f.toml:3: crawl.access[1].method: URLs of servers that take only Kerberos get state 22")
    assert "pip install 'feedmill[crawl-kerberos]'" in found[0]
    assert not [each for each in warnings(tmp_path, text.format("auto")) if "crawl.access" in each]
    monkeypatch.setattr(kerberos, "IS_INSTALLED", True)
    assert not [each for each in warnings(tmp_path, text.format("negotiate")) if "crawl.access" in each]


def test_secrets_of_the_environment_are_not_reported(tmp_path: Path) -> None:
    assert not [each for each in warnings(tmp_path, "", FEEDMILL_STORE_URL="postgresql://u:p@host/x") if "store" in each]


def test_a_settings_file_with_secrets_that_others_can_read_is_reported(tmp_path: Path) -> None:
    text = '[[crawl.access]]\npattern = "x.com/"\npassword = "p"\n'
    assert any(
        "f.toml:3: crawl.access[1].password: every account of this machine can read" in each for each in warnings(tmp_path, text, 0o644)
    )
    assert not any("can read the secret" in each for each in warnings(tmp_path, text, 0o640))


def test_a_password_file_that_others_can_read_is_reported(tmp_path: Path) -> None:
    text = DIRECTORY.format(url="ldaps://x", start_tls="true") + 'password_file = "secret"'
    (tmp_path / "secret").write_text("p")
    (tmp_path / "secret").chmod(0o644)
    assert any("f.toml:6: signin.ldap[1].password_file: every account" in each for each in warnings(tmp_path, text))
    (tmp_path / "secret").chmod(0o600)
    assert not any("password_file" in each for each in warnings(tmp_path, text))


def test_config_check_prints_warnings_and_exits_0(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    config.write_text('[gate]\nallow_origins = ["*"]\n')
    done = CliRunner().invoke(build_app(), ["config", "check", "--config", str(config), "--json"])
    report = json.loads(done.stdout)
    assert (done.exit_code, report["ok"], report["faults"]) == (0, True, [])
    assert any(each.startswith(f"{config}:2: gate.allow_origins: ") for each in report["warnings"])
    done = CliRunner().invoke(build_app(), ["config", "check", "--config", str(config)])
    assert done.exit_code == 0
    assert f"warning: {config}:2: gate.allow_origins: " in done.stdout


def test_config_check_prints_faults_as_json_and_exits_1(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    config.write_text('[signin.proxy]\ntrusted = ["0.0.0.0/0"]\n')
    done = CliRunner().invoke(build_app(), ["config", "check", "--config", str(config), "--json"])
    report = json.loads(done.stdout)
    assert (done.exit_code, report["ok"], len(report["faults"])) == (1, False, 1)
    assert report["faults"][0].startswith(f"{config}:2: signin.proxy.trusted: ")


def test_every_warning_stands_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs/reference/settings.md").read_text()
    listed = re.search(r"## Warnings\n(.*?)\n## ", manual, re.DOTALL)
    assert listed is not None
    assert listed[1].count("\n| ") == len(CHECKS) + 1  # the table's head


def test_missing_sandbox_for_browsers_is_reported(tmp_path: Path) -> None:
    found = warnings(tmp_path, '[crawl.render]\npatterns = ["x.com/"]\n')
    reported = [each for each in found if "permits no sandbox" in each]
    assert bool(reported) is ("permits no sandbox" in launch("true"))
    assert all("user.max_user_namespaces" in each for each in reported)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FEEDMILL_GAET_PORT", "FEEDMILL_GATE_PORT"),
        ("FEEDMILL_FEED_PORT", "FEEDMILL_GATE_PORT"),
        ("FEEDMILL_SERACH_PORT", "FEEDMILL_SEARCH_PORT"),
        ("FEEDMILL_GATEPORT", "FEEDMILL_GATE_PORT"),
        ("FEEDMILL_CONFGI", "FEEDMILL_CONFIG"),
    ],
)
def test_variable_that_is_nearly_a_setting_is_named_with_the_likely_name(tmp_path: Path, name: str, meant: str) -> None:
    found = load_text(tmp_path, "", **{name: "1"}).warnings
    assert f"{name}: there is no such setting, and it has no effect; did you mean '{meant}'" in found


def test_variables_of_other_programs_cause_no_warning(tmp_path: Path) -> None:
    others = (
        "HOME",
        "SAMPLES",
        "SCRAPY",
        "KEYCLOAK",
        "RELEVANCE",
        "NO_SKIPS",
        "THOROUGH",
        "VERSION",
        "DATA",
        "CONFIG",
        "PUSH_TOKEN",
        "SINCE",
    )
    assert load_text(tmp_path, "", **{f"FEEDMILL_{name}": "x" for name in others}).warnings == load_text(tmp_path, "").warnings
