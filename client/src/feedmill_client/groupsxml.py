"""Writes groups feeds, piece by piece. Source: Feeds Protocol Developer's Guide, "Designing an XML Groups Feed".

Example::

    from feedmill_client import feedxml, groupsxml

    board = feedxml.render_principal("board", namespace="Default", case_sensitive=True, scope="group")
    feed = groupsxml.BEGIN_FEED + groupsxml.render_membership(board, []) + groupsxml.END_FEED
"""

from collections.abc import Iterable
from typing import Final

BEGIN_FEED: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<xmlgroups>\n'
END_FEED: Final = "</xmlgroups>\n"


def render_membership(group: str, members: Iterable[str]) -> str:
    """Returns the definition of a group; the group and its members are principals that ``feedxml`` has rendered."""
    lines = "".join(f"{member}\n" for member in members)
    return f"<membership>\n{group}\n<members>\n{lines}</members>\n</membership>\n"
