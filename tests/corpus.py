"""Made-up documents that are like real ones: words by a Zipf law, pages with heads, navigation, links and paragraphs."""

import random
from collections.abc import Iterator

_COMMON = """the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were all
her she there would their we him been has when who will no more if out so said what up its about than into them can only other time new some
could these two may first then do any like my now over such our man me even most made after also did many must before back see through way
where get much go well your know should down work year because come people just say each those take day good how long little own while old
right use last never place same another year find still might system number part against world hand high small large end open public
report page document office service order water harness city school company group level change point power state country history member
question result answer letter letter road table music market paper control process program design policy section security access"""

_SYLLABLES = [c + v for c in "b c d f g h k l m n p r s t v w st tr pl gr".split() for v in "a e i o u ea ou".split()]


def vocabulary(size: int = 40_000, seed: int = 1) -> list[str]:
    """Returns words, most frequent first."""
    random_ = random.Random(seed)
    words = dict.fromkeys(_COMMON.split())
    while len(words) < size:
        words["".join(random_.choice(_SYLLABLES) for _ in range(random_.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(words)


class Corpus:
    """Pages of 5 to 10 KB, the same for the same seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._words = vocabulary()
        self._pool = [self._words[min(int(self._random.paretovariate(0.7)) - 1, len(self._words) - 1)] for _ in range(200_000)]

    def text(self, count: int) -> str:
        """Returns so many words."""
        start = self._random.randrange(len(self._pool) - count)
        return " ".join(self._pool[start : start + count])

    def text_at(self, place: int, count: int) -> str:
        """Returns so many words that stand at a place, the same ones at each call."""
        start = place % (len(self._pool) - count)
        return " ".join(self._pool[start : start + count])

    def page(self, number: int) -> str:
        """Returns one HTML page."""
        paragraphs: list[str] = []
        size, goal = 0, self._random.randint(4_000, 9_000)
        while size < goal:
            text = self.text(self._random.randint(30, 120))
            link = f'<a href="/doc/{self._random.randrange(100_000)}.html">{self.text(3)}</a>'
            paragraphs.append(f'<div class="section"><h2 id="s{len(paragraphs)}">{self.text(4)}</h2><p>{text} {link}.</p></div>')
            size += len(paragraphs[-1])
        navigation = "".join(f'<li><a href="/nav/{place}.html">{self.text(1)}</a></li>' for place in range(12))
        head = f'<title>Page {number} {self.text(5)}</title><meta name="keywords" content="{self.text(4)}"><meta charset="utf-8">'
        body = f'<ul class="nav">{navigation}</ul><h1>unique{number} {self.text(4)}</h1>{"".join(paragraphs)}'
        return f"<!DOCTYPE html><html><head>{head}<style>p {{ margin: 1em }}</style></head><body>{body}</body></html>"

    def feed(self, count: int, prefix: str = "http://bench.example.com/doc/") -> Iterator[bytes]:
        """Yields a content feed of so many pages, piece by piece."""
        yield b'<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" ""><gsafeed><header>'
        yield b"<datasource>bench</datasource><feedtype>full</feedtype></header><group>"
        for number in range(count):
            page = self.page(number).replace("]]>", "]] >")
            head = f'<record url="{prefix}{number}.html" mimetype="text/html" last-modified="Tue, 6 Nov 2007 12:45:26 GMT">'
            metadata = '<metadata><meta name="kind" content="page"/></metadata>'
            yield f"{head}{metadata}<content><![CDATA[{page}]]></content></record>\n".encode()
        yield b"</group></gsafeed>"
