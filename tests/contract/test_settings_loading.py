"""Settings read from real files and an environment of the test's own."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from feedmill.model.errors import BadSettings, Corrupt, NotFound
from feedmill.settings import Settings, load_settings, read_snapshot, write_snapshot
from tests.builders.settings import load_text

LDAP = '[[signin.ldap]]\nname = "a"\nurls = ["ldaps://x"]\nuser_base = "o=x"\n'


def faults(folder: Path, text: str, **environment: str) -> list[str]:
    with pytest.raises(BadSettings) as caught:
        load_text(folder, text, **environment)
    return [fault.replace(f"{folder}/", "") for fault in caught.value.faults]


def test_settings_without_file_and_environment_are_the_defaults() -> None:
    loaded = load_settings(None, {})
    assert loaded.settings == Settings()
    assert loaded.settings.gate.port == 19900
    assert loaded.origins == {}


def test_settings_of_the_environment_win_over_the_file_and_name_their_origin(tmp_path: Path) -> None:
    loaded = load_text(
        tmp_path, "[gate]\nport = 1\ntrusted = 'all'\n", FEEDMILL_GATE_PORT="2", FEEDMILL_SEARCH_PORT="0", FEEDMILL_ADMIN_PORT=""
    )
    assert (loaded.settings.gate.port, loaded.settings.search.port, loaded.settings.admin.port) == (2, 0, 8000)
    assert loaded.settings.gate.trusted == ("all",)
    assert loaded.origins == {
        "gate.port": "FEEDMILL_GATE_PORT",
        "search.port": "FEEDMILL_SEARCH_PORT",
        "gate.trusted": f"{tmp_path}/f.toml:3",
    }


def test_settings_of_the_environment_take_lists_and_truth(tmp_path: Path) -> None:
    loaded = load_text(
        tmp_path,
        "",
        FEEDMILL_GATE_TRUSTED="10.0.0.0/8, ::1",
        FEEDMILL_URLS_FOLLOW='["a/", "b/"]',
        FEEDMILL_GATE_REQUIRE_FQDN="yes",
        FEEDMILL_CRAWL_HOST_LOAD="0.5",
        FEEDMILL_SAMPLES="not ours",
    )
    assert loaded.settings.gate.trusted == ("10.0.0.0/8", "::1")
    assert loaded.settings.urls.follow == ("a/", "b/")
    assert loaded.settings.gate.require_fqdn
    assert loaded.settings.crawl.host_load == 0.5


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[gate]\n\nprot = 1", "f.toml:3: gate.prot: unknown key, did you mean 'port'"),
        ("[gaet]\nport = 1", "f.toml:1: gaet: unknown key, did you mean 'gate'"),
        ('[gate]\nport = "19900"', "f.toml:2: gate.port: must be a whole number, not the text '19900'"),
        ("[gate]\nport = 1.5", "f.toml:2: gate.port: must be a whole number, not 1.5"),
        ("[gate]\nport = true", "f.toml:2: gate.port: must be a whole number, not true"),
        ("[gate]\nport = 65536", "f.toml:2: gate.port: 65536 is out of range, must be at most 65535"),
        ("[gate]\nrequire_fqdn = 1", "f.toml:2: gate.require_fqdn: must be true or false, not 1"),
        ("gate = 1", "f.toml:1: gate: must be a table, not 1"),
        (
            '[gate]\ntrusted = [\n"::1",\n"10.0.0.1/8"]',
            "f.toml:4: gate.trusted[2]: '10.0.0.1/8' has bits beyond its mask, the network is '10.0.0.0/8'",
        ),
        ('[gate]\ntrusted = ["x"]', "f.toml:2: gate.trusted[1]: 'x' is no address, no network and not the word 'all'"),
        ('[urls]\nfollow = ["/", "regexp:("]', "f.toml:2: urls.follow[2]: "),
        ('[[datasources]]\nname = "a b"', "f.toml:2: datasources[1].name: 'a b' is no data source's name"),
        ("[[datasources]]\nsecure = true", "f.toml:1: datasources[1].name: this key must be given"),
        ('[[datasources]]\nname = "a"\n[[datasources]]\nname = "a"', "f.toml:4: datasources[2].name: 'a' is there already"),
        ('[gate]\ncertificate = "c"', "f.toml:2: gate.certificate: a certificate without its key; give gate.key too"),
        ('[search]\nkey = "c"', "f.toml:2: search.key: a key without its certificate; give search.certificate too"),
        ("[gate]\nport = 8080", "search.port: port 8080 is that of gate.port already"),
        ('[search]\nimage_sources = ["*"]', "f.toml:2: search.image_sources[1]: '*' is no origin of images"),
        ('[search]\nimage_sources = ["https:"]', "f.toml:2: search.image_sources[1]: 'https:' is no origin of images"),
        ('[search]\nimage_sources = ["https://a; script-src *"]', "f.toml:2: search.image_sources[1]: 'https://a; script-src *' is no"),
        ('[logs]\nlevel = "loud"', "f.toml:2: logs.level: 'loud' is none of 'debug', 'info', 'warning' or 'error'"),
        ("[gate\nport = 1", "f.toml:1:6: not TOML: "),
        ("[gate]\nport = ", "f.toml:2: not TOML: invalid value"),
        ("[gate]\nbind = localhost", "f.toml:2:8: not TOML: invalid value; text stands in quotes"),
        ("[gate]\nbind = 127.0.0.1", "f.toml:2:13: not TOML: expected newline or end of document after a statement; text stands in quotes"),
        ("[gate]\nport = 1\nport = 2", "f.toml:3: not TOML: the key stands there already; give each table and each key once"),
        ("[gate]\n[gate]", "f.toml:2:6: not TOML: gate stands there already; give each table and each key once"),
        (
            "[sources.user_tokens]\nurl = 'x'",
            "f.toml:1: sources: must be a list of tables, each with a header in double brackets: [[sources]]",
        ),
        ('[[synonyms]]\ntwo_way = [["a"]]', "f.toml:2: synonyms[1].two_way[1]: must have at least 2 entries, and has 1"),
        ('[store]\nurl = "mysql://x"', "f.toml:2: store.url: must be empty or begin with postgresql://"),
        (
            '[[crawl.access]]\npattern = "x/"\nmake-public = true',
            "f.toml:3: crawl.access[1].make-public: unknown key, did you mean 'make_public'",
        ),
        ('[[crawl.access]]\npattern = ""', "f.toml:2: crawl.access[1].pattern: an empty pattern matches every URL"),
        ('[[crawl.headers]]\npattern = " "\nname = "X-A"\nvalue = "s"', "f.toml:2: crawl.headers[1].pattern: an empty pattern matches"),
        ('[[crawl.access]]\npattern = "-x/"', "f.toml:2: crawl.access[1].pattern: '-x/' is an exception"),
        ('[dtd]\nhosts = ["http://example.com"]', "f.toml:2: dtd.hosts[1]: 'http://example.com' is no host name"),
        ('[gate]\nallow_origins = ["example.com"]', "f.toml:2: gate.allow_origins[1]: 'example.com' is no origin"),
        ('[search]\nallow_origins = ["https://a.com/b"]', "f.toml:2: search.allow_origins[1]: 'https://a.com/b' is no origin"),
        ('[search]\nallow_origins = ["https://*.a.com"]', "f.toml:2: search.allow_origins[1]: 'https://*.a.com' is no origin"),
        ('[search]\nallow_origins = ["null"]', "f.toml:2: search.allow_origins[1]: 'null' is no origin"),
        ('[gate]\nserver_header = "a\\nb"', "f.toml:2: gate.server_header: a header holds printable ASCII only"),
        ('[signin.proxy]\ntrusted = "all"', "f.toml:2: signin.proxy.trusted[1]: with 'all', any client could sign in as any user"),
        ('[signin.proxy]\nuser_header = "a b"', "f.toml:2: signin.proxy.user_header: 'a b' is no header's name"),
        ('[signin.proxy]\nsecret_header = "X-S"', "f.toml:2: signin.proxy.secret_header: a header without its secret"),
        ('[signin.proxy]\nsecret = "s"', "f.toml:2: signin.proxy.secret: a secret without its header"),
        ('[signin.proxy]\nsecret_file = "f.toml"', "f.toml:2: signin.proxy.secret_file: a secret without its header"),
        (
            '[signin.proxy]\nsecret = "s"\nsecret_header = "x-forwarded-user"',
            "f.toml:3: signin.proxy.secret_header: this header holds the user",
        ),
        (
            '[signin.proxy]\nsecret_header = "X-S"\nsecret = "env:NO_SUCH_NAME"',
            "f.toml:3: signin.proxy.secret: the variable NO_SUCH_NAME is not set",
        ),
        ('[signin.proxy]\nsecret_header = "X-S"\nsecret = "s "', "f.toml:3: signin.proxy.secret: the secret stands in a header"),
        ('[signin.proxy]\nsecret_header = "X-S"\nsecret_file = "none"', "f.toml:3: signin.proxy.secret_file: "),
        ('[[signin.ldap]]\nname = "a"\nurls = ["ldaps://x"]', "f.toml:1: signin.ldap[1].user_base: this key must be given"),
        (LDAP + 'user_filter = "(uid=x)"', "f.toml:5: signin.ldap[1].user_filter: the filter finds a user by {name} or {login}"),
        (LDAP + 'group_filter = "(a=b))"', "f.toml:5: signin.ldap[1].group_filter: '(a=b))' is no LDAP filter"),
        (LDAP + 'ca_file = "none.pem"', "f.toml:5: signin.ldap[1].ca_file: there is no file"),
        (LDAP + 'password = "env:NO_SUCH_NAME"', "f.toml:5: signin.ldap[1].password: the variable NO_SUCH_NAME is not set"),
        (LDAP + 'password_file = "none"', "f.toml:5: signin.ldap[1].password_file: "),
        (LDAP.replace("ldaps://x", "http://x"), "f.toml:3: signin.ldap[1].urls[1]: 'http://x' is no address of a directory"),
        ('[[signin.oidc]]\nname = "a"\nissuer = "http://x"\nclient_id = "x"', "f.toml:3: signin.oidc[1].issuer: 'http://x' is no https"),
        ('[signin]\npublic_url = "search.example.com"', "f.toml:2: signin.public_url: 'search.example.com' is no address"),
        ('[[signin.saml]]\nname = "a"\nmetadata_file = "none.xml"', "f.toml:3: signin.saml[1].metadata_file: 'none.xml' cannot"),
        ('[[signin.saml]]\nname = "a"\nmetadata_file = "f.toml"', "f.toml:3: signin.saml[1].metadata_file: it is no XML"),
        (LDAP + LDAP, "f.toml:6: signin.ldap[2].name: 'a' is there already"),
        ('[gate]\nbind = "somewhere"', "f.toml:2: gate.bind: 'somewhere' is no address of this machine"),
    ],
)
def test_settings_with_a_fault_are_refused_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text)[0].startswith(fault)


def test_settings_with_several_faults_report_them_all_in_order_of_lines(tmp_path: Path) -> None:
    found = faults(tmp_path, "[urls]\nfolow = []\n[gate]\nport = 'x'\n", FEEDMILL_DTD_PORT="y", FEEDMILL_GATE_PROT="1")
    assert [fault.partition(": ")[0] for fault in found] == ["f.toml:2", "f.toml:4", "FEEDMILL_GATE_PROT", "FEEDMILL_DTD_PORT"]


def test_settings_with_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="cannot be read: No such file"):
        load_settings(tmp_path / "none.toml", {})
    (tmp_path / "f.toml").write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(BadSettings, match=r"f\.toml:2:6: not UTF-8; save the file in this encoding"):
        load_settings(tmp_path / "f.toml", {})


def test_settings_with_certificate_files_that_are_missing_or_wrong_are_refused(tmp_path: Path) -> None:
    text = '[gate]\ncertificate = "c.pem"\nkey = "k.pem"\n'
    assert faults(tmp_path, text) == [
        f"f.toml:2: gate.certificate: there is no file '{tmp_path}/c.pem'".replace(f"{tmp_path}/", ""),
        "f.toml:3: gate.key: there is no file 'k.pem'",
    ]
    (tmp_path / "c.pem").write_text("no certificate")
    (tmp_path / "k.pem").write_text("no key")
    assert "do not serve together" in faults(tmp_path, text)[0]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_settings_with_a_good_certificate_are_taken_relative_to_the_file(tmp_path: Path) -> None:
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        "k.pem",
        "-out",
        "c.pem",
    ]
    subprocess.run(make, cwd=tmp_path, check=True, capture_output=True)
    loaded = load_text(tmp_path, '[gate]\ncertificate = "c.pem"\nkey = "k.pem"\n')
    assert loaded.settings.gate.certificate == str(tmp_path / "c.pem")


def test_snapshot_is_read_back_as_written_and_for_its_owner_alone(tmp_path: Path) -> None:
    loaded = load_text(
        tmp_path, '[gate]\nport = 0\n[[datasources]]\nname = "hr"\nsecure = true\n[[collections]]\nname = "press"\ninclude = ["x/"]\n'
    )
    write_snapshot(tmp_path, loaded)
    assert read_snapshot(tmp_path) == loaded
    assert [source.secure for source in loaded.settings.datasources] == [True]
    assert stat.S_IMODE((tmp_path / "settings.json").stat().st_mode) == 0o600


_SECRETS = """
[semantic]
key = "hidden one"
[[crawl.access]]
pattern = "a.test/"
user = "ann"
password = "hidden two"
[[crawl.access]]
pattern = "b.test/"
user = "ann"
password = "env:PASSWORD_OF_ANN"
[[crawl.headers]]
pattern = "a.test/"
name = "X-Key"
value = "hidden three"
"""


def test_snapshot_shows_no_secret_and_is_the_same_for_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD_OF_ANN", "hidden four")
    loaded = load_text(tmp_path, _SECRETS)
    (tmp_path / "data").mkdir()
    digests = {write_snapshot(tmp_path / "data", loaded) for _ in range(2)}
    assert len(digests) == 1
    assert not [path for path in (tmp_path / "data").iterdir() if b"hidden" in path.read_bytes()]
    assert read_snapshot(tmp_path / "data") == loaded
    assert stat.S_IMODE((tmp_path / "data" / "settings.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("key", [b"", b"x" * 64])
def test_snapshot_whose_key_is_lost_is_reported_and_written_again(tmp_path: Path, key: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD_OF_ANN", "hidden four")
    loaded = load_text(tmp_path, _SECRETS)
    write_snapshot(tmp_path, loaded)
    (tmp_path / "settings.key").write_bytes(key)
    with pytest.raises(Corrupt):
        read_snapshot(tmp_path)
    write_snapshot(tmp_path, loaded)
    assert read_snapshot(tmp_path) == loaded


def test_snapshot_that_is_missing_or_broken_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_snapshot(tmp_path)
    (tmp_path / "settings.json").write_text('{"settings": {"gate": 1}, "origins": {}}')
    with pytest.raises(Corrupt):
        read_snapshot(tmp_path)
