"""The names of settings that differ, without any value."""

from typing import Any

import pytest

from feedmill.settings import Settings
from feedmill.settings.comparison import list_changed

HR = {"name": "hr", "secure": True}
WIKI = {"name": "wiki", "secure": False}
ACCESS = {"pattern": "intranet.example.com/", "user": "crawler", "password": "t0psecret"}


def read(**sections: Any) -> Settings:
    return Settings.model_validate(sections, strict=False)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({}, {}, []),
        ({}, {"gate": {"port": 7, "require_fqdn": True}}, ["gate.port", "gate.require_fqdn"]),
        ({"gate": {"port": 7}}, {}, ["gate.port"]),
        ({"datasources": [HR]}, {"datasources": [HR, WIKI]}, ["datasources.wiki"]),
        ({"datasources": [HR]}, {"datasources": [WIKI]}, ["datasources.hr", "datasources.wiki"]),
        ({"datasources": [HR]}, {"datasources": [{**HR, "secure": False}]}, ["datasources.hr"]),
        ({"datasources": [HR, WIKI]}, {"datasources": [WIKI, HR]}, ["datasources"]),
        ({"urls": {"start": ["http://a/"]}}, {"urls": {"start": []}}, ["urls.start"]),
        ({"crawl": {"access": [ACCESS]}}, {"crawl": {"access": [{**ACCESS, "password": "0ther"}]}}, ["crawl.access"]),
        ({"synonyms": [{"two_way": [["a", "b"]]}]}, {}, ["synonyms"]),
    ],
)
def test_settings_that_differ_are_named(before: dict[str, Any], after: dict[str, Any], changed: list[str]) -> None:
    assert list_changed(read(**before), read(**after)) == changed
