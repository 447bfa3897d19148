"""Turns one task into its answer: detects the type, calls the reader of the format and cleans its result.

An exception of a reader becomes an answer with a reason in plain words, except exceptions that end the process.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import quote

from feedmill.adapters.extract import sniff
from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line, clean_text
from feedmill.adapters.extract.language import detect_language
from feedmill.adapters.extract.pool.filepassing import read_path
from feedmill.adapters.extract.readers.archives import files
from feedmill.adapters.extract.readers.archives.compressed import decompress, name_inside
from feedmill.adapters.extract.readers.archives.unpacking import Member, Unpacking, begin_unpacking
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.adapters.extract.readers.epub import read_epub
from feedmill.adapters.extract.readers.html import read_html
from feedmill.adapters.extract.readers.image import name_of, read_image
from feedmill.adapters.extract.readers.legacy import read_legacy
from feedmill.adapters.extract.readers.mail import read_mail
from feedmill.adapters.extract.readers.manpage import read_manual_page
from feedmill.adapters.extract.readers.ooxml import read_docx, read_pptx
from feedmill.adapters.extract.readers.opendocument import read_opendocument
from feedmill.adapters.extract.readers.pdf import read_pdf
from feedmill.adapters.extract.readers.plaintext import read_markdown, read_plain, read_xml
from feedmill.adapters.extract.readers.postscript import read_postscript
from feedmill.adapters.extract.readers.titlelines import holds_prose
from feedmill.adapters.extract.readers.xlsx import read_xlsx
from feedmill.adapters.extract.structure import build_structure
from feedmill.core.urls.links import resolve_each
from feedmill.model.document import Attachment
from feedmill.model.extraction import Extraction, ExtractionLimits, Task

_METADATA_CHARACTERS = 400_000
_PLAIN = "text/plain"
_HEADINGS_CHARACTERS = 20_000

_BINARY_READERS: dict[str, Callable[[bytes, ExtractionLimits], Content]] = {
    sniff.PDF: read_pdf,
    sniff.DOCX: read_docx,
    sniff.XLSX: read_xlsx,
    sniff.PPTX: read_pptx,
    sniff.ODT: read_opendocument,
    sniff.ODS: read_opendocument,
    sniff.ODP: read_opendocument,
    sniff.EPUB: read_epub,
    sniff.MAIL: read_mail,
}
_LEGACY = frozenset({sniff.DOC, sniff.XLS, sniff.PPT, sniff.RTF, sniff.MSG})


def extract(task: Task, limits: ExtractionLimits, read_file: Callable[[str, int], bytes] = read_path) -> Extraction:
    """Extracts one document. Shape: ``read_file`` returns the first bytes of a path. Errors: none but those that end the process."""
    mimetype = sniff.normalize(task.mimetype) or sniff.BINARY
    if task.charset is None and (charset := sniff.find_charset(task.mimetype)) is not None:
        task = replace(task, charset=charset)
    try:
        if task.text_bytes:
            return _extract_around_text(task, limits, read_file)
        if task.attachments:
            return _extract_with_attachments(task, limits, read_file)
        data, cut = _load(task, limits, read_file)
        unpacking = begin_unpacking(len(data), limits.max_document_bytes, limits.seconds)
        opened = _open_compressed(task, data, cut, unpacking)
        mimetype = opened.mimetype
        content = _read_content(opened.task, opened.data, mimetype, opened.cut, limits, unpacking)
        if opened.reason:
            content = replace(content, reason="; ".join(filter(None, (content.reason, opened.reason))))
        return _build_extraction(task, mimetype, content, opened.cut, limits)
    except Unreadable as exc:
        reason = str(exc)
    except MemoryError:
        reason = f"extraction needed more than {limits.memory_bytes // 1_000_000} MB of memory"
    except RecursionError:
        reason = "the document is nested too deeply"
    except Exception as exc:  # noqa: BLE001 - one document, and the reason is stored with it
        reason = clean_line(f"the document cannot be read: {type(exc).__name__}: {exc}", 300)
    return Extraction(key=task.key, mimetype=mimetype, reason=reason)


def _extract_around_text(task: Task, limits: ExtractionLimits, read_file: Callable[[str, int], bytes]) -> Extraction:
    """Takes the text as its sender wrote it, and everything else from the document in the bytes after it.

    A document after a text beyond the limit is not read, so that the memory stays bounded.
    """
    limit = limits.max_document_bytes
    cut = task.text_bytes > limit
    # One byte of the document beyond the limit, which shows whether it is cut.
    loaded, _ = _load(task, replace(limits, max_document_bytes=limit if cut else task.text_bytes + limit + 1), read_file)
    given, data = loaded[: task.text_bytes], loaded[task.text_bytes :]
    content = read_plain(given, task.charset)
    if not data:
        return _build_extraction(task, sniff.normalize(task.mimetype) or _PLAIN, content, cut, limits)
    answer = _build_extraction(task, _PLAIN, content, cut, limits)
    original = extract(replace(task, data=data, path=None, charset=None, text_bytes=0), limits)
    return replace(
        original,
        text=answer.text,
        navigation="",
        language=answer.language or original.language,
        headings="",
        structure=answer.structure,
        reason=answer.reason,
    )


def _extract_with_attachments(task: Task, limits: ExtractionLimits, read_file: Callable[[str, int], bytes]) -> Extraction:
    """Extracts the document, and adds the names and texts of the files behind it. What cannot be read of a file is in the reason."""
    data, _ = _load(task, limits, read_file)
    own = data[: task.attachments[0].start]
    mimetype = sniff.normalize(task.mimetype) or _PLAIN
    answer = extract(replace(task, data=own, path=None, attachments=()), limits) if own else Extraction(key=task.key, mimetype=mimetype)
    texts, reasons = [answer.text], [answer.reason] if answer.reason else []
    for attachment in task.attachments:
        found = _extract_attachment(task, attachment, data, limits)
        texts += [attachment.name, found.text]
        if found.reason:
            reasons.append(f"{attachment.name or 'attachment'}: {found.reason}")
    text = "\n".join(filter(None, texts))
    if len(text) > limits.text_characters:
        text = text[: limits.text_characters]
        reasons.append(f"the text was cut after {limits.text_characters} characters")
    return replace(answer, text=text, language=answer.language or detect_language(text), reason="; ".join(reasons) or None)


def _extract_attachment(task: Task, attachment: Attachment, data: bytes, limits: ExtractionLimits) -> Extraction:
    end = attachment.start + attachment.size_bytes
    if end > len(data):
        reason = f"it is beyond {limits.max_document_bytes} bytes (setting limits.max_document_bytes)"
        return Extraction(key=task.key, mimetype=attachment.mimetype, reason=reason)
    inner = Task(key=task.key, url=attachment.name or task.url, mimetype=attachment.mimetype or None, data=data[attachment.start : end])
    return extract(inner, limits)


def _load(task: Task, limits: ExtractionLimits, read_file: Callable[[str, int], bytes]) -> tuple[bytes, bool]:
    limit = limits.max_document_bytes
    data = task.data
    if data is None:
        # One byte beyond the limit, which shows whether the document is cut.
        data = b"" if task.path is None else read_file(task.path, limit + 1)
    return (data[:limit], True) if len(data) > limit else (data, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A document without the compression around it. Shape: ``task`` has the name and the type of what is inside."""

    task: Task
    data: bytes
    cut: bool
    mimetype: str
    reason: str | None = None


