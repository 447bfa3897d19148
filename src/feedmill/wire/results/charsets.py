"""The names of character encodings that ``ie=`` and ``oe=`` may hold.

Shape: a name in any letter case, with ``-`` or ``_``; an unknown one is UTF-8. Encodings that a browser would misread as markup
(UTF-7) or that need a mark (UTF-16) are excluded. Encodings that switch between scripts by escapes (JIS, HZ) are read only.
Source: Search Protocol Reference, "Internationalization".
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Charset:
    """An encoding: its name in XML and HTTP, which Python accepts too."""

    name: str


UTF_8 = Charset("UTF-8")

_LATIN = (1, 2, 3, 4, 9, 10, 13, 14, 15, 16)
_NAMES = {
    **{f"iso-8859-{part}": f"ISO-8859-{part}" for part in (*range(1, 12), *range(13, 17))},
    **{f"latin{number}": f"ISO-8859-{part}" for number, part in enumerate(_LATIN, 1)},
    **{f"windows-{page}": f"windows-{page}" for page in range(1250, 1259)},
    "cyrillic": "ISO-8859-5",
    "arabic": "ISO-8859-6",
    "greek": "ISO-8859-7",
    "hebrew": "ISO-8859-8",
    "ascii": "US-ASCII",
    "us-ascii": "US-ASCII",
    "sjis": "Shift_JIS",
    "shift-jis": "Shift_JIS",
    "euc-jp": "EUC-JP",
    "x-sjis": "Shift_JIS",
    "windows-31j": "Shift_JIS",
    "euc-kr": "EUC-KR",
    "ks-c-5601-1987": "EUC-KR",
    "big5": "Big5",
    "gb": "GB2312",
    "gb2312": "GB2312",
    "gbk": "GBK",
    "gb18030": "GB18030",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "tis-620": "TIS-620",
    # other names that browsers accept for these
    "latin-1": "ISO-8859-1",
    "iso-8859-8-i": "ISO-8859-8",
    "ms932": "Shift_JIS",
    "cp932": "Shift_JIS",
    "x-euc-jp": "EUC-JP",
    "ks-c-5601": "EUC-KR",
    "windows-949": "EUC-KR",
    "cp949": "EUC-KR",
    "big5-hkscs": "Big5",
    "x-gbk": "GBK",
    "windows-874": "TIS-620",
    "dos-874": "TIS-620",
}
# extensions by vendors, which browsers send under these names
_AS_SENT = {
    "ISO-8859-1": "cp1252",
    "ISO-8859-9": "cp1254",
    "Shift_JIS": "cp932",
    "EUC-KR": "cp949",
    "Big5": "cp950",
    "GB2312": "gb18030",
    "GBK": "gb18030",
    "TIS-620": "cp874",
}
_ONLY_READ = {"jis": "ISO-2022-JP", "iso-2022-jp": "ISO-2022-JP", "hz": "HZ", "hz-gb-2312": "HZ"}


def find_charset_read(name: str) -> Charset:
    """Returns the encoding of parameters by its name, UTF-8 for an unknown one."""
    known = _ONLY_READ.get(name.strip().lower().replace("_", "-"))
    return find_charset(name) if known is None else Charset(known)


def find_charset(name: str) -> Charset:
    """Returns the encoding of a response by its name, UTF-8 for an unknown one."""
    known = _NAMES.get(name.strip().lower().replace("_", "-"))
    return UTF_8 if known is None else Charset(known)


def decode(data: bytes, name: str | None) -> str:
    """Returns the text of a parameter. Errors: none; undecodable bytes become U+FFFD.

    Shape: ``name`` is that of ``ie=``. Without it the text is UTF-8 if it is valid, otherwise Latin-1, which the appliance assumed. Text in
    Latin-1 is hardly ever valid UTF-8 by chance, so both kinds of old pages are understood.
    """
    if name:
        charset = find_charset_read(name).name
        return data.decode(_AS_SENT.get(charset, charset), "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def encode(text: str, charset: Charset) -> bytes:
    """Returns XML or HTML in an encoding. Characters outside the encoding are written as character references."""
    return text.encode(charset.name, "xmlcharrefreplace")
