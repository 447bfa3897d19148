"""Detects the charset of bytes and decodes them.

It tries, in this order: a byte order mark; UTF-16 without one, by its patterns; EBCDIC, by its blanks and letters; escapes that shift into
East Asian characters, in text that is otherwise ASCII; valid UTF-8, except in a short text that is labelled with a multi-byte charset; the
label of the protocol; the label inside the document (HTML meta, XML declaration); a statistical detector on the parts of the text that are
not ASCII, from wherever they begin; windows-1252.

Windows and ISO charsets of one region differ in few places. Bytes 80 to 9F are letters only in Windows charsets, so such bytes decide.
Without them, the charset wins that puts no symbol into a word and no capital after a small letter. Of a few letters the detector knows
little: there, words of Western languages around single letters decide.

A label is only a hint: bytes beyond ASCII that are valid UTF-8 are UTF-8 whatever a label says. Text in a single-byte charset is
practically never valid UTF-8 by chance, while pages that were re-encoded without a change of their meta tag are common (content inside an
XML feed is one case). Short texts in a labelled multi-byte charset keep their label.

Source: WHATWG Encoding, "Names and labels"; HTML, "Determining the character encoding".
"""

import codecs
import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain

import chardet
from chardet.enums import EncodingEra

from feedmill.adapters.extract.ebcdic import CODECS as EBCDIC_CODECS
from feedmill.adapters.extract.ebcdic import decode_ebcdic, guess_ebcdic
from feedmill.adapters.extract.utf16 import guess_utf16
from feedmill.core.text.wordlists import read_list

