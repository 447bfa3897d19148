"""The documents of a run: their URLs, bytes, and the words that they must be found by."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.real.mutations import mutate, plant
from tests.real.packages import Picked, read
from tests.real.reading import is_html, is_text, words_of

WORDS_SEARCHED = 3
MARKED_NOINDEX = re.compile(rb"<meta[^>]+noindex|google(?:off|:acl)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document to feed. Shape: without words it must only be known, and found by its URL or have a reason."""

    url: str
    package: str
    name: str
    data: bytes
    words: tuple[str, ...]

    @property
    def format(self) -> str:
        """Returns what the table of results calls it."""
        suffix = Path(self.name).suffix.lower()
        return suffix if re.fullmatch(r"\.[a-z][a-z0-9]{0,7}", suffix) else ("(man)" if "/man/" in self.name else "(other)")


def make_originals(host: str, picked: Iterable[Picked]) -> list[Document]:
    """Returns documents as they are, each with its own rarest words."""
    loaded = [(each, read(each)) for each in picked]
    read_words = [set() if MARKED_NOINDEX.search(data) else words_of(data) for _, data in loaded]
    frequencies = Counter(word for words in read_words for word in words)
    return [_make(host, each, data, _rarest(words, frequencies)) for (each, data), words in zip(loaded, read_words, strict=True) if data]


def make_mutants(host: str, originals: Sequence[Document], picked: Iterable[Picked], seed: int) -> list[Document]:
    """Returns them damaged; texts with a word of their own planted at the beginning, which the damage spares."""
    by_name = {(each.package, each.name): each for each in picked}
    mutants = []
    for original in originals:
        each = by_name[original.package, original.name]
        key = f"{seed}/{each.package}/{each.name}"
        marker = "qz" + "".join(chr(ord("a") + byte % 26) for byte in hashlib.sha256(key.encode()).digest()[:14])
        data, keep = original.data, 0
        words: tuple[str, ...] = ()
        if is_text(data) and not MARKED_NOINDEX.search(data):
            data, keep = plant(data, marker, html=is_html(data))
            words = (marker,) if keep > 0 else ()
        mutants.append(_make(host, each, mutate(data, key, keep=max(keep, 0)) or b" ", words))
    return mutants


def _make(host: str, each: Picked, data: bytes, words: tuple[str, ...]) -> Document:
    url = f"http://{host}/{quote(each.package)}/{quote(each.name, safe='/')}"
    return Document(url=url, package=each.package, name=each.name, data=data, words=words)


def _rarest(words: set[str], frequencies: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(words, key=lambda word: (frequencies[word], hashlib.sha256(word.encode()).digest()))[:WORDS_SEARCHED])
