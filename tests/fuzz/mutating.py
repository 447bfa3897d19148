"""Makes inputs out of seeds: the same ones for the same number."""

import random
from collections.abc import Sequence

from tests.real.mutations import INSERTED

MOST_BYTES = 200_000
_INTERESTING = (b"\x00", b"\xff", b"-1", b"0", b"2147483648", b"18446744073709551616", b"nan", b"1e400", b"%00", b"%", b"\\", b'"', b"'")


def make_input(seeds: Sequence[bytes], words: Sequence[bytes], number: int | str) -> bytes:
    """Returns an input: a seed, changed one to eight times."""
    chance = random.Random(str(number))
    body = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 8)):
        _change(body, seeds, words, chance)
    return bytes(body[:MOST_BYTES])


def _change(body: bytearray, seeds: Sequence[bytes], words: Sequence[bytes], chance: random.Random) -> None:
    place, other = chance.randrange(len(body) + 1), chance.randrange(len(body) + 1)
    low, high = sorted((place, other))
    match chance.randrange(10):
        case 0 if body:
            body[place - 1] ^= 1 << chance.randrange(8)
        case 1 if body:
            body[place - 1] = chance.randrange(256)
        case 2:
            del body[low : min(high, low + chance.randint(1, 64))]
        case 3:
            body[place:place] = body[low : min(high, low + 300)] * chance.choice((1, 2, 50))
        case 4:
            stranger = chance.choice(seeds)
            start = chance.randrange(len(stranger) + 1)
            body[place:place] = stranger[start : start + chance.randint(1, 500)]
        case 5:
            del body[place:]
        case 6:
            body[place:place] = chance.choice(INSERTED)[:5_000]
        case 7 | 8 if words:
            body[place:place] = chance.choice(words) * chance.choice((1, 1, 1, 3, 300))
        case _:
            body[place:place] = chance.choice(_INTERESTING)
