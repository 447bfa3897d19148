"""The reference names what is read, and its limits are those that hold."""

import re
from pathlib import Path

import pytest

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.wire import tokens
from feedmill.wire.gsafeed import schema
from feedmill.wire.gsagroups.parse import MAX_MEMBERS
from feedmill.wire.xmlstream import prolog, reader

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "feed-protocol.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    sorted(
        schema.GROUP_ATTRIBUTES
        | schema.RECORD_ATTRIBUTES
        | schema.METADATA_ATTRIBUTES
        | schema.META_ATTRIBUTES
        | schema.ACL_ATTRIBUTES
        | schema.PRINCIPAL_ATTRIBUTES
    ),
)
def test_reference_names_every_attribute(name: str) -> None:
    assert re.search(rf"`{name}`|{name}=\"", TEXT)


@pytest.mark.parametrize(
    "limit",
    [
        prolog.MAX_PROLOG_BYTES,
        reader.MAX_DEPTH,
        reader.MAX_ATTRIBUTES,
        reader.MAX_NAMES,
        reader.MAX_NAME,
        MAX_URL_CHARACTERS,
        schema.MAX_METAS,
        schema.MAX_META_CHARACTERS,
        schema.MAX_PRINCIPALS,
        schema.MAX_PRINCIPAL_CHARACTERS,
        tokens.MAX_NAME_CHARACTERS,
        MAX_MEMBERS,
    ],
)
def test_reference_states_every_limit(limit: int) -> None:
    assert f"{limit:,}" in TEXT


def test_reference_links_resolve() -> None:
    anchors = {re.sub(r"[^a-z -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^## (.+)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([a-z-]+)\)", TEXT)) <= anchors
