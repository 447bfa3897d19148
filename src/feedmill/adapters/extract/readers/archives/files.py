"""Makes one content of the files of an archive: their names, each with its text. Names are words and lead to no file."""

from collections.abc import Callable, Iterator

from feedmill.adapters.extract import sniff
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.archives.sevenzip import iter_seven_zip
from feedmill.adapters.extract.readers.archives.tar import iter_tar
from feedmill.adapters.extract.readers.archives.unpacking import Exhausted, Member, Unpacking
from feedmill.adapters.extract.readers.archives.zips import iter_zip
from feedmill.adapters.extract.readers.content import Content, Unreadable
from feedmill.model.access import ACL_NAME_PREFIX

READERS: dict[str, Callable[[bytes, Unpacking], Iterator[Member]]] = {
    sniff.ZIP: iter_zip,
    sniff.TAR: iter_tar,
    sniff.SEVEN_ZIP: iter_seven_zip,
}
_NAME_CHARACTERS = 300
_REASONS_SHOWN = 3
# what the programs of macOS add about each file
_SHADOWS = ("__MACOSX/", "._")


def read_archive(data: bytes, mimetype: str, unpacking: Unpacking, characters: int, read: Callable[[Member], Content]) -> Content:
    """Reads an archive. Shape: ``read`` reads one file, and raises Unreadable. Errors: Unreadable if nothing of it can be read.

    A rule of access in a page restricts the whole archive. A page that asks not to be indexed is left out.
    """
    contents: list[Content] = []
    names: list[str] = []
    left_out: list[str] = []
    size = 0
    end = None
    try:
        for member in READERS[mimetype](data, unpacking):
            if member.name.rpartition("/")[2].startswith(_SHADOWS) or member.name.startswith(_SHADOWS):
                continue
            name = clean_line(member.name, _NAME_CHARACTERS)
            content, reason = _read_member(member, read)
            if reason is not None:
                left_out.append(f"{name}: {reason}" if name else reason)
            names.append(name)
            contents.append(content)
            size += len(content.text) + len(content.navigation) + len(name)
            if size > characters:
                break
    except Exhausted as exc:
        end = f"the files behind are left out: {exc}"
    reasons = left_out[:_REASONS_SHOWN]
    if len(left_out) > len(reasons):
        reasons.append(f"and {len(left_out) - len(reasons)} more files")
    reasons += [end] if end else []
    return Content(
        text="\n".join(part for name, content in zip(names, contents, strict=True) for part in (name, content.text)),
        navigation="\n".join(content.navigation for content in contents if content.navigation),
        metadata=tuple(pair for content in contents for pair in content.metadata if pair[0].lower().startswith(ACL_NAME_PREFIX)),
        robots=frozenset().union(*(content.robots for content in contents)),
        reason="; ".join(reasons) or None,
    )


def _read_member(member: Member, read: Callable[[Member], Content]) -> tuple[Content, str | None]:
    if member.reason is not None:
        return Content(), member.reason
    try:
        content = read(member)
    except Unreadable as exc:
        return Content(), str(exc)
    except RecursionError:
        return Content(), "it is nested too deeply"
    if "noindex" in content.robots:
        return Content(metadata=content.metadata), None
    return content, content.reason
