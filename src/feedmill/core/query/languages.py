"""The parameter ``lr=``: the languages that documents must be written in.

    lr       = clause { "." clause }          as in ``core.query.fields``: "|" joins alternatives, "-" excludes, parentheses group
    language = [ "-" ] [ "lang_" ] CODE

A code is one of ISO 639-1, in any letter case. Older and narrower codes are mapped to the codes that documents have: ``iw`` to ``he``,
``zh-TW`` to ``zh``. A document whose language is unknown matches none. An invalid code demands nothing and causes a warning.
Source: Search Protocol Reference, "Language Filters".
"""

import re

from feedmill.core.query.fields import read_tree
from feedmill.model.query import Language, Node, Not, Or

_CODE = re.compile(r"(?:lang_)?([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)
_SAME = {"iw": ("he",), "in": ("id",), "ji": ("yi",), "jw": ("jv",), "mo": ("ro",), "sh": ("sr", "hr"), "tl": ("tl", "fil")}
_NORWEGIAN = ("no", "nb", "nn")


def read_languages(text: str) -> tuple[Node | None, tuple[str, ...]]:
    """Returns the restriction of the parameter, None for nothing, and the warnings for the user. Errors: none."""
    unknown: list[str] = []

    def read_term(piece: str) -> Node | None:
        is_out = piece.startswith("-")
        found = _CODE.fullmatch(piece.removeprefix("-").strip())
        if found is None:
            unknown.append(piece)
            return None
        node = _ask(found[1].lower())
        return Not(node) if is_out else node

    node, is_cut = read_tree(text, read_term)
    warnings = [f"lr=: {piece[:50]} is no language and was passed over" for piece in unknown[:3]]
    return node, (*warnings, *(("lr= is too long and was cut",) if is_cut else ()))


def _ask(code: str) -> Node:
    codes = _NORWEGIAN if code in _NORWEGIAN else _SAME.get(code, (code,))
    return Language(codes[0]) if len(codes) == 1 else Or(tuple(Language(one) for one in codes))