_PRESCAN_BYTES = 4_096
_SAMPLE_BYTES = 12_000
_AROUND_BYTES = 60
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16: the mark of UTF-16-LE is the first half of this one.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Browsers read these labels as the wider charset, so pages use its characters: ISO 8859-1 has no typographic quotation marks.
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
_WIDE_RUN = re.compile(rb"[\x80-\xff]+")
_ERAS = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
# ISO charsets, and the Windows charsets that differ from them in few letters
_SIBLINGS = {
    "iso8859-1": "cp1252", "iso8859-2": "cp1250", "iso8859-7": "cp1253", "iso8859-8": "cp1255", "iso8859-9": "cp1254",
    "iso8859-13": "cp1257", "iso8859-15": "cp1252",
}  # fmt: skip
_OTHERS = {
    "cp932": ("big5hkscs",),
    "cp1250": ("iso8859-2",),
    "cp1252": ("iso8859-15",),
    "cp1253": ("iso8859-7",),
    "cp1257": ("iso8859-13",),
}
# hardly ever used, and similar to charsets that are used
_UNUSED = ("iso8859-10", "iso8859-14", "iso8859-16")
_RARE = ("iso8859-3", "iso8859-4", "iso8859-13")
_TELLING_BYTES = 4
# the letters beyond ASCII of languages of Western Europe
_WESTERN = {
    "de": "äöüß", "fr": "àâæçèéêëîïôùûüÿœ", "es": "áéíñóúü", "it": "àèéìíîòóùú", "pt": "àáâãçéêíóôõúü", "nl": "áèéêëïóöü", "da": "åæéø",
    "sv": "åäéö", "no": "åæéòôø", "fi": "åäö",
}  # fmt: skip
# the languages with Latin letters of charsets that a few letters of Western Europe look like
_OTHER_LATIN = {"cp1250": ("pl", "cs", "hu", "ro"), "iso8859-2": ("pl", "cs", "hu", "ro"), "cp1254": ("tr",)}
_FEW_LETTERS, _LONGEST_RUN = 12, 2
_PUNCTUATION = "\xa0«»“”„‘’–—…°·•©®€"
_LEAST_WEIGHT = 2
# without single letters of ASCII, which stand for anything
_WORD = re.compile(r"[^\W\d_]{2,}|[^\W\d_\x00-\x7f]")
_ASCII_BYTES = bytes(range(128))
_WINDOWS_ONLY = re.compile(rb"[\x80-\x9f]")
# a symbol within a word that is no accent of its letter, an accent without its letter, letters of two scripts in one word,
# half-width kana next to full ones, the generic currency sign
_ODD = re.compile(
    r"[^\W\d_][^\w\s\x00-\x7f\u2010-\u201f\xad\xb7\u0300-\u036f\u05b0-\u05c7]+[^\W\d_]|\xa4|[\x80-\x9f]|\ufffd"
    r"|[a-z][\u0370-\u05ff\u0620-\u06ff\u3040-\u9fff]|[\u0370-\u05ff\u0620-\u06ff\u3040-\u9fff][a-z]"
    r"|(?<![aeiouy\xc0-\u01b0])[\u0300-\u036f]|(?<![\u05b0-\u05ea])[\u05b0-\u05c7]"
    r"|[\u3040-\u9fff][\uff66-\uff9f]|[\uff66-\uff9f][\u3040-\u9fff]"
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# escapes that shift into other characters: https://www.rfc-editor.org/rfc/rfc1468, rfc1557, rfc1843
_JAPANESE_SHIFT, _KOREAN_SHIFT, _CHINESE_SHIFT = (
    re.compile(rb"\x1b\$[@B]|\x1b\(I"),
    re.compile(rb"\x1b\$\)C"),
    re.compile(rb"~\{([^~]*)~\}"),
)
_PAIRS = re.compile(rb"(?:[\x21-\x77][\x21-\x7e])+")
_LEAST_PAIRS = 4


def decode(data: bytes, label: str | None = None, *, is_markup: bool = False) -> str:
    """Decodes bytes of an unknown charset. Shape: ``is_markup`` looks for a label inside. Errors: none, what fits nothing is U+FFFD."""
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    # Before anything else: Latin text in UTF-16 is also valid UTF-8, with a zero byte next to each letter.
    if utf16 := guess_utf16(data):
        return data.decode(utf16, "replace")
    if page := guess_ebcdic(data):
        return decode_ebcdic(data, page)
    codec_name = find_codec(label) or (_find_inner_codec(data) if is_markup else None)
    return _decode_labelled(data, codec_name)


@lru_cache(maxsize=256)
def find_codec(label: str | None) -> str | None:
    """Returns the codec for a label, widened to the superset that browsers use; None if it is no text codec."""
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
        return _decode_as(codec or "utf-8", data)
    # As many characters as bytes: the text is ASCII, and the only question left is whether it shifts with escapes.
    if len(text) == len(data) and codec in (None, "utf-8", "cp1252") and (shifting := _find_shifting(data)):
        return data.decode(shifting, "replace")
    if codec is None or codec == "utf-8":
        return text
    if len(text) == len(data):
        # plain ASCII, unless the charset shifts with escapes
        return data.decode(codec, "replace") if codec.startswith(("iso2022", "hz", "utf-7")) else text
    # So few bytes beyond ASCII can be valid UTF-8 by chance. In a longer text of such a charset some pair is invalid.
    if codec in _MULTIBYTE and len(_WIDE.findall(data, 0, 1_000)) < 9:
        return data.decode(codec, "replace")
    return text


def _decode_as(codec: str, data: bytes) -> str:
    if codec in EBCDIC_CODECS:
        return decode_ebcdic(data, codec)
    text = data.decode(codec, "replace")
    # windows-1258 writes tone marks after their vowels, as separate characters
    return unicodedata.normalize("NFC", text) if codec == "cp1258" else text


def _find_shifting(data: bytes) -> str | None:
    """Returns the codec of ASCII text that shifts into East Asian characters, or None."""
    if b"\x1b" in data:
        if _KOREAN_SHIFT.search(data) is not None and _can_decode(data, "iso2022_kr"):
            return "iso2022_kr"
        if _JAPANESE_SHIFT.search(data) is not None:
            return next((codec for codec in ("iso2022_jp", "iso2022_jp_2", "iso2022_jp_ext") if _can_decode(data, codec)), "iso2022_jp_2")
    # a single byte is looked for thirty times as fast as two
    if b"~" in data and b"~{" in data:
        runs = _CHINESE_SHIFT.findall(data)
        if sum(map(len, runs)) >= 2 * _LEAST_PAIRS and all(map(_PAIRS.fullmatch, runs)) and _can_decode(data, "hz"):
            return "hz"
    return None


def _can_decode(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _decode_broken(data: bytes, exc: UnicodeDecodeError, *, labelled: bool) -> str:
    """Decodes bytes that are not valid UTF-8. They are still UTF-8 if labelled so, or if only a few bytes or a cut end are wrong."""
    # A byte beyond ASCII at the end with only ASCII before it is a letter of another charset ("caf\xe9") rather than half a character.
    is_cut = exc.reason == "unexpected end of data" and not data[: exc.start].isascii()
    if labelled or is_cut or _is_mostly_utf8(data):
        return data.decode("utf-8", "replace")
    return _decode_as(_detect(data), data)


def _is_mostly_utf8(data: bytes) -> bool:
    text = _take_sample(data).decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for character in text if character > "\x7f") - broken
    return whole > 20 * broken


def _detect(data: bytes) -> str:
    sample = _take_sample(data)
    # few different bytes cannot distinguish charsets that are rare and similar
    is_telling = len(set(sample.translate(None, _ASCII_BYTES))) >= _TELLING_BYTES
    found: str | None = chardet.detect(
        sample,
        encoding_era=_ERAS,
        prefer_superset=False,
        compat_names=False,
        exclude_encodings=_UNUSED if is_telling else _UNUSED + _RARE,
        no_match_encoding="cp1252",
    )["encoding"]
    codec = _find_exact_codec(found) or "cp1252"
    if _SUPERSETS.get(codec, codec) != "cp1252" and _is_western(sample, codec):
        codec = "cp1252"
    superset = _SIBLINGS.get(codec) or find_codec(codec) or "cp1252"
    if codec in _SIBLINGS and _WINDOWS_ONLY.search(data) is not None:
        return superset
    candidates: list[str] = [codec if codec in _SIBLINGS else superset, superset, *_OTHERS.get(superset, ()), "cp1252"]
    return min(candidates, key=lambda candidate: _count_odd(sample.decode(candidate, "replace")))


def _is_western(sample: bytes, codec: str) -> bool:
    """Whether a few letters beyond ASCII stand among words of a Western language that has them, more than of one that uses the charset."""
    runs = _WIDE_RUN.findall(sample)
    if len(runs) > _FEW_LETTERS or max(map(len, runs), default=0) > _LONGEST_RUN:
        return False
    text = sample.decode("cp1252", "replace").lower()
    letters = {letter for letter in text if letter > "\x7f" and letter not in _PUNCTUATION}
    western = max((_weigh_words(text, language) for language, alphabet in _WESTERN.items() if letters.issubset(alphabet)), default=0)
    if western < _LEAST_WEIGHT:
        return False
    read = sample.decode(codec, "replace").lower()
    return western > max((_weigh_words(read, language) for language in _OTHER_LATIN.get(codec, ())), default=0)


def _weigh_words(text: str, language: str) -> int:
    """Returns how many function words of a language a text has. Those with letters beyond ASCII count twice."""
    words = _list_words(language).intersection(_WORD.findall(text))
    return sum(1 if word.isascii() else 2 for word in words)


@cache
def _list_words(language: str) -> frozenset[str]:
    return frozenset(read_list(f"function/{language}"))


def _find_exact_codec(name: str | None) -> str | None:
    """Returns the codec of exactly this name, where ``find_codec`` would widen it."""
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _take_sample(data: bytes) -> bytes:
    """Returns the parts of a text that are not ASCII, with their surroundings, from the beginning and up to a limit."""
    parts: list[bytes] = []
    taken = begin = end = 0
    for run in _WIDE_RUN.finditer(data):
        if run.start() - _AROUND_BYTES > end:
            parts.append(data[begin:end])
            taken += end - begin
            begin = run.start() - _AROUND_BYTES
        end = run.end() + _AROUND_BYTES
        if taken + end - begin > _SAMPLE_BYTES:
            break
    last = data[begin:end]
    if len(last) > _SAMPLE_BYTES:
        # not within a character, where there is another place
        last = last[:_SAMPLE_BYTES]
        last = last[: max(last.rfind(b" "), last.rfind(b"\n")) + 1] or last
    parts.append(last)
    return b"\n".join(parts)


def _count_odd(text: str) -> int:
    """Counts the places in a text that do not occur in words."""
    words = [word for word in _LETTERS.findall(text) if not word.isascii() and word[1:] != word[1:].lower() and word != word.upper()]
    return len(_ODD.findall(text)) + len(words)


def _find_inner_codec(data: bytes) -> str | None:
    head = data[:_PRESCAN_BYTES]
    match = _META.search(head) or _XML.search(head)
    if match is None:
        return None
    codec = find_codec(match[1].decode("ascii"))
    # a label that can be read as ASCII cannot be right if it says UTF-16
    return "utf-8" if codec is not None and codec.startswith(("utf-16", "utf-32")) else codec


def warm_up() -> None:
    """Loads the detector's tables and the word lists, since a worker opens no file."""
    _detect("Žluťoučký kůň".encode("cp1250"))
    for language in (*_WESTERN, *chain.from_iterable(_OTHER_LATIN.values())):
        _list_words(language)
