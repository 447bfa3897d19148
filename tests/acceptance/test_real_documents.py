"""The short form of ``make test-real``: documents as nasty as real ones, as they are and damaged, each found or with a reason."""

import hashlib
from collections.abc import Sequence

from tests.appliance import Appliance
from tests.officefiles import make_docx, make_epub, make_opendocument, make_pdf, make_png, make_xlsx, paragraph
from tests.real.corpus import Document
from tests.real.feeding import push_one
from tests.real.mutations import INSERTED, mutate, plant
from tests.real.reading import is_html, is_text, words_of
from tests.real.verdict import Verdict
from tests.waiting import wait_until

SOURCE = "nasty"
_LINES = b"\n".join(b" " + each[:2_000] + b" " for each in INSERTED)
_PROSE = "The {} heron waited beside quiet water.\n"


def _word(name: str) -> str:
    return "nasty" + "".join(chr(ord("a") + byte % 26) for byte in hashlib.sha256(name.encode()).digest()[:10])


def _text(name: str) -> str:
    return _PROSE.format(_word(name))


_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>{}</t></is></c></row>'
NASTY: dict[str, bytes] = {
    "numbers.txt": _text("numbers.txt").encode() + b"2,375.9,5 1.618,2.718 0.125,0.250 12,34,567.8,9\n" + b"1,234.5,6 " * 5_000,
    "everything.txt": _text("everything.txt").encode() + _LINES,
    "controls.html": f"<html><head><title>\x00\x01 title \x1b</title></head><body>\x08{_text('controls.html')}\x0c</body></html>".encode(),
    "blanks.html": f'<html><head><meta name="n" content="1&#10;234"></head><p> {_text("blanks.html")} 1&#12288;234 1&#8199;2'.encode(),
    "deep.html": b"<html><body><p> " + _text("deep.html").encode() + b"<div><b>" * 3_000,
    "many.txt": _text("many.txt").encode() + " ".join(f"wörd{number:x}" for number in range(20_000)).encode(),
    "long.txt": _text("long.txt").encode() + b"x" * 300_000,
    "comments.txt": b"<!---->" * 300 + _text("comments.txt").encode(),
    "broken.xml": f"<?xml version='1.0'?><a><b>{_text('broken.xml')}</b><c>&nosuch; <d></a>".encode(),
    "utf16.txt": _text("utf16.txt").encode("utf-16"),
    "latin.html": f'<html><head><meta charset="iso-8859-2"></head><body><p> {_text("latin.html")} žluťoučký'.encode("iso-8859-2"),
    "man.1": f'.TH X 1\n.SH NAME\n{_text("man.1")}.\\" remark \\fBbold\\fR \\(co 1,5.2,5\n'.encode(),
    "two.pdf": make_pdf([_text("two.pdf").strip(), "2,375.9,5"]),
    "one.docx": make_docx(paragraph(_text("one.docx").strip())),
    "one.xlsx": make_xlsx(_ROW.format(_text("one.xlsx").strip())),
    "one.odt": make_opendocument("text", f"<office:text><text:p>{_text('one.odt').strip()}</text:p></office:text>"),
    "one.epub": make_epub("2,375.9,5", _text("one.epub").strip()),
    "picture.png": make_png(3, 4, {"Title": "1,5.2,5"}),
    "font.ttf": b"\x00\x01\x00\x00\x00\x0c\x00\x80\x00\x03\x00\x40" + bytes(range(256)) * 20,
    "sound.au": b".snd\x00\x00\x00\x18" + bytes(range(255, -1, -1)) * 20,
}


def _originals() -> list[Document]:
    return [
        Document(
            url=f"http://nasty.example.com/{name}",
            package=SOURCE,
            name=name,
            data=data,
            words=() if name in {"picture.png", "font.ttf", "sound.au"} else (_word(name),),
        )
        for name, data in NASTY.items()
    ]


def _mutants(seed: int) -> list[Document]:
    mutants = []
    for name, data in NASTY.items():
        key = f"{seed}/{name}"
        planted, keep = plant(data, _word(key), html=is_html(data)) if is_text(data) else (data, 0)
        words = (_word(key),) if keep > 0 else ()
        url = f"http://mutants{seed}.example.com/{name}"
        mutants.append(Document(url=url, package=SOURCE, name=name, data=mutate(planted, key, keep=max(0, keep)) or b" ", words=words))
    return mutants


def _judge(server: Appliance, documents: Sequence[Document]) -> list[str]:
    pushed = [push_one(server, SOURCE, each) for each in documents]
    for each in pushed:
        receipt = server.wait(each.feed)
        assert receipt["state"] == "completed", (each.name, receipt)
    verdict = Verdict()
    verdict.decide_each(server, documents)
    return verdict.violations


def test_nasty_documents_are_found_or_say_why_not(server: Appliance) -> None:
    assert _judge(server, _originals()) == []


def test_damaged_documents_are_found_or_say_why_not(server: Appliance) -> None:
    restarts = server.role_pids()
    assert _judge(server, _mutants(1)) == []
    wait_until(lambda: server.request("GET", server.gate, "/readyz")[0] == 200, "a server that is ready")
    assert server.role_pids()["indexer"] == restarts["indexer"], "the indexer was started again"


def test_reading_of_the_test_finds_words_that_stand_alone() -> None:
    """The reader of ``make test-real`` says nothing about what it is not certain of."""
    assert words_of(b"<html><body><p> plain words <b>hid</b>den </p><script> script </script>") == {"plain", "words"}
    assert words_of("einzelne Wörter, getrennt".encode("latin-1")) == set()
    assert words_of(b"ascii line\n" + "über".encode("latin-1")) == {"ascii"}
    assert words_of(b"\x00binary words") == set()
