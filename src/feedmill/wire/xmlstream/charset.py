"""Finds the charset of an XML text and decodes it piece by piece.

Rules, the first that applies:

1. A byte order mark decides, whatever the declaration says.
2. Zero bytes around the first ``<`` identify UTF-16 and UTF-32 without a mark.
3. The label of the XML declaration decides, read through a table of the names in use: a label means the widest charset that
   is written under it (ISO-8859-1 is windows-1252, GB2312 is GB18030, Shift_JIS is cp932, EUC-KR is cp949).
4. An unknown label, or one under which the declaration itself could not have been read (``utf-16`` over plain bytes),
   counts as UTF-8, with a remark to the sender.
5. Without a label it is UTF-8.

Bytes that the charset cannot decode are an error in a strict reading; a lenient one turns each into the character that it has in
windows-1252, marked by a lone surrogate so that the repair can count them.
Source: XML 1.0, appendix F; WHATWG Encoding Standard, names and labels.
"""

import codecs
import re
from dataclasses import dataclass

SNIFF_BYTES = 4096

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    # Before UTF-16, whose mark is the beginning of this one.
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_BARE = (
    (re.compile(rb"<\x00\x00\x00"), "utf-32-le"),
    (re.compile(rb"\x00\x00\x00<"), "utf-32-be"),
    (re.compile(rb"<\x00[^\x00]\x00"), "utf-16-le"),
    (re.compile(rb"\x00<\x00[^\x00]"), "utf-16-be"),
)

# The label may have quotes of any kind around it: a curly quote has three bytes in UTF-8, one in windows-1252.
_LABEL = re.compile(rb"\s*+(?:\xef\xbb\xbf)?\s*+<\?xml\s[^>]{0,300}?\bencoding\s*=\s*[^A-Za-z0-9?>]{0,8}([A-Za-z0-9._:\-]{1,60})")

_ALIASES = {
    "utf8": "utf-8",
    "unicode11utf8": "utf-8",
    "ascii": "utf-8",
    "usascii": "utf-8",
    "iso88591": "cp1252",
    "latin1": "cp1252",
    "l1": "cp1252",
    "iso88599": "cp1254",
    "latin5": "cp1254",
    "iso885911": "cp874",
    "tis620": "cp874",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "mskanji": "cp932",
    "windows31j": "cp932",
    "ms932": "cp932",
    "eucjp": "euc_jp",
    "gb2312": "gb18030",
    "gb231280": "gb18030",
    "euccn": "gb18030",
    "gbk": "gb18030",
    "cp936": "gb18030",
    "ms936": "gb18030",
    "euckr": "cp949",
    "ksc5601": "cp949",
    "ksc56011987": "cp949",
    "windows949": "cp949",
    "big5": "big5hkscs",
    "cnbig5": "big5hkscs",
}
_NOT_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "mbcs", "oem"})
_HANDLER = "feedmill.keep-undecodable"
UNDECODABLE = re.compile("[\udc00-\udcff]")
"""The marks that a lenient decoder leaves, one for each undecodable byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """The charset of a text. ``doubt`` is the remark to the sender if the label was not usable."""

    codec: str
    bom_bytes: int = 0
    doubt: str | None = None


def sniff_charset(head: bytes) -> Charset:
    """Finds the charset from the first bytes. Shape: at least ``SNIFF_BYTES`` of them, or all there are. Errors: none."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return Charset(codec=codec, bom_bytes=len(mark))
    for start, codec in _BARE:
        if start.match(head):
            return Charset(codec=codec)
    found = _LABEL.match(head)
    if found is None:
        return Charset(codec="utf-8")
    label = found[1].decode("ascii")
    known = find_codec(label)
    if known is None:
        return Charset(codec="utf-8", doubt=f'unknown encoding "{label}" read as UTF-8')
    # The declaration was found as ASCII bytes. If it is no text in the declared charset, the declaration is wrong.
    if "<?xml" not in head[:64].decode(known, "ignore"):
        return Charset(codec="utf-8", doubt=f'the text is not in the encoding "{label}" that it declares, read as UTF-8')
    return Charset(codec=known)


def find_codec(label: str) -> str | None:
    """Returns the codec for a charset label, None for an unknown label. Errors: none."""
    squeezed = re.sub(r"[^a-z0-9]", "", label.lower())
    for name in (squeezed, squeezed.removeprefix("x"), squeezed.removeprefix("cs")):
        if name in _ALIASES:
            return _ALIASES[name]
    for name in (label, label.lower().removeprefix("x-"), squeezed):
        codec = _look_up(name)
        if codec is not None:
            return codec
    return None


def _look_up(name: str) -> str | None:
    """Finds a codec of Python's that decodes bytes to text; it has others too."""
    try:
        b"<".decode(name)  # refuses codecs that do not decode bytes to text
        info = codecs.lookup(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError, ImportError):
        return None
    return None if info.name in _NOT_CHARSETS else info.name


def open_decoder(codec: str, *, lenient: bool) -> codecs.IncrementalDecoder:
    """Opens a decoder. Errors: a strict one raises UnicodeDecodeError from ``decode``, a lenient one nothing."""
    return codecs.getincrementaldecoder(codec)(_HANDLER if lenient else "strict")


def reinterpret(mark: str) -> str:
    """Returns the character that a marked byte has in windows-1252; one without a meaning there is U+FFFD."""
    return bytes((ord(mark) & 0xFF,)).decode("cp1252", "replace")


def _keep_undecodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    if error.encoding.lower().startswith(("utf-16", "utf-32", "utf16", "utf32")):
        return "\udc81", error.end  # 0x81 has no meaning in windows-1252, so it becomes U+FFFD
    return "".join(chr(0xDC00 + byte) for byte in bad), error.end


codecs.register_error(_HANDLER, _keep_undecodable)
