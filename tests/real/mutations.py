"""Damages documents, the same way for the same seed."""

import random
import re

INSERTED = (
    b"2,375.9,5",
    b"1.618,2.718",
    b"12,34,567.8,9",
    b"1&#10;234",
    "1\u2007234".encode(),
    "1\u00a0234".encode(),
    "1\u3000234".encode(),
    "٣٫١٤ ৪২ ² ½ Ⅷ ①".encode(),
    "\u202e\u2066\u200b\u00ad\ufeff".encode(),
    "İıßſǅﬃ".encode(),
    ("a" + "\u0301" * 3_000).encode(),
    b"\x00\x01\x08\x1b[31m\x7f",
    b"\r\r\n\x0b\x0c\x85",
    b"\xff\xfe\xfd\xc0\xaf\xed\xa0\x80",
    b"9" * 5_000,
    b"-" * 10_000,
    b"1," * 5_000,
    b"a" * 100_000,
    b"<" * 2_000,
    b"<b><i>" * 500,
    b"&amp;&#x0;&#1114112;&nosuch;",
    b"<!-- <![CDATA[ ",
    b'<meta name="x" content="1&#9;234">',
    b"https://user:pass@[::1]:99999/%zz?#",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\U000e0041".encode(),
    b"1e999999 0x1p-9999 1_000 ..5 5.. -,- $,5",
    b"31.02.2024 0000-00-00 99:99:99Z 2024-W99",
)
MOST_BYTES = 8_000_000


def mutate(data: bytes, seed: str, *, keep: int = 0) -> bytes:
    """Returns damaged bytes; those before ``keep`` stay as they are."""
    chance = random.Random(seed)
    body = bytearray(data[keep:MOST_BYTES])
    for _ in range(chance.randint(1, 6)):
        chance.choice(_WAYS)(body, chance)
    return data[:keep] + bytes(body)


def _switch_generation(body: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 30)):
        if body:
            body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)


def _splice(body: bytearray, chance: random.Random) -> None:
    start, length, place = (chance.randrange(len(body) + 1) for _ in range(3))
    body[place:place] = body[start : start + length % 5_000]


def _drop(body: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(body) + 1)
    del body[start : start + chance.randint(1, 2_000)]


def _truncate(body: bytearray, chance: random.Random) -> None:
    del body[chance.randrange(len(body) + 1) :]


def _insert(body: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(body) + 1)
        body[place:place] = b" " + chance.choice(INSERTED) + b" "


def _change_numbers(body: bytearray, chance: random.Random) -> None:
    marks = [b".", b",", b" ", b"'", b"\xc2\xa0", b"\t", b"-", b"/", b":", b"e"]
    body[:] = (
        re.sub(rb"(?<=\d)(?=\d)", lambda _: chance.choice(marks) if chance.random() < 0.2 else b"", bytes(body[:200_000])) + body[200_000:]
    )


_WAYS = (_switch_generation, _splice, _drop, _truncate, _insert, _insert, _insert, _change_numbers)

_BODY = re.compile(rb"<body\b[^>]*>", re.IGNORECASE)
_ELEMENT = re.compile(rb"<[A-Za-z][^<>]*[^/<>]>|<[A-Za-z]>")


def plant(data: bytes, word: str, *, html: bool) -> tuple[bytes, int]:
    """Returns a text with a word at its beginning, and how many bytes of it must stay for the word to be found."""
    place = 0
    if html:
        body = _BODY.search(data)
        place = body.end() if body else len(data)
    elif re.match(rb"(?:\xef\xbb\xbf)?\s*<[?!A-Za-z]", data):
        element = _ELEMENT.search(data)
        place = element.end() if element else 0
    elif data.startswith(b"\xef\xbb\xbf"):
        place = 3
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data, -1
    planted = f" {word} \n".encode()
    return data[:place] + planted + data[place:], place + len(planted)
