"""Splitting JSON arrays and JSON lines into items, whatever the boundaries of the pieces."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.errors import BadFeed, BadRequest
from feedmill.wire.jsondocuments.body import ArrayBody, LinesBody, ObjectBody
from feedmill.wire.jsondocuments.split import ArraySplitter, LineSplitter, Piece, Splitter
from feedmill.wire.upload.form import BodyReader

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SIZES = st.integers(1, 9)
INDENTS = st.sampled_from([None, 0, 2])


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def split_all(splitter: Splitter, data: bytes, size: int) -> list[Piece]:
    return [piece for part in cut(data, size) for piece in splitter.feed(part)] + splitter.close()


def read_all(reader: BodyReader, data: bytes, size: int = 3) -> bytes:
    events = [event for part in cut(data, size) for event in reader.read_events(part)] + list(reader.finish())
    return b"".join(event for event in events if isinstance(event, bytes))


@given(st.lists(VALUES, max_size=6), SIZES, INDENTS, st.booleans())
def test_array_is_split_into_its_items(values: list[Any], size: int, indent: int | None, is_ascii: bool) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    pieces = split_all(ArraySplitter(), data, size)
    assert [json.loads(piece.text.decode("utf-8", "surrogatepass")) for piece in pieces] == values
    assert [piece.number for piece in pieces] == list(range(1, len(values) + 1))
    assert all(data[piece.offset :].startswith(piece.text) for piece in pieces)
    assert [piece.line for piece in pieces] == [data[: piece.offset].count(b"\n") + 1 for piece in pieces]


@given(st.lists(VALUES, min_size=1, max_size=6), SIZES, st.sampled_from([b"\n", b"\r\n", b"\n\n \t\n"]))
def test_lines_are_split_into_their_items(values: list[Any], size: int, end: bytes) -> None:
    data = end.join(json.dumps(value).encode() for value in values)
    pieces = split_all(LineSplitter(), data, size)
    assert [json.loads(piece.text) for piece in pieces] == values
    assert all(data[piece.offset :].startswith(piece.text) for piece in pieces)
    assert [piece.line for piece in pieces] == [data[: piece.offset].count(b"\n") + 1 for piece in pieces]


@given(st.binary(max_size=60) | st.text('[]{},"\\ a1:', max_size=30).map(str.encode), SIZES)
def test_what_comes_out_does_not_depend_on_the_pieces(data: bytes, size: int) -> None:
    def run(splitter: Splitter, size: int) -> list[Piece] | str:
        try:
            return split_all(splitter, data, size)
        except BadFeed as error:
            return str(error).partition(",")[0]

    for kind in (ArraySplitter, LineSplitter):
        assert run(kind(), size) == run(kind(), len(data) + 1)


@given(st.binary(max_size=60) | st.text('[]{},"\\ a1:é', max_size=30).map(str.encode), SIZES)
def test_whether_an_array_is_refused_does_not_depend_on_the_pieces(data: bytes, size: int) -> None:
    def run(size: int) -> bytes | None:
        try:
            return read_all(ArrayBody(), data, size)
        except BadRequest:
            return None

    assert run(size) == run(len(data) + 1)


@given(st.lists(VALUES, max_size=4), st.text('{}[]"\\ a,', max_size=4))
def test_item_that_is_said_to_be_checked_is_json(values: list[Any], behind: str) -> None:
    data = f"[{', '.join(json.dumps(value) + behind for value in values)}]".encode()
    splitter = ArraySplitter(checks=True)
    try:
        pieces = splitter.feed(data)
    except BadFeed:
        return
    for piece in pieces:
        if piece.is_checked:
            json.loads(piece.text)


@pytest.mark.parametrize(
    "content",
    ["a few words", pytest.param('<p class="x">The words of a page, with few signs among them that JSON escapes.</p>\n' * 90, id="page")],
)
def test_array_takes_little_more_time_than_lines(content: str) -> None:
    documents = [
        json.dumps({"url": f"http://a.example.com/{number}", "content": content, "metadata": {"a": ["b", "c"]}}) for number in range(200)
    ]

    def measure(splitter: Splitter, body: str) -> float:
        data = cut(body.encode(), 65_536)
        begun = time.thread_time()
        for piece in data:
            splitter.feed(piece)
        return time.thread_time() - begun

    array, lines = f"[{', '.join(documents)}]", "\n".join(documents)
    measured = [(measure(ArraySplitter(), array), measure(LineSplitter(), lines)) for _ in range(5)]
    assert min(one for one, _ in measured) < 5 * min(other for _, other in measured)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), SIZES, INDENTS)
def test_object_becomes_an_array_with_its_url(members: dict[str, Any], size: int, indent: int | None) -> None:
    members.pop("url", None)
    url = 'http://a.example.com/"\\ü'
    data = b"\xef\xbb\xbf \n" + json.dumps(members, indent=indent).encode()
    assert json.loads(read_all(ObjectBody(url), data, size)) == [{"url": url, **members}]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "  ",
        "{}",
        "null",
        '"a"',
        "[",
        "[{}",
        "[{},]",
        "[,{}]",
        "[{}{}]",
        "[{}] x",
        "[{}}]",
        '["a',
        "[1 2]",
        "[{'a': 1}]",
        "[nope]",
        "[\xff]",
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_body_that_is_no_array_is_refused(body: str, size: int) -> None:
    with pytest.raises(BadRequest):
        read_all(ArrayBody(), body.encode("latin-1"), size)


@pytest.mark.parametrize("body", ["", " \n ", "not json", "<xml/>\n<xml/>", "\xff\xfe", pytest.param("x" * 2_000_000, id="long")])
def test_body_without_a_line_of_json_is_refused(body: str) -> None:
    with pytest.raises(BadRequest):
        read_all(LinesBody(), body.encode("latin-1"), 1_000)


@pytest.mark.parametrize(
    "body", ['{"url": "a"}', "bad\n{}", '{"url": ', "[1]\n", "\xef\xbb\xbf{}", pytest.param('{"content": "' + "x" * 2_000_000, id="long")]
)
def test_body_with_a_line_that_looks_like_json_passes(body: str) -> None:
    assert read_all(LinesBody(), body.encode("latin-1"), 1_000) == body.encode("latin-1")


@pytest.mark.parametrize(
    "body", ["", " ", "[]", "[{}]", "{", '{"a": 1', "{} {}", "{},{}", "{}]", "\xef\xbb", "\xef\xbb\xbf", "x{}", '{"a": nope}']
)
def test_body_that_is_not_one_object_is_refused(body: str) -> None:
    with pytest.raises(BadRequest):
        read_all(ObjectBody("http://a.example.com/"), body.encode("latin-1"), 1)


def test_item_beyond_a_bound_costs_itself_alone() -> None:
    deep = "[" * 40 + "]" * 40
    data = f'[{{"a": "{"x" * 200}"}}, {deep}, {{"b": 1}}]'.encode()
    pieces = split_all(ArraySplitter(100), data, 7)
    assert [bool(piece.fault) for piece in pieces] == [True, True, False]
    assert pieces[2].text == b'{"b": 1}'
    assert "larger than" in pieces[0].fault
    assert "deeper" in pieces[1].fault


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('[\n {"url": "a"},\n]', "line 3, column 1"),
        ('[\r\n  {"url": "ä",\r\n   "title": "ü", }\r\n]', "line 3, column 18"),
        ('[{"url": "ä"}, {"url": nope}]', "line 1, column 24"),
        ('\ufeff[\n{"url": "b"} {}]', "line 2, column 14"),
        ("[{}\n]\n x", "line 3, column 2"),
        ('[{"a": "ü"}', "line 1, column 12"),
        ('[{"a": 1}}', "line 1, column 10"),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 100])
def test_refusal_names_line_and_column(body: str, place: str, size: int) -> None:
    with pytest.raises(BadRequest, match=f"{place}$"):
        read_all(ArrayBody(), body.encode(), size)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"content": nope}', "line 1, column 13"),
        ('\n {\n "title": "ü",\n}', "line 4, column 1"),
        ('\ufeff{"a": "ö", }', "line 1, column 12"),
        ('{"a": 1}\n{"b": 2}', "line 2, column 1"),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_refusal_of_one_object_names_line_and_column_of_the_body(body: str, place: str, size: int) -> None:
    with pytest.raises(BadRequest, match=f"^the object .*{place}$"):
        read_all(ObjectBody("http://a.example.com/ä"), body.encode(), size)


@pytest.mark.parametrize("number", ["9" * 5_000, f"-{'9' * 5_000}"])
def test_number_of_many_digits_is_json(number: str) -> None:
    body = f'[{{"a": {number}}}]'.encode()
    assert read_all(ArrayBody(), body, 100) == body


@pytest.mark.parametrize("blanks", [1, 65_536, 200_001])
def test_white_space_behind_an_item_is_no_part_of_it(blanks: int) -> None:
    body = b'[{"a": 1}' + b" " * blanks + b", 2" + b"\n" * blanks + b"]"
    assert [piece.text for piece in split_all(ArraySplitter(), body, 1_000_000)] == [b'{"a": 1}', b"2"]


@pytest.mark.parametrize("escapes", [1, 2, 100_001])
@pytest.mark.parametrize("size", [1_000, 1_001, 1_000_000])
def test_escapes_are_read_wherever_the_body_is_cut(escapes: int, size: int) -> None:
    item = b'{"a": "' + rb"\\" * escapes + rb"\"]" + b'"}'
    assert [piece.text for piece in split_all(ArraySplitter(), b"[" + item + b"]", size)] == [item]


def test_white_space_before_an_object_is_limited() -> None:
    with pytest.raises(BadRequest, match="white space"):
        read_all(ObjectBody("http://a.example.com/"), b" " * 3_000_000, 1 << 16)
