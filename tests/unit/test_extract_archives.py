"""Archives and compressed files: what is read of them, and what they may cost."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
import time
import zipfile
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.adapters.extract import sniff
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers.archives import unpacking
from feedmill.adapters.extract.readers.archives.compressed import name_inside
from feedmill.adapters.extract.readers.archives.lzw import iter_lzw
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.archivefiles import SEVEN_ZIPS, compress_lzip, compress_lzw, make_packed_zip, make_tar
from tests.officefiles import make_docx, make_pdf, make_zip, paragraph
from tests.thorough import count_examples

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "lz": compress_lzip,
}


def read(data: bytes, url: str = "http://h/f", mimetype: str | None = None, limits: ExtractionLimits | None = None) -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=data), limits or ExtractionLimits())


# --- compressed files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_file_is_read_as_the_file_inside(suffix: str) -> None:
    compress = COMPRESSORS[suffix]
    page = read(compress(b"<title>T</title><p>words <a href=/x>link</a>"), f"http://h/a.html.{suffix}", "application/octet-stream")
    assert (page.mimetype, page.title, page.text, page.reason) == ("text/html", "T", "words link", None)
    assert page.links[0].url == "http://h/x"
    assert read(compress(make_pdf(["of pdf"])), f"http://h/a.{suffix}").text == "of pdf"
    assert read(compress(make_docx(paragraph("of docx")))).mimetype == sniff.DOCX


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_files_behind_one_another_are_one_text(suffix: str) -> None:
    compress = COMPRESSORS[suffix]
    assert read(compress(b"first ") + compress(b"second")).text == "first second"


@pytest.mark.parametrize("compress", [compress_lzw, lambda data: lzma.compress(data, lzma.FORMAT_ALONE)], ids=["Z", "lzma"])
def test_compressed_file_of_one_stream_is_read_as_the_file_inside(compress: Callable[[bytes], bytes]) -> None:
    page = read(compress(b"<title>T</title><p>words"), "http://h/a.html")
    assert (page.mimetype, page.title, page.text, page.reason) == ("text/html", "T", "words", None)
    lines = b"".join(b"line %d\n" % number for number in range(60_000))
    assert read(compress(lines)).text == lines.decode().strip()
    assert read(compress(lines)[:-2_000]).text.startswith("line 0\nline 1\n")
    bomb = read(compress(b" " * 60_000_000), limits=ExtractionLimits(max_document_bytes=1_000_000))
    assert (bomb.text, "1000000 bytes" in (bomb.reason or "")) == ("", True)


def test_damaged_file_of_compress_is_read_up_to_the_damage() -> None:
    data = compress_lzw(b"words of text")
    found = read(data + b"\xff" * 9)
    assert (found.text, found.reason) == ("words of text", "the compressed data is damaged or ends early, the text behind is missing")
    assert read(b"\x1f\x9d\x01").reason == "the compressed data is damaged or ends early, the text behind is missing"


@pytest.mark.parametrize("most_bits", [9, 12, 16])
@given(data=st.binary(max_size=3_000))
@settings(max_examples=count_examples(30), deadline=None)
def test_file_of_compress_holds_the_bytes_that_were_packed(most_bits: int, data: bytes) -> None:
    assert b"".join(iter_lzw(compress_lzw(data * 3, most_bits))) == data * 3


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "lz"])
def test_compressed_file_that_ends_early_is_read_up_to_there(suffix: str) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(200_000))
    found = read(COMPRESSORS[suffix](lines)[:-2_000])
    assert found.text.startswith("line 0\nline 1\n")
    assert found.reason == "the compressed data is damaged or ends early, the text behind is missing"


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_bomb_is_cut_or_refused(suffix: str) -> None:
    found = read(COMPRESSORS[suffix](b" " * 60_000_000), "http://h/a.txt", limits=ExtractionLimits(max_document_bytes=1_000_000))
    assert found.text == ""
    assert found.reason is not None
    assert "1000000 bytes" in found.reason


def test_compressed_files_in_one_another_have_a_bound() -> None:
    data = b"words"
    for _ in range(unpacking.MAX_DEPTH):
        data = gzip.compress(data)
    assert read(data).text == "words"
    assert "inside of" in (read(gzip.compress(data)).reason or "")


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://h/man/ls.1.gz", "http://h/man/ls.1"),
        ("http://h/a.TGZ?x=.zip", "http://h/a.tar"),
        ("http://h/a.svgz#f", "http://h/a.svg"),
        ("http://h/ls.1.Z", "http://h/ls.1"),
        ("http://h/a.tar.lz", "http://h/a.tar"),
        ("http://h/a.tlz", "http://h/a.tar"),
        ("http://h/a", "http://h/a"),
    ],
)
def test_name_inside_loses_the_suffix(url: str, inside: str) -> None:
    assert name_inside(url, b"") == inside


def test_name_inside_is_that_of_the_gzip_file_if_the_url_has_none() -> None:
    buffer = io.BytesIO()
    with gzip.GzipFile("notes.md", "wb", fileobj=buffer) as file:
        file.write(b"# Head\n\nwords")
    found = read(buffer.getvalue(), "http://h/get?id=1")
    assert (found.mimetype, found.title) == (sniff.MARKDOWN, "Head")


# --- archives -------------------------------------------------------------------------------------------------------------------

FILES = {
    "notes/a.txt": b"words of text",
    "b.html": b"<title>t</title><nav>menu</nav><p>words of page",
    "c.pdf": make_pdf(["of pdf"]),
    "d.png": b"\x89PNG\r\n\x1a\n",
}


@pytest.mark.parametrize("make", [make_zip, make_tar, lambda files: gzip.compress(make_tar(files))], ids=["zip", "tar", "tgz"])
def test_archive_is_the_texts_of_its_files_with_their_names(make: Callable[[dict[str, bytes]], bytes]) -> None:
    found = read(make(FILES))
    assert found.text.split("\n") == ["notes/a.txt", "words of text", "b.html", "words of page", "c.pdf", "of pdf", "d.png"]
    assert (found.navigation, found.title, found.reason) == ("menu", None, None)
    assert found.mimetype in (sniff.ZIP, sniff.TAR)


@pytest.mark.parametrize("name", ["lzma2", "deflate"])
def test_seven_zip_is_the_texts_of_its_files(name: str) -> None:
    found = read(SEVEN_ZIPS[name])
    assert sorted(found.text.split("\n")) == ["a.txt", "docs/b.html", "second words", "words of the first"]
    assert (found.mimetype, found.reason) == (sniff.SEVEN_ZIP, None)


def test_seven_zip_without_compression_is_read() -> None:
    assert read(SEVEN_ZIPS["copy"]).text == "a.txt\nwords of the first"


def test_part_of_a_seven_zip_says_so() -> None:
    found = read(SEVEN_ZIPS["copy"][:-1])
    assert (found.text, found.mimetype) == ("", sniff.SEVEN_ZIP)
    assert found.reason == "the directory of the archive is missing: the file is one part of several, or it is cut"


def test_encrypted_files_are_left_out_by_name() -> None:
    assert (read(SEVEN_ZIPS["encrypted"]).text, read(SEVEN_ZIPS["encrypted"]).reason) == ("a.txt", "a.txt: it is encrypted")
    assert read(SEVEN_ZIPS["encrypted names"]).reason == "the directory of the archive cannot be read: it is encrypted"
    data = bytearray(make_zip({"a.txt": "secret"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert (read(bytes(data)).text, read(bytes(data)).reason) == ("a.txt", "a.txt: it is encrypted")


def test_names_of_files_are_words_and_lead_nowhere() -> None:
    found = read(make_tar({"../../etc/passwd": b"one", "/etc/shadow": b"two", "line\nend\x07.txt": b"three"}))
    assert found.text == "../../etc/passwd\none\n/etc/shadow\ntwo\nline end.txt\nthree"


def test_names_in_old_charsets_are_decoded() -> None:
    data = make_zip({"xxxxxxxx.txt": "words"}).replace(b"xxxxxxxx", "größe".encode() + b"x")
    assert read(data).text == "größex.txt\nwords"


def test_office_files_stay_office_files_and_may_stand_in_archives() -> None:
    assert read(make_docx(paragraph("words"))).mimetype == sniff.DOCX
    found = read(make_zip({"a.docx": make_docx(paragraph("words")), "in.zip": make_zip({"b.txt": "more"})}))
    assert found.text == "a.docx\nwords\nin.zip\nb.txt\nmore"


@pytest.mark.parametrize("name", ["META-INF/MANIFEST.MF", "AndroidManifest.xml"])
def test_packages_of_programs_are_not_read(name: str) -> None:
    found = read(make_zip({name: "x", "a.txt": "words"}), "http://h/some-tool.bin")
    assert (found.text, found.reason) == ("some tool", "packages of programs are not read, only the name is known")


@pytest.mark.parametrize(
    ("begin", "kind"),
    [
        (b"Rar!\x1a\x07\x01\0", "RAR archives"),
        (b"MSCF\0\0\0\0", "cabinet archives"),
        (b"!<arch>\nmember", "ar archives"),
        (b"!<arch>\ndebian-binary", "packages of programs"),
        (b"\xed\xab\xee\xdb\x03\0", "packages of programs"),
        (b"\x04\x22\x4d\x18", "LZ4 files"),
        (b"070701000000", "cpio archives"),
        (bytes(0x8001) + b"CD001\x01\0", "disk images"),
    ],
)
def test_archive_of_another_kind_is_known_by_name_and_says_its_kind(begin: bytes, kind: str) -> None:
    found = read(begin + bytes(100), "http://h/annual-report.dat", "application/octet-stream")
    assert found.text == "annual report"
    assert (found.reason or "").startswith(f"{kind} are not read, only the name is known")


def test_page_in_an_archive_with_a_rule_of_access_restricts_the_archive() -> None:
    found = read(make_zip({"a.html": '<meta name="google:aclusers" content="ann"><p>secret', "b.txt": "more"}))
    assert found.metadata == (("google:aclusers", "ann"),)


def test_page_in_an_archive_that_asks_not_to_be_indexed_is_known_by_name() -> None:
    found = read(make_zip({"a.html": '<meta name="robots" content="noindex"><p>unwanted', "b.txt": "more"}))
    assert found.text == "a.html\nb.txt\nmore"


def test_damaged_file_is_left_out_with_its_reason_and_the_others_are_read() -> None:
    found = read(make_zip({"bad.pdf": b"%PDF-1.4 rest", "b.txt": "more"}))
    assert found.text == "bad.pdf\nb.txt\nmore"
    assert (found.reason or "").startswith("bad.pdf: ")


@pytest.mark.parametrize(("method", "pack"), [(93, COMPRESSORS["zst"]), (20, COMPRESSORS["zst"]), (95, lzma.compress)])
def test_files_of_a_zip_packed_by_newer_methods_are_read(method: int, pack: Callable[[bytes], bytes]) -> None:
    page = b"<title>T</title><p>of a page"
    data = make_packed_zip(
        {"a.html": (method, pack(page), page), "b.txt": (method, pack(b"of a text"), b"of a text"), "c.txt": (0, b"c", b"c")}
    )
    found = read(data)
    assert (found.text, found.reason) == ("a.html\nof a page\nb.txt\nof a text\nc.txt\nc", None)


@pytest.mark.parametrize(("method", "pack"), [(93, COMPRESSORS["zst"]), (95, lzma.compress)])
def test_damaged_file_of_a_zip_packed_by_newer_methods_is_left_out(method: int, pack: Callable[[bytes], bytes]) -> None:
    whole = random.Random(1).randbytes(3_000).hex().encode()
    packed = pack(whole)
    changed = bytearray(packed)
    changed[len(changed) // 2] ^= 0xFF
    files = {"cut.txt": packed[:-100], "changed.txt": bytes(changed), "empty.txt": b"", "short.txt": pack(whole[:-1]), "plain.txt": whole}
    found = read(make_packed_zip({name: (method, data, whole) for name, data in files.items()}))
    assert found.text == "\n".join(files)
    assert found.reason == "cut.txt: it is damaged; changed.txt: it is damaged; empty.txt: it is damaged; and 2 more files"


def test_file_of_a_zip_packed_by_another_method_is_left_out_by_name() -> None:
    found = read(make_packed_zip({"a.txt": (97, b"packed", b"words"), "b.txt": (0, b"more", b"more")}))
    assert (found.text, found.reason) == ("a.txt\nb.txt\nmore", "a.txt: it is compressed by a method that is not read")


def test_reasons_name_the_first_files_and_count_the_others() -> None:
    found = read(make_zip({f"{number}.pdf": b"%PDF-1.4 rest" for number in range(9)}))
    assert (found.reason or "").endswith("; and 6 more files")


# --- hostile archives -----------------------------------------------------------------------------------------------------------


def test_zip_whose_files_share_bytes_is_refused() -> None:
    data = bytearray(make_zip({"a": b"x" * 5_000, "b": b"y" * 5_000}, compression=zipfile.ZIP_STORED))
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = bytes(data[start : data.index(b"PK\x01\x02", start + 1)])
    directory = entry * 50
    tail = bytearray(data[end:])
    tail[8:12] = (50).to_bytes(2, "little") * 2
    tail[12:16] = len(directory).to_bytes(4, "little")
    assert read(bytes(data[:start]) + directory + bytes(tail)).reason == "the archive is damaged: its files overlap"


def test_archive_unpacks_within_the_bound_of_its_size() -> None:
    found = read(make_zip({f"{number}.bin": bytes(4_000_000) for number in range(9)} | {"last.txt": "words"}))
    assert found.text == "0.bin\n1.bin\n2.bin"
    assert found.reason == "the files behind are left out: it unpacks to more bytes than are allowed for its size"


@pytest.mark.parametrize(("method", "pack"), [(93, COMPRESSORS["zst"]), (95, lzma.compress)])
def test_zip_packed_by_newer_methods_unpacks_within_the_bound_of_its_size(method: int, pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(bytes(100_000_000))
    began = time.process_time()
    found = read(make_packed_zip({"a.bin": (method, bomb, b"x" * 10), "b.txt": (0, b"words", b"words")}))
    assert found.reason == "the files behind are left out: it unpacks to more bytes than are allowed for its size"
    assert time.process_time() - began < 5


def test_archives_in_archives_share_their_bounds_and_have_a_depth() -> None:
    data = make_zip({"a.txt": "words"})
    for _ in range(unpacking.MAX_DEPTH):
        data = make_zip({"in.zip": data})
    found = read(data)
    assert found.text == "\n".join(["in.zip"] * unpacking.MAX_DEPTH)
    assert "an archive inside of" in (found.reason or "")
    inner = make_zip({"zeros": bytes(3_000_000)})
    assert "more bytes than are allowed" in (read(make_zip({f"{number}.zip": inner for number in range(9)})).reason or "")


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_archive_of_many_files_is_read_up_to_a_bound(make: Callable[[dict[str, bytes]], bytes]) -> None:
    found = read(make({f"{number}": b"w" for number in range(unpacking.MAX_FILES + 10)}))
    assert found.reason == f"the files behind are left out: there are more than {unpacking.MAX_FILES} files"
    assert found.text.count("w") == unpacking.MAX_FILES


def test_archive_beyond_its_time_says_so() -> None:
    found = read(make_tar({"a.txt": b"words"}), limits=ExtractionLimits(seconds=0.0))
    assert (found.text, found.reason) == ("", "the files behind are left out: reading all of its files takes too long")


def test_tar_header_that_claims_more_than_there_is_costs_nothing() -> None:
    info = tarfile.TarInfo("huge.txt")
    info.size = 1 << 60
    found = read(info.tobuf(tarfile.GNU_FORMAT) + b"words")
    assert found.text == "huge.txt\nwords"
    assert found.reason == "huge.txt: it was cut after 31457280 bytes"


def test_sparse_file_is_left_out() -> None:
    info = tarfile.TarInfo("sparse")
    info.type = tarfile.GNUTYPE_SPARSE
    assert read(info.tobuf(tarfile.GNU_FORMAT) + make_tar({"a.txt": b"words"})).reason == "sparse: it is a sparse file"


def test_tar_names_of_any_length_are_read() -> None:
    name = "deep/" * 60 + "ä.txt"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert read(make_tar({name: b"words"}, form)).text.split("\n") == [name[:300], "words"]


def test_damaged_tar_is_read_up_to_the_damage() -> None:
    data = make_tar({"a.txt": b"words", "b.txt": b"more"})
    found = read(data[:1024] + b"\xff" * 600 + data[1624:])
    assert (found.text, found.reason) == ("a.txt\nwords", "the archive is damaged, the files behind the damage are missing")


@pytest.mark.parametrize("name", SEVEN_ZIPS)
def test_seven_zip_with_changed_bytes_is_read_or_refused(name: str) -> None:
    data = SEVEN_ZIPS[name]
    for place in range(len(data)):
        for value in (0, 0xFF, data[place] ^ 1):
            found = read(data[:place] + bytes([value]) + data[place + 1 :])
            assert "cannot be read: " not in (found.reason or "").replace("directory of the archive cannot be read: it", "")


@settings(max_examples=count_examples(50), deadline=None)
@given(
    st.binary(max_size=2_000),
    st.sampled_from([b"7z\xbc\xaf\x27\x1c\0\4", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"\x1f\x9d\x90", b"LZIP\1\x17"]),
)
def test_any_bytes_behind_a_signature_are_an_answer(data: bytes, signature: bytes) -> None:
    assert "the document cannot be read" not in (read(signature + data).reason or "")
