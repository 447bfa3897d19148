"""``feedmill validate`` says offline what a server says after taking the same feed."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.promises import post_fields, run_command, run_json, run_process
from tests.appliance import Appliance

BASE = "http://judged.example.com/"
HEADER = "<header><datasource>{source}</datasource><feedtype>{feedtype}</feedtype></header>"
GOOD = f'<record url="{BASE}a" mimetype="text/plain"><content>x</content></record>'
LINK = f'<record url="{BASE}link"/>'
NOWHERE = '<record url=""/>'
ACL = f'<acl url="{BASE}folder"><principal scope="user" access="permit">ann</principal></acl>'
COMPLETED, WITH_ERRORS, FAILED = "completed", "completed with errors", "failed in error"


def one(attributes: str = "", inside: str = "<content>x</content>") -> str:
    """A group of one record."""
    return f"<group><record url='{BASE}one' {attributes}>{inside}</record></group>"


META, EMPTY_META = "<meta name='a' content='b'/>", "<meta name='a' content=''/>"
CODED = "<content encoding='{}'>{}</content>"
CASES: dict[str, tuple[str, str, str]] = {
    "good": ("full", f"<group>{GOOD}</group>", COMPLETED),
    "incremental": ("incremental", f"<group>{GOOD}<record url='{BASE}b' action='delete'/></group>", COMPLETED),
    "link": ("metadata-and-url", f"<group>{LINK}</group>", COMPLETED),
    "link with content": ("metadata-and-url", f"<group>{GOOD}</group>", COMPLETED),
    "empty group": ("full", "<group/>", COMPLETED),
    "no group": ("full", "", FAILED),
    "one bad": ("full", f"<group>{GOOD}{NOWHERE}</group>", WITH_ERRORS),
    "all bad": ("full", f"<group>{NOWHERE}</group>", FAILED),
    "bad delete": ("incremental", f"<group action='delete'>{NOWHERE}</group>", FAILED),
    "acl alone": ("incremental", f"<group>{ACL}</group>", COMPLETED),
    "acl and bad": ("incremental", f"<group>{ACL}{NOWHERE}</group>", WITH_ERRORS),
    "acl without url": ("incremental", "<group><acl/></group>", FAILED),
    "bad acl in a record": ("incremental", one(inside="<acl><principal>x</principal></acl>"), FAILED),
    "metadata alone in full": ("full", one(inside=f"<metadata>{META}</metadata>"), FAILED),
    "metadata alone": ("incremental", one(inside=f"<metadata>{META}</metadata>"), COMPLETED),
    "bare in full": ("full", one(inside=""), COMPLETED),
    "unknown action": ("incremental", f"<group><record url='{BASE}e' action='explode'/>{GOOD}</group>", WITH_ERRORS),
    "unknown group action": ("incremental", f"<group action='explode'>{GOOD}</group>", FAILED),
    "repaired": ("full", f"<group><record url='{BASE}?a=1&b=2'><content>R&D&nbsp;</content></record></group>", COMPLETED),
    "open tag": ("full", f"<group>{GOOD}", FAILED),
    "bad base64": ("full", one(inside=CODED.format("base64binary", "!!")), FAILED),
    "bad zlib": ("full", one(inside=CODED.format("base64compressed", "AAAA")), FAILED),
    "bad date": ("full", one("last-modified='never'"), COMPLETED),
    "bad pagerank": ("full", one("pagerank='7'"), COMPLETED),
    "bad authmethod": ("full", one("authmethod='magic'"), FAILED),
    "empty meta": ("full", one(inside=f"<metadata>{EMPTY_META}</metadata><content>x</content>"), COMPLETED),
    "empty meta alone": ("full", one(inside=f"<metadata>{EMPTY_META}</metadata>"), COMPLETED),
    "legacy acl": ("full", one(inside="<meta name='google:aclusers' content='a'/><content>x</content>"), COMPLETED),
    "short host": ("full", "<group><record url='http://shorthost/a'><content>x</content></record></group>", COMPLETED),
    "no host": ("full", "<group><record url='nowhere'><content>x</content></record></group>", FAILED),
    "unknown things": ("full", f"<group x='y'><record url='{BASE}j' z='1'><thing/><content>x</content></record><t/></group>", COMPLETED),
}


def feed(source: str, name: str) -> bytes:
    feedtype, inside, _ = CASES[name]
    return f'<?xml version="1.0"?>\n<gsafeed>\n{HEADER.format(source=source, feedtype=feedtype)}\n{inside}\n</gsafeed>\n'.encode()


def errors_of(report: Any) -> Counter[tuple[int, int, str]]:
    return Counter((entry["record"], entry["line"], entry["reason"]) for entry in report["log"] if entry["level"] == "error")


@pytest.mark.parametrize("name", CASES)
def test_validate_says_what_the_server_says(server: Appliance, tmp_path: Path, name: str) -> None:
    source = "judged-" + name.replace(" ", "-")
    path = tmp_path / "feed.xml"
    path.write_bytes(feed(source, name))
    code, verdict = run_json("validate", path)
    receipt = server.feed(feed(source, name), source, CASES[name][0])
    assert receipt["state"] == verdict["state"] == CASES[name][2], (receipt, verdict)
    assert code == (0 if receipt["state"] == COMPLETED else 1)
    for member in ("records", "included", "errors", "feedtype", "datasource"):
        if verdict[member] is not None:
            assert verdict[member] == receipt[member], member
    assert errors_of(verdict) == errors_of(receipt)


def test_validate_reads_a_web_feed_by_its_source(tmp_path: Path) -> None:
    path = tmp_path / "web.xml"
    path.write_text(f"<gsafeed>{HEADER.format(source='web', feedtype='full')}<group>{GOOD}</group></gsafeed>")
    code, verdict = run_json("validate", path)
    assert (code, verdict["state"], verdict["included"]) == (0, COMPLETED, 1)
    assert any(entry["level"] == "warning" for entry in verdict["log"])


def test_validate_as_a_process_ends_with_the_promised_codes(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_bytes(feed("codes", "good"))
    bad.write_bytes(feed("codes", "one bad"))
    assert run_process("validate", good)[0] == 0
    code, out, _ = run_process("validate", bad)
    assert code == 1
    assert "url" in out
    assert "completed with errors" in out
    assert run_command("validate", tmp_path / "absent.xml")[0] == 2
    assert run_command("validate")[0] == 2


def test_validate_judges_groups_feeds(tmp_path: Path) -> None:
    path = tmp_path / "groups.xml"
    path.write_text("<xmlgroups/>")
    assert run_json("validate", path)[0] == 0
    path.write_text("<xmlgroups><membership><principal scope='USER'>ann</principal></membership></xmlgroups>")
    assert run_json("validate", path)[0] == 1


def test_feed_made_of_a_folder_is_valid_and_found(server: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.html").write_text("<title>Made</title><p>madefeedword one</p>")
    (folder / "sub" / "b ü.txt").write_text("madefeedword two")
    for code in ("base64binary", "base64compressed"):
        out = tmp_path / f"{code}.xml"
        options = ["--compress"] if code == "base64compressed" else []
        status, _, err = run_command("make-feed", folder, "--datasource", "madefeed", "--output", out, *options)
        assert status == 0, err
        assert code in out.read_text()
        assert run_command("validate", out)[0] == 0
        answer = post_fields(server, "/xmlfeed", [("datasource", b"madefeed"), ("feedtype", b"full"), ("data", out.read_bytes())])
        receipt = server.wait(answer[1]["x-feedmill-feed"])
        assert (receipt["state"], receipt["included"]) == (COMPLETED, 2)
        assert len(server.urls("madefeedword", match="all")) == 2
