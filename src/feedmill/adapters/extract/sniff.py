"""Detects the type of a document by its bytes. The declared type is a hint.

Magic bytes win over any label. Zip containers are distinguished by their entries, OLE containers by their directory. Texts have no
magic bytes, so the label decides among them. There is one exception: a document that is labelled plain text and begins as an HTML page
is HTML, because many clients label everything ``text/plain``.
"""

import re

from feedmill.adapters.extract.readers.zips import list_names, read_small
from feedmill.adapters.extract.utf16 import guess_utf16

HTML, PLAIN, XML, MARKDOWN, MAIL = "text/html", "text/plain", "text/xml", "text/markdown", "message/rfc822"
PDF, RTF, OLE, ZIP, BINARY = (
    "application/pdf",
    "application/rtf",
    "application/x-ole-storage",
    "application/zip",
    "application/octet-stream",
)
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"
MSG, EPUB = "application/vnd.ms-outlook", "application/epub+zip"
TROFF, POSTSCRIPT = "text/troff", "application/postscript"
GZIP, BZIP2, XZ, ZSTD = "application/gzip", "application/x-bzip2", "application/x-xz", "application/zstd"
LZMA, LZIP, COMPRESS = "application/x-lzma", "application/x-lzip", "application/x-compress"
TAR, SEVEN_ZIP = "application/x-tar", "application/x-7z-compressed"
JAR, APK = "application/java-archive", "application/vnd.android.package-archive"
DEB, RPM = "application/vnd.debian.binary-package", "application/x-rpm"
RAR, CABINET, CPIO, AR = "application/vnd.rar", "application/vnd.ms-cab-compressed", "application/x-cpio", "application/x-archive"
LZ4, DISK_IMAGE = "application/x-lz4", "application/x-iso9660-image"
_OOXML = "application/vnd.openxmlformats-officedocument."
DOCX, XLSX, PPTX = f"{_OOXML}wordprocessingml.document", f"{_OOXML}spreadsheetml.sheet", f"{_OOXML}presentationml.presentation"
_ODF = "application/vnd.oasis.opendocument."
ODT, ODS, ODP = f"{_ODF}text", f"{_ODF}spreadsheet", f"{_ODF}presentation"

COMPRESSED = frozenset({GZIP, BZIP2, XZ, ZSTD, LZMA, LZIP, COMPRESS})
PACKAGES = "packages of programs"
UNREAD_ARCHIVES = {
    JAR: PACKAGES, APK: PACKAGES, DEB: PACKAGES, RPM: PACKAGES,
    RAR: "RAR archives", CABINET: "cabinet archives", CPIO: "cpio archives", AR: "ar archives", LZ4: "LZ4 files",
    DISK_IMAGE: "disk images",
}  # fmt: skip
"""Archives that are known by their names alone, and what a reason calls them."""
ARCHIVES = COMPRESSED | UNREAD_ARCHIVES.keys() | {ZIP, TAR, SEVEN_ZIP}
FILE_TYPES = {
    PDF: "PDF", RTF: "RTF", DOC: "DOC", XLS: "XLS", PPT: "PPT", MSG: "MSG", EPUB: "EPUB", DOCX: "DOCX", XLSX: "XLSX", PPTX: "PPTX",
    ODT: "ODT", ODS: "ODS", ODP: "ODP", ZIP: "ZIP", TAR: "TAR", SEVEN_ZIP: "7z", GZIP: "GZIP",
}  # fmt: skip
"""Types that the bytes show, and what a reason calls them where they do not."""
_CLAIMED = ARCHIVES | FILE_TYPES.keys() | {OLE}

