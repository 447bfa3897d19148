"""The messages of the DevTools protocol, cut into pieces anywhere."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.crawling.rendering.framing import MessageReader, write_message
from feedmill.model.errors import UpstreamFailure

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6)


@given(messages=MESSAGES, cuts=st.lists(st.integers(0, 2_000), max_size=8))
def test_messages_are_read_as_written_wherever_they_are_cut(messages: list[dict[str, Any]], cuts: list[int]) -> None:
    data = b"".join(write_message(number, "A.b", parameters, "s") for number, parameters in enumerate(messages))
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    reader = MessageReader(max_bytes=1_000_000)
    found = [message for start, end in pairwise(places) for message in reader.read(data[start:end])]
    assert found == [{"id": n, "method": "A.b", "params": each, "sessionId": "s"} for n, each in enumerate(messages)]


@given(data=st.binary(max_size=400))
def test_any_bytes_give_objects_or_a_failure(data: bytes) -> None:
    try:
        found = MessageReader(max_bytes=300).read(data)
    except UpstreamFailure:
        return
    assert all(isinstance(message, dict) for message in found)


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff", b"", b"[" * 100_000])
def test_what_is_no_object_is_a_failure(text: bytes) -> None:
    with pytest.raises(UpstreamFailure, match="that is no"):
        MessageReader(max_bytes=1_000_000).read(text + b"\0")


def test_message_that_is_too_long_is_a_failure_before_its_end() -> None:
    reader = MessageReader(max_bytes=10)
    assert reader.read(b"{}\0" * 100) == [{}] * 100
    reader.read(b"x" * 10)
    with pytest.raises(UpstreamFailure, match="more than 10 bytes"):
        reader.read(b"x")


def test_command_to_the_browser_names_no_session() -> None:
    assert json.loads(write_message(1, "Browser.getVersion", {})[:-1]) == {"id": 1, "method": "Browser.getVersion", "params": {}}
