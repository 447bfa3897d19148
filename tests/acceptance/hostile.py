"""Documents and feeds made to hurt: PDFs built byte by byte, bombs, and what processes have cost at most."""

import base64
import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.appliance import Appliance


def build_pdf(bodies: Sequence[bytes]) -> bytes:
    """Returns a PDF of objects, of which the first is the catalogue."""
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start)
    return bytes(out)


def pdf_stream(attributes: bytes, data: bytes) -> bytes:
    """Returns the body of an object that is a stream."""
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (attributes, len(data), data)


def pages_pdf(texts: Sequence[str]) -> bytes:
    """Returns a PDF with a page for each text."""
    first = 4
    kids = b" ".join(b"%d 0 R" % (first + 2 * place) for place in range(len(texts)))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(texts)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for place, text in enumerate(texts):
        own = first + 2 * place
        frame = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>"
        bodies += [frame % (own + 1), pdf_stream(b"", b"BT /F 12 Tf 72 720 Td (%s) Tj ET" % text.encode("ascii"))]
    return build_pdf(bodies)


def endless_pdf(depth: int = 20, fan: int = 4) -> bytes:
    """Returns a small PDF that draws a form which draws the next one several times, and so on: ``fan`` to the power of ``depth`` in all."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
    bodies = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, pdf_stream(b"", b"/X Do")]
    for place in range(depth):
        inner = b"/XObject << /X %d 0 R >>" % (6 + place) if place < depth - 1 else b""
        form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << %s >>" % inner
        bodies.append(pdf_stream(form, b"/X Do " * fan if inner else b"0 0 m 9 9 l S"))
    return build_pdf(bodies)


def zero_bomb(size_bytes: int) -> str:
    """Returns the base64compressed text of so many zeros."""
    packer = zlib.compressobj(9)
    piece = bytes(1 << 20)
    packed = b"".join(packer.compress(piece) for _ in range(size_bytes >> 20)) + packer.flush()
    return base64.b64encode(packed).decode("ascii")


def bomb_docx(size_bytes: int) -> bytes:
    """Returns a document of Word whose text inflates to so many bytes of blanks."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>")
        with archive.open("word/document.xml", "w") as entry:
            entry.write(b"<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'><w:body>")
            for _ in range(size_bytes >> 20):
                entry.write(b" " * (1 << 20))
            entry.write(b"</w:body></w:document>")
    return file.getvalue()


def nested_zip(levels: int) -> bytes:
    """Returns an archive that holds an archive, and so on."""
    data = b"boom" * 1000
    for level in range(levels):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for copy in range(4):
                archive.writestr(f"{level}-{copy}.zip", data)
        data = file.getvalue()
    return data


class GeneratedBody(io.RawIOBase):
    """A request's body that is made while it is sent."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, size: int = -1, /) -> bytes:
        return next(self._pieces, b"")


def peak_bytes(appliance: Appliance, *roles: str) -> dict[str, int]:
    """Returns the most memory that any process of each role has had at once."""
    pids = appliance.role_pids()
    return {role: max(_read_peak(pid) for pid in pids[role]) for role in roles}


def _read_peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
