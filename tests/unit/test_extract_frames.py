import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.pool.frames import RETIRING, AnswerReader, BadFrame, pack_answer, pack_task, read_task
from feedmill.core.text.textblob import decode_text, encode_text
from feedmill.model.extraction import Answer, Extraction, Link, Task

TEXT = st.text(max_size=20).filter(lambda text: text.isprintable())
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)


@given(st.integers(0, 2**62), TEXT, st.none() | TEXT, PAIRS, PAIRS, st.none() | TEXT)
def test_answer_packed_and_read_is_the_same(
    key: int, text: str, title: str | None, metadata: tuple[tuple[str, str], ...], links: tuple[tuple[str, str], ...], reason: str | None
) -> None:
    original = tuple(Link(url=url, text=anchor) for url, anchor in links)
    answer = Extraction(
        key=key, mimetype="a/b", title=title, text=text, metadata=metadata, links=original, robots=frozenset({"noindex"}), reason=reason
    )
    found = AnswerReader(10_000).feed(pack_answer(answer))
    body = encode_text(text, original) if text or original else b""
    assert found == [
        Answer(key=key, mimetype="a/b", title=title, body=body, metadata=metadata, robots=frozenset({"noindex"}), reason=reason)
    ]


def test_answer_in_pieces_is_read_once_it_is_whole() -> None:
    answer = Extraction(key=7, mimetype="text/plain", text="body")
    message = pack_answer(answer) + RETIRING
    reader = AnswerReader(10_000)
    original = Answer(key=7, mimetype="text/plain", body=encode_text("body", ()))
    assert [found for byte in message for found in reader.feed(bytes([byte]))] == [original, None]


def test_answer_with_lone_surrogates_loses_them() -> None:
    message = pack_answer(Extraction(key=1, mimetype="a/b", title="x\ud800", text="y\udfff"))
    found = AnswerReader(1_000).feed(message)[0]
    assert found is not None
    assert (found.title, decode_text(found.body)) == ("x", "y")


def test_answer_larger_than_allowed_is_refused_before_it_has_come() -> None:
    with pytest.raises(BadFrame, match="larger"):
        AnswerReader(1_000).feed(struct.pack("<II", 10, 2_000_000_000))


@pytest.mark.parametrize(
    "header",
    [b"{", b"[]", b"[1,2,3,4,5,6,7]", b"[" * 500, json.dumps([1, "a", None, None, [["n"]], [], None]).encode(), b"null", b"\xff"],
)
def test_answer_of_wrong_shape_is_refused(header: bytes) -> None:
    with pytest.raises(BadFrame):
        AnswerReader(1_000).feed(struct.pack("<II", len(header), 0) + header)


@given(st.binary(max_size=100))
def test_answer_of_random_bytes_is_refused_or_waited_for(data: bytes) -> None:
    reader = AnswerReader(1_000)
    try:
        assert all(found is None for found in reader.feed(data))
    except BadFrame:
        return


def test_task_packed_and_read_is_the_same() -> None:
    task = Task(key=5, url="u\ud800", mimetype=None, data=b"\0\xff", path=None, charset="utf-8")
    stream = io.BytesIO(pack_task(task) * 2)
    assert (read_task(stream), read_task(stream), read_task(stream)) == (task, task, None)
    assert read_task(io.BytesIO(pack_task(task)[:-1])) is None
