"""The ACL tokens of a user, as servers of seedlists list them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.errors import Rejected, UpstreamFailure
from feedmill.wire.seedlist.describe import render_tokens
from feedmill.wire.seedlist.usertokens import MAX_TOKENS, parse_user_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("<groupsforuser><token>a</token><token>uid=ann, o=org</token></groupsforuser>", ("a", "uid=ann, o=org")),
        ("<groups-for-user><group><id> a\n</id></group><id>a</id></groups-for-user>", ("a",)),
        ('<?xml version="1.0"?><w:acls xmlns:w="urn:x"><w:acl>all&amp;one</w:acl></w:acls>', ("all&one",)),
        ("<groupsforuser/>", ()),
        ("<groupsforuser>text<token/></groupsforuser>", ()),
    ],
)
def test_tokens_are_read_as_they_are(text: str, tokens: tuple[str, ...]) -> None:
    assert parse_user_tokens(text.encode()) == tokens


def test_what_users_choose_themselves_is_no_token() -> None:
    text = "<groupsforuser><name>boss</name><Email>boss</Email><displayName>boss</displayName><userid>7</userid></groupsforuser>"
    assert parse_user_tokens(text.encode()) == ("7",)


def test_own_server_writes_what_is_read() -> None:
    assert parse_user_tokens(render_tokens(["a<b", "c"]).encode()) == ("a<b", "c")


def test_longer_token_than_any_acl_has_is_left_out() -> None:
    assert parse_user_tokens(f"<tokens><t>{'x' * 1_001}</t><t>y</t></tokens>".encode()) == ("y",)


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>", b"  <HTML>sign in", b"\xef\xbb\xbf<html/>"])
def test_page_means_that_the_user_is_not_known(page: bytes) -> None:
    with pytest.raises(Rejected):
        parse_user_tokens(page)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<groupsforuser><token>a</token>",
        b"<validateuser><userid>a</userid></validateuser>",
        b'<!DOCTYPE x [<!ENTITY e "a">]><tokens><t>&e;</t></tokens>',
        b"<tokens>" + b"<a>" * 100 + b"</a>" * 100 + b"</tokens>",
        b"<tokens>" + b"".join(b"<t>%d</t>" % number for number in range(MAX_TOKENS + 1)) + b"</tokens>",
    ],
)
def test_anything_but_a_list_is_an_error(body: bytes) -> None:
    with pytest.raises(UpstreamFailure) as caught:
        parse_user_tokens(body)
    assert not isinstance(caught.value, Rejected)


@given(st.binary(max_size=200))
def test_no_bytes_raise_another_error(body: bytes) -> None:
    with suppress(UpstreamFailure):
        parse_user_tokens(body)