def _open_compressed(task: Task, data: bytes, cut: bool, unpacking: Unpacking, reason: str | None = None) -> _Opened:
    """Returns the file inside of a compressed file, which is read in its place. Errors: Unreadable if too many are in one another."""
    mimetype = sniff.sniff(data, task.mimetype, task.url)
    if mimetype not in sniff.COMPRESSED:
        return _Opened(task=task, data=data, cut=cut, mimetype=mimetype, reason=reason)
    unpacking.enter()
    inside = decompress(data, mimetype, unpacking.file_bytes, unpacking.take)
    hint = task.mimetype if sniff.is_textual(sniff.normalize(task.mimetype) or "") else None
    file = replace(task, url=name_inside(task.url, data), mimetype=hint)
    # the end of a document that was cut is missing in any case, and its reason is given already
    opened = _open_compressed(file, inside.data, cut or inside.is_cut, unpacking, reason or (None if cut else inside.reason))
    unpacking.leave()
    return opened


def _read_file(member: Member, limits: ExtractionLimits, unpacking: Unpacking) -> Content:
    """Reads a file of an archive as a document. Errors: Unreadable. Files of types without text have no content."""
    task = Task(key=0, url=quote(member.name), mimetype=None)
    opened = _open_compressed(task, member.data, member.is_cut, unpacking)
    if not opened.data or not _has_text(opened.mimetype):
        return Content()
    left = replace(limits, seconds=unpacking.seconds_left(limits.seconds))
    try:
        content = _read_content(opened.task, opened.data, opened.mimetype, opened.cut, left, unpacking)
    except (Unreadable, RecursionError, MemoryError):
        raise
    except Exception as exc:
        raise Unreadable(clean_line(f"the document cannot be read: {type(exc).__name__}: {exc}", 300)) from exc
    cut = f"it was cut after {limits.max_document_bytes} bytes" if opened.cut else None
    return replace(content, reason="; ".join(filter(None, (content.reason, opened.reason, cut))) or None)


