"""Reads the metadata of a record: ordinary entries on one side, ``google:acl*`` on the other.

Rules:

1. White space around a name is dropped, a value stays as written. Names retain their spelling, values their order.
2. An entry without name or value is dropped with a warning. When nothing is left, that is no metadata at all.
3. ``encoding="base64binary"`` encodes name and value. One that cannot be decoded is dropped with a warning, unless its name may be that
   of an ACL entry: then the record is unreadable.
4. Only ``google:acl*`` is taken out; every other ``google:`` name is metadata like any other.
Source: Feeds Protocol Developer's Guide, "Adding Metadata Information to a Record", "Metadata Base64 Encoding".
"""

from collections.abc import Iterable

from feedmill.model.access import Acl
from feedmill.model.document import Metadata
from feedmill.model.lightdataclass import light_dataclass
from feedmill.wire.gsafeed.acls import is_legacy, read_legacy
from feedmill.wire.gsafeed.content import Undecodable, decode_base64
from feedmill.wire.gsafeed.schema import Attributes
from feedmill.wire.tokens import MAX_NAME_CHARACTERS, Unreadable, read_token, shorten

# The beginnings of base64 texts that encode a name with the prefix "google:acl".
_LEGACY_IN_BASE64 = "Z29vZ2xlOmFjb"


@light_dataclass(frozen=True, slots=True, kw_only=True)
class RecordMetadata:
    """The metadata of a record. ``entries`` is None without any metadata, ``legacy`` without any ACL entry."""

    entries: Metadata | None = None
    legacy: Acl | None = None
    warnings: tuple[str, ...] = ()


_NOTHING = RecordMetadata()


def read_metadata(metas: Iterable[Attributes]) -> RecordMetadata:
    """Returns the metadata of one record. Errors: Unreadable if an ACL entry is unreadable."""
    entries: list[tuple[str, str]] = []
    legacy: list[tuple[str, str]] = []
    empty: list[str] = []
    faults: list[str] = []
    for attributes in metas:
        try:
            name, value = _read_meta(attributes)
        except Undecodable as exc:
            faults.append(str(exc))
            continue
        if is_legacy(name):
            legacy.append((name, value))
        if not name or not value:
            empty.append(name or "without a name")
        elif len(name) > MAX_NAME_CHARACTERS:
            faults.append(f"a metadata name longer than {MAX_NAME_CHARACTERS} characters was dropped")
        elif not is_legacy(name):
            entries.append((name, value))
    if not entries and not any(value for _, value in legacy):
        return RecordMetadata(warnings=_report(empty, faults)) if empty or faults else _NOTHING
    return RecordMetadata(entries=tuple(entries), legacy=read_legacy(legacy) if legacy else None, warnings=_report(empty, faults))


def _read_meta(attributes: Attributes) -> tuple[str, str]:
    name, value = attributes.get("name", "").strip(), attributes.get("content", "")
    encoding = attributes.get("encoding")
    if encoding is None or not encoding.strip():
        return name, value
    if read_token(encoding) not in ("base64binary", "base64"):
        if is_legacy(name) or name.startswith(_LEGACY_IN_BASE64):
            raise Unreadable(f'encoding="{shorten(encoding)}" of ACL metadata is unknown')
        raise Undecodable(f'metadata "{shorten(name)}" was dropped: its encoding "{shorten(encoding)}" is not base64binary')
    try:
        decoded = decode_base64(name)
        raw = decode_base64(value)
    except Undecodable as exc:
        if is_legacy(name) or name.startswith(_LEGACY_IN_BASE64):
            raise Unreadable("ACL metadata that is not base64, although its encoding says so") from exc
        raise Undecodable(f'metadata "{shorten(name)}" was dropped: {exc}') from exc
    return _decode_text(decoded).strip(), _decode_value(raw, closed=is_legacy(_decode_text(decoded).strip()))


def _decode_text(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return text.replace("\x00", "")


def _decode_value(data: bytes, *, closed: bool) -> str:
    if closed:
        try:
            return data.decode("utf-8").replace("\x00", "")
        except UnicodeDecodeError as exc:
            # Decoded by another charset, the name could be that of another principal.
            raise Unreadable("ACL metadata in base64 that is not UTF-8") from exc
    return _decode_text(data)


def _report(empty: list[str], faults: list[str]) -> tuple[str, ...]:
    warnings = list(dict.fromkeys(faults[:10]))
    if len(faults) > 10:
        warnings.append(f"{len(faults)} metadata entries in all could not be read")
    if empty:
        names = ", ".join(shorten(name) for name in dict.fromkeys(empty[:10]))
        warnings.append(f"{len(empty)} metadata entries without a value were dropped ({names})")
    return tuple(warnings)
