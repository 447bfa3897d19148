"""Finds out in which charset bytes are written and decodes them.

In this order: a byte order mark; zero bytes in the pattern of UTF-16; the label of the protocol; the label inside the document (HTML
meta, XML declaration); valid UTF-8; a statistical detector on a bounded sample; windows-1252.

A label is a hint like any other: bytes beyond ASCII that are valid UTF-8 are UTF-8 whatever a label says, because text in a
single-byte charset is practically never valid UTF-8 by chance, while pages that were re-encoded and kept their old meta tag are
common (content that travelled inside an XML feed is one). Short texts in a labelled multi-byte charset keep their label.

Source: WHATWG Encoding, "Names and labels"; HTML, "Determining the character encoding".
"""

import codecs
import re
from functools import lru_cache

import chardet
from chardet.enums import EncodingEra

_PRESCAN_BYTES = 4_096
_SAMPLE_BYTES = 6_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SUPERSETS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "latin-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
_LABELS = {
    "utf8": "utf-8", "unicode": "utf-16", "x-sjis": "cp932", "x-euc-jp": "euc_jp", "x-gbk": "gb18030", "x-x-big5": "big5hkscs",
    "ks_c_5601-1987": "cp949", "korean": "cp949", "windows-949": "cp949", "windows-31j": "cp932", "x-cp1251": "cp1251",
    "x-cp1252": "cp1252", "x-cp1250": "cp1250", "dos-874": "cp874", "windows-874": "cp874", "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman", "x-mac-cyrillic": "mac_cyrillic", "iso-8859-8-i": "iso8859-8", "logical": "iso8859-8",
}  # fmt: skip
_MULTIBYTE = {"cp932", "gb18030", "cp949", "big5hkscs", "euc_jp", "johab", "euc_jis_2004", "hz"}
_META = re.compile(rb"""<meta\b[^>]{0,300}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.\-]{2,40})""", re.I)
_XML = re.compile(rb"""<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.\-]{2,40})""", re.I)
_WIDE = re.compile(rb"[\x80-\xff]")


def decode(data: bytes, label: str | None = None, *, is_markup: bool = False) -> str:
    """Decodes bytes of an unknown charset. Shape: ``is_markup`` looks for a label inside. Errors: none, what fits nothing is U+FFFD."""
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    if b"\0" in data[:2_000] and (wide := _guess_utf16(data[:2_000])):
        return data.decode(wide, "replace")
    codec_name = find_codec(label) or (_find_inner_codec(data) if is_markup else None)
    return _decode_labelled(data, codec_name)


@lru_cache(maxsize=256)
def find_codec(label: str | None) -> str | None:
    """Returns the codec that a label means, widened to the superset that browsers use; None when it means no text codec."""
    if not label:
        return None
    name = label.strip().strip("\"'").lower()
    name = _LABELS.get(name, name)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name in {
        "idna",
        "punycode",
        "undefined",
        "unicode_escape",
        "raw_unicode_escape",
    }:
        return None
    return _SUPERSETS.get(info.name, info.name)


def _decode_labelled(data: bytes, codec: str | None) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        if codec in (None, "utf-8"):
            return _decode_broken(data, exc, labelled=codec is not None)
        return data.decode(codec or "utf-8", "replace")
    if codec is None or codec == "utf-8":
        return text
    if len(text) == len(data):
        # plain ASCII, unless the charset shifts with escapes
        return data.decode(codec, "replace") if codec.startswith(("iso2022", "hz", "utf-7")) else text
    if codec in _MULTIBYTE and len(_WIDE.findall(data, 0, 1_000)) < 9:
        return data.decode(codec, "replace")
    return text


def _decode_broken(data: bytes, exc: UnicodeDecodeError, *, labelled: bool) -> str:
    """Decodes what is not valid UTF-8: UTF-8 all the same when it was called so, or is so but for a few bytes or a cut end."""
    if labelled or exc.start > len(data) - 4 or _is_mostly_utf8(data):
        return data.decode("utf-8", "replace")
    return data.decode(_detect(data, exc.start), "replace")


def _is_mostly_utf8(data: bytes) -> bool:
    text = data[: _PRESCAN_BYTES * 4].decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for character in text if character > "\x7f") - broken
    return whole > 20 * broken


def _detect(data: bytes, start: int) -> str:
    begin = max(0, start - 200)
    found = chardet.detect(
        data[begin : begin + _SAMPLE_BYTES],
        encoding_era=EncodingEra.MODERN_WEB,
        prefer_superset=True,
        compat_names=False,
        no_match_encoding="cp1252",
    )["encoding"]
    return find_codec(found) or "cp1252"


def _guess_utf16(head: bytes) -> str | None:
    """Tells UTF-16 without a mark by its zero bytes: markup and western text have one in nearly every pair."""
    pairs = len(head) // 2
    if pairs < 2:
        return None
    even, odd = head[0 : pairs * 2 : 2].count(0), head[1 : pairs * 2 : 2].count(0)
    if odd > pairs * 0.4 and even < pairs * 0.1:
        return "utf-16-le"
    if even > pairs * 0.4 and odd < pairs * 0.1:
        return "utf-16-be"
    return None


def _find_inner_codec(data: bytes) -> str | None:
    head = data[:_PRESCAN_BYTES]
    match = _META.search(head) or _XML.search(head)
    if match is None:
        return None
    codec = find_codec(match[1].decode("ascii"))
    # a label that could be read as ASCII cannot be true when it says UTF-16
    return "utf-8" if codec is not None and codec.startswith(("utf-16", "utf-32")) else codec


def warm_up() -> None:
    """Loads the detector's tables."""
    _detect("Žluťoučký kůň".encode("cp1250"), 0)