def _has_text(mimetype: str) -> bool:
    return mimetype in _BINARY_READERS or mimetype in _LEGACY or mimetype in files.READERS or sniff.is_textual(mimetype)


def _read_archive(data: bytes, mimetype: str, cut: bool, limits: ExtractionLimits, unpacking: Unpacking) -> Content:
    if cut and mimetype != sniff.TAR:
        raise Unreadable(_explain_uncuttable(limits))
    unpacking.enter()
    content = files.read_archive(data, mimetype, unpacking, limits.text_characters, lambda member: _read_file(member, limits, unpacking))
    unpacking.leave()
    return content


def _explain_uncuttable(limits: ExtractionLimits) -> str:
    return f"the document is larger than {limits.max_document_bytes} bytes (setting limits.max_document_bytes), its format cannot be cut"


def _read_content(task: Task, data: bytes, mimetype: str, cut: bool, limits: ExtractionLimits, unpacking: Unpacking) -> Content:
    if kind := sniff.UNREAD_ARCHIVES.get(mimetype):
        reason = f"{kind} are not read, only the name is known"
        return Content(text=name_of(task.url), reason=reason if kind == sniff.PACKAGES else f"{reason}; zip, tar and 7z are read")
    if mimetype in sniff.ARCHIVES:
        return _read_archive(data, mimetype, cut, limits, unpacking)
    if mimetype == sniff.HTML:
        return read_html(decode(data, task.charset, is_markup=True), task.url, limits)
    # Before the refusal of cut documents: pages and images are read from their beginning, and a cut one is worth reading.
    if mimetype.startswith("image/") and mimetype != "image/svg+xml":
        return read_image(data, mimetype, task.url)
    if cut and (mimetype in _BINARY_READERS or mimetype in _LEGACY) and mimetype != sniff.MAIL:
        raise Unreadable(_explain_uncuttable(limits))
    if mimetype in _LEGACY:
        return read_legacy(data, mimetype, limits)
    if reader := _BINARY_READERS.get(mimetype):
        return reader(data, limits)
    return _read_text(task, data, mimetype, limits)


def _read_text(task: Task, data: bytes, mimetype: str, limits: ExtractionLimits) -> Content:
    if mimetype == sniff.MARKDOWN:
        return read_markdown(data, task.charset, task.url, limits)
    if mimetype in (sniff.XML, "image/svg+xml") or mimetype.endswith("+xml"):
        return read_xml(data, task.charset)
    if mimetype == sniff.TROFF:
        return read_manual_page(data, task.charset)
    if mimetype == sniff.POSTSCRIPT:
        return read_postscript(data, task.url)
    if sniff.is_textual(mimetype):
        return read_plain(data, task.charset, is_prose=mimetype == sniff.PLAIN and holds_prose(task.url))
    if mimetype == "application/encrypted":
        raise Unreadable("the document is encrypted")
    if mimetype == sniff.BINARY and (declared := sniff.FILE_TYPES.get(sniff.normalize(task.mimetype) or "")):
        return Content(text=name_of(task.url), reason=f"the document is declared as {declared}, but is not one: only the name is known")
    return Content(text=name_of(task.url), reason=f"documents of type {mimetype} have no text that can be read, only the name is known")


def _build_extraction(task: Task, mimetype: str, content: Content, cut: bool, limits: ExtractionLimits) -> Extraction:
    # One character beyond the limit, which shows whether the text is cut.
    text = clean_text(content.text, limits.text_characters + 1)
    reasons = [content.reason] if content.reason else []
    if cut:
        reasons.append(f"the document was cut after {limits.max_document_bytes} bytes (setting limits.max_document_bytes)")
    if len(text) > limits.text_characters:
        text = text[: limits.text_characters]
        reasons.append(f"the text was cut after {limits.text_characters} characters")
    links = list(resolve_each(task.url, content.links[: limits.links]))
    navigation = clean_text(content.navigation, limits.text_characters - len(text)) if content.navigation else ""
    return Extraction(
        key=task.key,
        mimetype=mimetype,
        title=clean_line(content.title) or None,
        text=text,
        navigation=navigation,
        language=detect_language(text or navigation) or content.language,
        metadata=_bound_metadata(content, limits),
        links=tuple(filter(None, links)),
        headings=clean_text(content.headings, _HEADINGS_CHARACTERS),
        structure=build_structure(content.text, [number for number, link in enumerate(links) if link is None]),
        robots=content.robots,
        reason="; ".join(reasons) or None,
    )


def _bound_metadata(content: Content, limits: ExtractionLimits) -> tuple[tuple[str, str], ...]:
    cleaned: list[tuple[str, str]] = []
    budget = _METADATA_CHARACTERS
    for name, value in content.metadata[: limits.metadata]:
        budget -= len(name) + len(value)
        if budget < 0:
            break
        cleaned.append((name, value))
    return tuple(cleaned)
