"""Makes the page of a folder: links to what is in it, and to the next piece of a folder that is large.

Names stand in order. A piece ends after a number of names or of bytes, and its last link leads on behind its last name, so a folder of any
size is read in bounded memory.
"""

import heapq
from collections.abc import Iterable
from html import escape
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

PIECE_NAMES: Final = 5_000
_AFTER: Final = "/?after="


class FolderPlace(NamedTuple):
    """Where a folder's URL leads: the URL of the folder, and the name behind which the piece begins, b"" for the first."""

    url: str
    after: bytes


def split_piece(url: str) -> FolderPlace:
    """Splits the URL of a piece; any other URL stays as it is."""
    folder, sign, after = url.rpartition(_AFTER)
    return FolderPlace(folder + "/", unquote_to_bytes(after)) if sign and "/" not in after else FolderPlace(url, b"")


def render_folder_page(place: FolderPlace, names: Iterable[tuple[bytes, bool]], max_bytes: int) -> bytes:
    """Returns the page of a piece of a folder. Shape: names in UTF-8, or what stands on the disk, each with whether it is a folder."""
    listed = heapq.nsmallest(PIECE_NAMES + 1, (each for each in names if each[0] > place.after))
    lines = ["<!DOCTYPE html><meta charset=utf-8><title>", escape(place.url), "</title>"]
    last, size = b"", 2 * len(place.url) + 500
    for number, (name, is_folder) in enumerate(listed):
        line = f'<a href="{escape(place.url)}{quote(name, safe="")}{"/" * is_folder}">{escape(name.decode("utf-8", "replace"))}</a>\n'
        size += len(line.encode("utf-8", "replace"))
        if number == PIECE_NAMES or (size > max_bytes and last):
            lines.append(f'<a href="{escape(place.url)}?after={quote(last, safe="")}">more</a>\n')
            break
        lines.append(line)
        last = name
    return "".join(lines).encode("utf-8", "replace")
