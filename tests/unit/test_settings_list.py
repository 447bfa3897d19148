"""Settings as people read them: none twice, none cut, each with its origin."""

from typing import Any

import pytest

from feedmill.cli.options import NARROWEST_TABLE
from feedmill.cli.settingslist import print_settings

SITES = [f"intranet.example.com/department-{number}/" for number in range(20)]
KEYMATCH = {"type": "keyword", "term": "holiday", "url": "http://hr.example.com/holidays", "title": "Holidays"}


def make_front_end(**keys: Any) -> dict[str, Any]:
    """Returns a front end as JSON, with some of its keys as they are without settings."""
    return {"name": "press", "stylesheet": "", "keymatches": [], "title": "", "as_you_type": True} | keys


def show(capsys: pytest.CaptureFixture[str], settings: dict[str, object]) -> list[str]:
    print_settings({key: {"value": value, "origin": "f.toml:7"} for key, value in settings.items()})
    return capsys.readouterr().out.splitlines()


def test_entry_that_is_listed_by_its_name_is_not_listed_with_its_section_too(capsys: pytest.CaptureFixture[str]) -> None:
    front_end = make_front_end(title="Press")
    lines = show(capsys, {"frontends": [front_end], "frontends.press": front_end, "collections": []})
    assert [line.split(maxsplit=2) for line in lines[1:]] == [
        ["frontends.press", "f.toml:7", 'title = "Press"'],
        ["collections", "f.toml:7", "[]"],
    ]


def test_keys_of_an_entry_stand_on_lines_of_their_own_without_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, {"frontends.press": make_front_end(keymatches=[KEYMATCH, KEYMATCH], as_you_type=False)})
    shown = [line.strip() for line in lines[2:]]
    match = '{type = "keyword", term = "holiday", url = "http://hr.example.com/holidays", title = "Holidays"},'
    assert lines[1].endswith("keymatches = [")
    assert shown == [match, match, "]", "as_you_type = false"]


def test_long_list_has_a_line_for_each_part(capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, {"urls.follow": SITES, "urls.start": ["http://a/"]})
    assert len(lines) == 1 + 22 + 1
    assert max(map(len, lines)) < 80
    assert lines[-1].endswith('["http://a/"]')


def test_value_is_not_cut_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    lines = show(capsys, {"crawl.user_agent": "x" * 300})
    assert sum(line.count("x") for line in lines) == 300
    assert max(map(len, lines)) <= NARROWEST_TABLE


def test_hidden_value_is_shown_as_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, {"store.url": "(set)"})[1].endswith("(set)")