_MAGIC = (
    (b"PK\x03\x04", ZIP), (b"PK\x05\x06", ZIP), (b"\x1f\x8b", GZIP), (b"BZh", BZIP2),
    (b"\xfd7zXZ\0", XZ), (b"\x28\xb5\x2f\xfd", ZSTD), (b"7z\xbc\xaf\x27\x1c", SEVEN_ZIP),
    (b"Rar!\x1a\x07", RAR), (b"\x1f\x9d", COMPRESS), (b"LZIP\1", LZIP), (b"MSCF\0\0\0\0", CABINET), (b"!<arch>\ndebian-binary", DEB),
    (b"!<arch>\n", AR), (b"\xed\xab\xee\xdb", RPM), (b"\x04\x22\x4d\x18", LZ4), (b"070701", CPIO), (b"070702", CPIO), (b"\xc7\x71", CPIO),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE), (b"{\\rtf", RTF), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"II*\0", "image/tiff"), (b"MM\0*", "image/tiff"), (b"\0\0\x01\0", "image/x-icon"),
    (b"8BPS", "image/vnd.adobe.photoshop"), (b"\x7fELF", "application/x-executable"), (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"), (b"ID3", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),  (b"wOFF", "font/woff"), (b"wOF2", "font/woff2"),
    (b"\0\1\0\0\0", "font/ttf"), (b"true\0", "font/ttf"), (b"ttcf\0", "font/collection"), (b"OTTO\0", "font/otf"),
    (b"\x80\1", "application/x-font-type1"), (b"%!FontType1", "application/x-font-type1"), (b"%!PS-AdobeFont", "application/x-font-type1"),
    (b"%!PS", POSTSCRIPT), (b"\x04%!PS", POSTSCRIPT), (b"\xc5\xd0\xd3\xc6", POSTSCRIPT),
    (b"\1fcp", "application/x-font-pcf"), (b"\xf7\x02", "application/x-dvi"), (b"\xf7\x83", "application/x-tex-pk"),
    (b".snd\0", "audio/basic"), (b"dns.\0", "audio/basic"), (b"MThd\0", "audio/midi"), (b"\xde\x12\x04\x95", "application/x-gettext-mo"),
    (b"\x95\x04\x12\xde", "application/x-gettext-mo"), (b"\0asm", "application/wasm"), (b"\x1bLua", "application/x-lua-bytecode"),
)  # fmt: skip
# a file of LZMA has no magic bytes: its usual properties, a small dictionary, and a length that is unknown or of less than 1 TB
_LZMA_START = re.compile(rb"\]\0\0[\0-\xff][\0-\x08](?:\xff{8}|.{5}\0{3})", re.S)
_DISK_IMAGE_PLACE, _DISK_IMAGE_MAGIC = 0x8001, b"CD001"
_ALL_MAGIC = tuple(magic for magic, _ in _MAGIC)
# a comment is matched once and never retried as a longer one; otherwise a row of comments would take for ever
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,300}>\s*)?(?>(?:<!--.{0,2000}?-->\s*)*)<(?:!doctype\s+html|html)\b", re.I | re.S
)
_HTML_LOOSE = re.compile(rb"\s*<(?:!doctype\s+html|html|head|title|body|table|div|p|h1|script|meta|a|br|b|!--)\b", re.I)
# the first element of XML without a declaration; whether it is one, the end of the document says
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?>(?:<!--.{0,2000}?-->\s*)*)(?:<!DOCTYPE\s[^>\[]{0,500}>\s*)?"
    rb"<([A-Za-z_][\w.:\-]{0,100})(?:\s[^<>]{0,3000})?>",
    re.S,
)
_TAIL_BYTES = 300
# a comment or a request that only begins a manual page
_TROFF_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[.']\s*\\[\"#]|\.TH[ \t]+\S+[ \t]+\S|\.Dd[ \t]|\.so[ \t]+(?:\.\./)?man\w+/)")
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\s", re.I)
_MAIL_START = re.compile(rb"(?:[A-Za-z][A-Za-z0-9\-]{0,60}:[ \t][^\r\n]{0,2000}\r?\n(?:[ \t][^\r\n]{0,2000}\r?\n)*){3}")
_MAIL_HEADERS = re.compile(rb"^(?:received|message-id|mime-version|return-path|delivered-to):", re.I | re.M)
_MAIL_FROM = re.compile(rb"^(?:from|date|subject):", re.I | re.M)
# without the control characters of texts: tab, ends of line and page, escape
_CONTROLS = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_UPPER = bytes(range(128, 256))
_SHORT_BYTES, _FEW_CONTROLS = 1_000, 12
_LEAST_NOISE_BYTES, _MOST_DIFFERENT_BYTES = 256, 150
_LOOKS_LIKE_MARKUP = re.compile(rb"</?(?:html|head|title|body|p|div|h[1-6]|br|a|span|td|li)\b[^<>]{0,200}>", re.I)
_CHARSET = re.compile(r"""(?i);\s*charset\s*=\s*["']?([^"';\s]{1,40})""")
_MIMETYPE = re.compile(r"[a-z0-9.+\-]{1,60}/[a-z0-9.+\-]{1,100}")
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{1,8})(?:[?#]|$)")
_OF_SUFFIX = {
    "html": HTML, "htm": HTML, "xhtml": HTML, "txt": PLAIN, "md": MARKDOWN, "markdown": MARKDOWN, "eml": MAIL, "csv": "text/csv",
    "json": "application/json", "xml": XML, "svg": "image/svg+xml", "doc": DOC, "xls": XLS, "ppt": PPT, "msg": MSG,
}  # fmt: skip
_ALIASES = {
    "application/xhtml+xml": HTML, "application/html": HTML, "text/xhtml": HTML, "application/xml": XML, "text/x-markdown": MARKDOWN,
    "application/x-troff-man": TROFF, "application/x-troff": TROFF, "text/x-troff": TROFF, "application/x-gzip": GZIP,
    "application/mbox": MAIL, "text/rtf": RTF, "application/x-rtf": RTF, "application/x-pdf": PDF, "text": PLAIN, "html": HTML,
}  # fmt: skip
_TEXTUAL = re.compile(r"text/|application/(?:json|xml|javascript|ecmascript|sql|yaml|x-yaml|x-sh|x-php|csv|toml|[\w.\-]+\+(?:xml|json))$")
_OLE_STREAMS = (
    ("WordDocument", DOC), ("Workbook", XLS), ("PowerPoint Document", PPT), ("__substg1.0_", MSG), ("__properties_version1.0", MSG),
    ("EncryptedPackage", "application/encrypted"), ("Book", XLS),
)  # fmt: skip


def sniff(data: bytes, declared: str | None, url: str = "") -> str:
    """Returns the media type of a document. Shape: an archive, Office or other binary type, or a text type. Errors: none."""
    head = data[:4_096]
    if found := _by_magic(data, head):
        return found
    hint = normalize(declared)
    if _is_binary(head):
        return hint if hint is not None and not is_textual(hint) and hint not in _CLAIMED else BINARY
    return _detect_text(data, head, hint, url)


def normalize(declared: str | None) -> str | None:
    """Returns a declared media type without parameters, in lower case, with well-known aliases replaced; None if it is invalid."""
    if not declared:
        return None
    plain = declared.split(";", 1)[0].strip().lower()
    plain = _ALIASES.get(plain, plain)
    return plain if _MIMETYPE.fullmatch(plain) else None


def find_charset(declared: str | None) -> str | None:
    """Returns the parameter ``charset`` of a declared media type, None if it has none."""
    found = _CHARSET.search(declared or "")
    return found[1] if found is not None else None


def is_textual(mimetype: str) -> bool:
    """Returns whether a media type is a text type."""
    return mimetype == MAIL or _TEXTUAL.match(mimetype) is not None


def _by_magic(data: bytes, head: bytes) -> str | None:
    # Readers accept a header anywhere in the first 1,024 bytes (PDF Reference 1.7, appendix H), and a page may quote one.
    if b"%PDF-" in head[:1_024] and not _HTML_START.match(head):
        return PDF
    for magic, mimetype in _MAGIC if head.startswith(_ALL_MAGIC) else ():
        if head.startswith(magic):
            return _open_container(data, mimetype)
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(head[8:12], BINARY)
    if head[4:8] == b"ftyp":
        return "image/avif" if head[8:12] == b"avif" else "image/heic" if head[8:12] in (b"heic", b"heix", b"mif1") else "video/mp4"
    # Two letters prove nothing, since a text may begin with them. The reserved bytes
    # of an image must be zero too, and the header of a program must hold a zero byte.
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if head[:2] == b"MZ" and b"\0" in head[:64]:
        return "application/x-msdownload"
    if head[257:262] == b"ustar":
        return TAR
    if _LZMA_START.match(head):
        return LZMA
    return DISK_IMAGE if data.startswith(_DISK_IMAGE_MAGIC, _DISK_IMAGE_PLACE) else None


def _open_container(data: bytes, mimetype: str) -> str:
    if mimetype == ZIP:
        return _detect_zip(data)
    if mimetype == OLE:
        return _detect_ole(data)
    return mimetype


def _detect_zip(data: bytes) -> str:
    names = list_names(data)
    # OpenDocument and EPUB state their type in an entry of this name; Office files have folders of their own instead.
    if "mimetype" in names:
        inner = read_small(data, "mimetype", 200).decode("ascii", "replace").strip()
        for known in (ODT, ODS, ODP):
            if inner in (known, known + "-template"):
                return known
        if inner == EPUB:
            return EPUB
    if "AndroidManifest.xml" in names:
        return APK
    if "META-INF/MANIFEST.MF" in names:
        return JAR
    for part, mimetype in (("word/", DOCX), ("xl/", XLSX), ("ppt/", PPTX)):
        if "[Content_Types].xml" in names and any(name.startswith(part) for name in names):
            return mimetype
    return ZIP


def _detect_ole(data: bytes) -> str:
    """Detects the type by the names in the directory, in UTF-16 at the start of 128-byte entries anywhere in the file."""
    for name, mimetype in _OLE_STREAMS:
        wide = name.encode("utf-16-le")
        # The header fills the first 512 bytes. Sectors follow it, so every directory entry is at a multiple of 128.
        position = data.find(wide, 512)
        while position >= 0:
            if position % 128 == 0:
                return mimetype
            position = data.find(wide, position + 2)
    return OLE


def _is_binary(head: bytes) -> bool:
    """Returns whether bytes hold zero bytes or other control characters.

    A few in an otherwise normal text, as in broken exports, do not count.
    """
    # A byte order mark of UTF-16, in which zero bytes are normal.
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return False
    zeros = head.count(0)
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if len(head) < _SHORT_BYTES and controls <= _FEW_CONTROLS and (controls * 8 <= len(head) or _LOOKS_LIKE_MARKUP.search(head)):
        # in a short text they are a large part
        return False
    if controls and guess_utf16(head) is not None:
        return False
    if zeros and max(zeros * 50, controls * 20) > len(head):
        return True
    return controls > max(8, len(head) // 10) or _is_noise(head, controls)


def _is_noise(head: bytes, controls: int) -> bool:
    """Returns whether control characters are next to bytes beyond ASCII as in no charset: audio samples, compressed data."""
    if controls * 100 < len(head) or len(head) < _LEAST_NOISE_BYTES:
        return False
    upper = len(head) - len(head.translate(None, _UPPER))
    return upper * 5 > len(head) and len(set(head)) > _MOST_DIFFERENT_BYTES


def _detect_text(data: bytes, head: bytes, hint: str | None, url: str) -> str:
    if hint is not None and hint not in (PLAIN, BINARY) and is_textual(hint):
        return hint
    suffix = _SUFFIX.search(url.rsplit("/", 1)[-1])
    of_suffix = _OF_SUFFIX.get(suffix[1].lower()) if suffix else None
    # Tags in UTF-16 become visible to the patterns without decoding it: zero bytes and the mark are dropped.
    plain = head.replace(b"\0", b"").lstrip(b"\xff\xfe") if b"\0" in head[:4] or head[:1] in b"\xff\xfe" else head
    found = _detect_unlabelled(plain, hint, of_suffix)
    return XML if found == PLAIN and hint != PLAIN and _is_xml(plain, data[-_TAIL_BYTES:]) else found


def _detect_unlabelled(head: bytes, hint: str | None, of_suffix: str | None) -> str:
    if _HTML_START.match(head):
        return HTML
    if hint != PLAIN and (of_suffix == HTML or _HTML_LOOSE.match(head)):
        return HTML
    if of_suffix in (MARKDOWN, MAIL, "text/csv", "application/json", XML, "image/svg+xml"):
        return of_suffix
    if hint != PLAIN and _XML_START.match(head):
        return XML
    if _TROFF_START.match(head):
        return TROFF
    if _MAIL_START.match(head) and _MAIL_HEADERS.search(head) and _MAIL_FROM.search(head):
        return MAIL
    return PLAIN


def _is_xml(head: bytes, tail: bytes) -> bool:
    """Returns whether a text without a declaration begins with an element that its end closes."""
    root = _ROOT.match(head)
    return root is not None and tail.replace(b"\0", b"").rstrip().endswith(b"</" + root[1] + b">")
