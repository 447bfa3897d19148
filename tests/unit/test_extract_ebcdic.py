"""Texts of mainframes: which bytes are such a text, and in which code page."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.ebcdic import decode_ebcdic, guess_ebcdic
from feedmill.adapters.extract.extract import extract
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.unit.test_extract_charset import TEXTS

LETTER = "Dear colleague,\nthe quarterly report (pages 12 to 40) is late. Please send it by Friday!\nRegards, the back office\n"
JOB = "//PAYROLL  JOB (ACCT),'MONTHLY RUN',CLASS=A,MSGCLASS=X\n//STEP1    EXEC PGM=PAYCALC\n//INPUT    DD DSN=PAY.MASTER.FILE,DISP=SHR\n"
PROGRAM = 'int main(int argc, char *argv[]) { if (argc > 1 || a[0] != b[1]) return x[2] ^ y; printf("%s", argv[1]); }\n'
GERMAN = "Sehr geehrte Damen und Herren, für die Überprüfung der Maße größerer Geräte wären wir Ihnen sehr verbunden.\n"
SWAPPED = str.maketrans("[Ý]¨^¬", "Ý[¨]¬^")


def encode(text: str, page: str) -> bytes:
    return text.translate(SWAPPED).encode("cp037") if page == "cp1047" else text.encode(page)


def read(data: bytes, mimetype: str | None = None, url: str = "http://h/f") -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=data), ExtractionLimits())


@pytest.mark.parametrize("end", ["\n", "\x85", "\r\x85", "\r\n"])
@pytest.mark.parametrize(
    ("text", "page"),
    [
        *[(text, page) for text in (LETTER, JOB, LETTER.upper()) for page in ("cp037", "cp500", "cp273", "cp1047")],
        *[(PROGRAM, page) for page in ("cp037", "cp500", "cp1047")],
    ],
)
def test_text_of_a_mainframe_is_read_in_its_code_page(text: str, page: str, end: str) -> None:
    found = read(encode(text.replace("\n", end), page), "text/plain")
    assert (found.mimetype, found.reason) == ("text/plain", None)
    assert found.text.split() == text.split()
    assert len(found.text.splitlines()) == len(text.strip().splitlines())


def test_letters_of_german_are_those_of_the_german_code_page() -> None:
    assert decode(GERMAN.encode("cp273")) == GERMAN
    assert decode(GERMAN.encode("cp037")) == GERMAN


def test_records_of_a_fixed_length_are_words() -> None:
    records = "".join(
        f"{name:<30}{number:09}{town:<20}" for name, number, town in [("SMITH JOHN", 4711, "LONDON"), ("MILLER ANN", 12, "LEEDS")]
    )
    assert read(records.encode("cp037")).text.split() == records.split()


def test_label_of_a_code_page_decides() -> None:
    assert decode("short".encode("cp037"), "IBM037") == "short"
    assert decode("a\x85b".encode("cp500"), "cp500") == "a\nb"


def test_page_of_a_mainframe_is_a_page() -> None:
    page = f"<html><head><title>Report</title></head><body><p>{LETTER}</body></html>"
    found = read(page.encode("cp037"), "text/html")
    assert (found.title, found.text.split()) == ("Report", LETTER.split())


@pytest.mark.parametrize("charset", TEXTS)
def test_other_charsets_are_no_text_of_a_mainframe(charset: str) -> None:
    for text in (TEXTS[charset] * 20, " ".join([*TEXTS[charset]] * 20), "　".join([*TEXTS[charset]] * 20), f"{TEXTS[charset]} @@ " * 20):
        assert guess_ebcdic(text.encode(charset, "replace")) is None


@pytest.mark.parametrize(
    "data", [b"", b"@" * 4_000, b"@ " * 2_000, b"\x81\x40" * 2_000, b"mail@example.com @ " * 90, bytes(range(256)) * 20]
)
def test_bytes_that_are_no_text_are_none(data: bytes) -> None:
    assert guess_ebcdic(data) is None


def test_random_bytes_and_pictures_are_none() -> None:
    chance = random.Random(3)
    for size in (40, 400, 4_000):
        for _ in range(200):
            assert guess_ebcdic(chance.randbytes(size)) is None
            assert guess_ebcdic(bytes(chance.choice(b"\x40\x40\x82\x93\xc4\xf0\xf7\xff") for _ in range(size))) is None


@given(st.binary(max_size=300), st.sampled_from(["cp037", "cp1047", "cp500", "cp273"]))
def test_any_bytes_are_a_text_of_any_code_page(data: bytes, page: str) -> None:
    assert isinstance(decode_ebcdic(data, page), str)
