"""Reads manual pages: the words that the macros of ``man`` and ``mdoc`` print, in paragraphs, with their sections as headings.

A manual page is a program for a typesetter. This reader runs little of it: conditions choose what is read, as for a terminal; loops and
definitions are skipped, and of unknown requests the words count. So each line is read once at most, whatever a page holds.
Source: groff_man(7), groff_mdoc(7), groff_char(7); mandoc, mdoc(7), "MACRO OVERVIEW".
"""

import re
import unicodedata
from dataclasses import dataclass, field

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.manconditions import Conditions
from feedmill.adapters.extract.structure import END, mark
from feedmill.core.text.structure import Kind
from feedmill.model.document import Metadata

_TITLE_CHARACTERS = 300
_MAX_HEADINGS = 200
_REQUEST = re.compile(r"[.'][ \t]*([^ \t\\]+)?(.*)")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:[^ \t\\]|\\.?)+)')
_NAMED = {
    "em": "—", "en": "–", "hy": "-", "bu": "•", "co": "©", "rg": "®", "tm": "™", "dg": "†", "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
    "aq": "'", "dq": '"', "ga": "`", "ha": "^", "ti": "~", "rs": "\\", "sl": "/", "at": "@", "sh": "#", "Do": "$", "mi": "−", "mu": "×",
    "+-": "±", "->": "→", "<-": "←", "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "if": "∞", "ss": "ß", "de": "°", "Fo": "«", "Fc": "»",
    "ul": "_", "rn": "", "ba": "|", "br": "|", "or": "|", "la": "<", "ra": ">", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "Eu": "€",
    "AE": "Æ", "ae": "æ", "/O": "Ø", "/o": "ø", "oA": "Å", "oa": "å", "Po": "£", "sc": "§", "pc": "·", "14": "¼", "12": "½", "34": "¾",
}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327", "a~": "\u0303"}
_STRINGS = {"lq": "“", "rq": "”", "R": "®", "Tm": "™", "Aq": "'", 'L"': '"', 'R"': '"', "C`": '"', "C'": '"', "--": "–", "PI": "π"}
_ESCAPE = re.compile(
    # long names and values are bounded, so that none of many that do not end looks for its end to the end of the line;
    # comments to the end of the line; characters and strings by name; fonts, sizes, colours, motions, registers; and single signs
    r"""\\(?:["\#].*
    |\((..)|\[([^\]\n]{0,80})\]|C'([^'\n]{0,200})'
    |\*(?:\((..)|\[([^\]\n]{0,80})\]|(.))
    |[fFmMgkYVOn](?:\(..|\[[^\]\n]{0,80}\]|[+-]?.)
    |n[+-]?(?:\(..|\[[^\]\n]{0,80}\]|.)
    |s(?:[+-]?\(..|[+-]?\[[^\]\n]{0,80}\]|'[^'\n]{0,200}'|[+-]?\d)
    |[hvwlLDNHSRXxZbAB]'[^'\n]{0,200}'
    |o'([^'\n]{0,200})'
    |(.)|$)""",
    re.VERBOSE,
)
# the signs around a longer cell of a table
_CELL = re.compile(r"^T\}|(?<!\S)T\{$")
_SINGLE = {"-": "-", "e": "\\", "E": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`", ".": ".", "t": " ", "_": "_"}
_FONT_PAIRS = frozenset({"BR", "RB", "BI", "IB", "IR", "RI"})
_BREAKS = frozenset("PP P LP TP TQ IP HP RS RE br sp Sp Pp El Bl Bd Ed EE EX nf fi Vb Ve YS D1 Dl ce in ti bp ne TE".split())
_WITH_WORDS = frozenset("B I SM SB R UR MT ME UE OP SY CW MR D1 Dl".split())
_UNPRINTED = frozenset(
    (
        "ds as nr rr rm rn tr ft fam ps ss vs ll lt pl po ta hy nh ad na ns rs ev ec eo so mso do cp cc c2 lf wh ch em it nx pm ab "
        "tm UC AT DT PD PM Os Bk Ek Sm if ie el while char fchar schar hla hlm hpf hcode hw als aln lc tc uf cu ul color defcolor "
        "warn kern lg mk rt rj nm nn pc rd ex sv os tl IX shc hym hys Rs Re Xc \\}"
    ).split()
)
_CONDITIONAL, _DEFINING = frozenset({"if", "ie", "el", "while"}), frozenset({"nr", "ds", "de", "de1"})
_SECTIONS, _ITEMS = frozenset({"SH", "SS", "Sh", "Ss"}), frozenset({"It"})
# mdoc: what a macro puts around its words
_AROUND = {
    "Op": ("[", "]"), "Oo": ("[", ""), "Oc": ("]", ""), "Aq": ("<", ">"), "Ao": ("<", ""), "Ac": (">", ""), "Bq": ("[", "]"),
    "Dq": ("“", "”"),
    "Do": ("“", ""), "Dc": ("”", ""), "Sq": ("‘", "’"), "Ql": ("‘", "’"), "Qq": ('"', '"'), "Pq": ("(", ")"),
    "Po": ("(", ""), "Pc": (")", ""),
    "Brq": ("{", "}"), "Fl": ("-", ""), "In": ("<", ">"),
}  # fmt: skip
_MDOC = frozenset(
    (
        "Ar Ad An Bsx Bx Cd Cm Dv Em Er Ev Fa Fn Fo Fc Ft Fx Ic Lb Li Lk Ms Mt Nd Nm No Ns Nx Ot Ox Pa St Sx Sy Ta Tn Ux Va Vt Xr "
        "Xo Bc Bo Ap Pf Rv Ex At"
    ).split()
)
_CALLABLE = _MDOC | frozenset(_AROUND)
_HEADINGS = {"SH": mark(Kind.HEADING_1), "Sh": mark(Kind.HEADING_1), "SS": mark(Kind.HEADING_2), "Ss": mark(Kind.HEADING_2)}
_DEFINITIONS, _TERM, _DESCRIPTION, _ITEM = map(mark, (Kind.DEFINITIONS, Kind.TERM, Kind.DESCRIPTION, Kind.ITEM))
_PREFORMATTED = mark(Kind.PREFORMATTED)
_PLAIN_LIST = re.compile(r"-(?:bullet|dash|hyphen|item|column)\b")
_DEEPEST = 20
_CLOSING = frozenset(".,:;)]?!")


@dataclass(slots=True)
class _Page:
    """What was read of a page. Shape: ``words`` of the paragraph that is open; ``marks`` that stand before each paragraph."""

    paragraphs: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    #: what ends each list that is open, and how far it is indented
    lists: list[tuple[str, int]] = field(default_factory=list)
    indent: int = 0
    #: marks before the paragraph that begins next
    waiting: str = ""
    #: whether the next words are what an item describes
    is_term: bool = False
    headings: list[str] = field(default_factory=list)
    name: str = ""
    section: str = ""
    date: str = ""
    source: str = ""
    is_filled: bool = True

    def end_paragraph(self) -> None:
        if self.words:
            self._append(" ".join(self.words))
            self.words = []

    def _append(self, paragraph: str) -> None:
        self.paragraphs.append(paragraph)
        self.marks.append(self.waiting)
        self.waiting = ""

    def add(self, text: str) -> None:
        if text:
            if self.is_term:
                self.is_term = False
                if any(map(str.isalnum, text)):
                    text = f"{_TERM}{text}{_DESCRIPTION}"
            self.words.append(text)
        if not self.is_filled:
            self.end_paragraph()

    def add_heading(self, text: str, mark_before: str) -> None:
        self.end_paragraph()
        self.indent = 0
        self.end_lists()
        if text:
            self.waiting += mark_before
            self._append(text)
            self.waiting = END
            self.headings.append(text)

    def begin_list(self, begin: str) -> None:
        """Begins a list, if none is open at this indent."""
        self.end_lists(self.indent + 1)
        if not self.lists or self.lists[-1][1] != self.indent:
            self.lists.append((begin, self.indent))
            self.waiting += begin

    def end_lists(self, indent: int = 0) -> None:
        """Ends the lists that are indented so far."""
        while self.lists and self.lists[-1][1] >= indent:
            self.lists.pop()
            self.waiting += END


def read_manual_page(data: bytes, charset: str | None) -> Content:
    """Reads a manual page. Errors: none, any text is a page."""
    page = _Page()
    conditions = Conditions()
    skipped_until: str | None = None
    is_format = False
    for written in decode(data, charset).replace("\r\n", "\n").split("\n"):
        if skipped_until is not None:
            if written[:1] in (".", "'") and written[1:].strip() == skipped_until:
                skipped_until = None
            continue
        if conditions.skips(written):
            continue
        line = _choose(conditions, written)
        if written and not line:
            continue
        if is_format:
            # of a table: the format of its columns, up to a full stop
            is_format = not line.rstrip().endswith(".")
            continue
        if line[:1] not in (".", "'"):
            _add_text(page, line)
            continue
        request = _REQUEST.match(line)
        name, rest = (request[1] or "", request[2].strip()) if request else ("", "")
        if name in _DEFINING:
            conditions.define(name, rest)
        if name in ("de", "de1", "am", "ami", "dei", "ig"):
            skipped_until = rest.split()[-1] if name == "ig" and rest else "."
        elif name == "TS":
            page.end_paragraph()
            is_format = True
        elif name == "EQ":
            skipped_until = "EN"
        elif name:
            _read_request(page, name, rest)
    page.end_paragraph()
    if not page.paragraphs:
        # a page that is only another name of a page
        page.name = page.name or page.source
        page.add_heading(clean_line(page.name, _TITLE_CHARACTERS), _HEADINGS["SH"])
    page.end_lists()
    return Content(
        text="\n".join(f"{marks}{paragraph}" for marks, paragraph in zip(page.marks, page.paragraphs, strict=True)) + page.waiting,
        title=_make_title(page),
        headings="\n".join(page.headings[:_MAX_HEADINGS]),
        metadata=_make_metadata(page),
    )


def _choose(conditions: Conditions, line: str) -> str:
    """Returns the line that stands behind conditions, "" if none is to be read."""
    for _ in range(_DEEPEST):
        request = _REQUEST.match(line)
        if request is None or request[1] not in _CONDITIONAL:
            return line
        line = conditions.choose(request[1], request[2])
    return ""


def _add_text(page: _Page, line: str) -> None:
    text = _print(_CELL.sub("", line))
    if not text.strip():
        page.end_paragraph()
        return
    if line[:1] in (" ", "\t"):
        # such a line begins a new one in print
        page.end_paragraph()
    page.add(text.replace("\t", " ").strip() if page.is_filled else text.rstrip())


def _read_request(page: _Page, name: str, rest: str) -> None:
    if name in ("TH", "Dt"):
        _read_title(page, name, _split(rest))
        return
    if name == "Dd":
        page.date = " ".join(_split(rest))
        return
    if name == "so":
        page.source = rest.rpartition("/")[2]
        return
    if name in _SECTIONS:
        page.add_heading(clean_line(" ".join(_split(rest)), _TITLE_CHARACTERS), _HEADINGS[name])
        return
    if name in _BREAKS:
        page.end_paragraph()
        _begin_block(page, name, rest)
    if name == "IP":
        page.add(" ".join(_split(rest)[:1]))
        page.is_term = False
    elif name in _FONT_PAIRS:
        page.add("".join(_split(rest)))
    elif name in _WITH_WORDS:
        page.add(" ".join(_split(rest)))
    elif name in _ITEMS:
        page.end_paragraph()
        begin = page.lists[-1][0] if page.lists else ""
        if begin and begin != _DEFINITIONS:
            page.waiting += _ITEM
        page.is_term = begin == _DEFINITIONS
        page.add(_read_mdoc(page, _split(rest)))
    elif name in _CALLABLE:
        page.add(_read_mdoc(page, [name, *_split(rest)]))
    elif name not in _BREAKS and name not in _UNPRINTED and name[:1].isalpha():
        page.add(" ".join(_split(rest)))


def _begin_block(page: _Page, name: str, rest: str) -> None:
    """Begins or ends lists and preformatted text."""
    if name in ("TP", "TQ", "IP", "HP"):
        is_item = name != "HP" and (name != "IP" or bool(rest))
        if is_item:
            page.begin_list(_DEFINITIONS)
        page.is_term = is_item
    elif name in ("PP", "P", "LP"):
        page.is_term = False
        page.end_lists(page.indent)
    elif name == "Bl":
        page.indent += 1
        kind = Kind.ORDERED if "-enum" in rest else Kind.UNORDERED if _PLAIN_LIST.search(rest) else Kind.DEFINITIONS
        page.begin_list(mark(kind))
    elif name == "RS":
        page.indent = min(page.indent + 1, _DEEPEST)
    elif name in ("RE", "El"):
        page.end_lists(page.indent if name == "El" else page.indent + 1)
        page.indent = max(page.indent - 1, 0)
    elif name in ("nf", "EX", "Vb", "Bd") and page.is_filled:
        page.is_filled = False
        page.waiting += _PREFORMATTED
    elif name in ("fi", "EE", "Ve", "Ed") and not page.is_filled:
        page.is_filled = True
        page.waiting += END


def _read_title(page: _Page, name: str, values: list[str]) -> None:
    page.name = page.name or "".join(values[:1])
    page.section = "".join(values[1:2])
    if name == "TH":
        page.date = "".join(values[2:3])


def _read_mdoc(page: _Page, values: list[str]) -> str:
    """Returns the words of a line of mdoc, whose macros may stand in one another."""
    parts: list[str] = []
    ends: list[str] = []
    is_joined = True
    for place, value in enumerate(values):
        if value in ("Ns", "Ap", "Pf", "Xo", "Ta", "No"):
            is_joined = value in ("Ns", "Pf")
        elif value in _AROUND:
            before, behind = _AROUND[value]
            # an option may be followed by another, and then its sign stands for itself
            parts.append(before if is_joined or not parts else f" {before}")
            is_joined = True
            ends.append(behind)
        elif value in _MDOC:
            if value == "Nm" and (place + 1 >= len(values) or values[place + 1] in _CALLABLE):
                parts.append(f"{'' if is_joined else ' '}{page.name}")
            elif value == "Nd":
                parts.append("— ")
        elif value == "|" or value not in _CLOSING:
            parts.append(value if is_joined else f" {value}")
            if value and place and values[place - 1] == "Nm" and page.name.isupper():
                page.name = value
            is_joined = False
            if place and values[place - 1] == "Xr" and place + 1 < len(values) and values[place + 1][:1].isdigit():
                values[place + 1], is_joined = f"({values[place + 1]})", True
        else:
            parts.append("".join(reversed(ends)) + value)
            ends.clear()
    return "".join(parts) + "".join(reversed(ends))


def _split(rest: str) -> list[str]:
    """Returns the arguments of a request, as they are printed."""
    comment = rest.find('\\"')
    found = _ARGUMENT.finditer(rest if comment < 0 else rest[:comment])
    return [_print(match[2] if match[1] is None else match[1].replace('""', '"')) for match in found]


def _print(line: str) -> str:
    return _ESCAPE.sub(_print_escape, line) if "\\" in line else line


def _print_escape(match: re.Match[str]) -> str:
    if name := match[1] or match[2] or match[3]:
        return _print_character(name)
    if string := match[4] or match[5] or match[6]:
        return _STRINGS.get(string, "")
    return match[7] or _SINGLE.get(match[8] or "", "")


def _print_character(name: str) -> str:
    if found := _NAMED.get(name):
        return found
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6}){0,4}", name):
        points = [int(part, 16) for part in name[1:].split("_")]
        return "".join(chr(point) for point in points if point <= 0x10FFFF and not 0xD800 <= point < 0xE000)
    return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]]) if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha() else ""


def _make_title(page: _Page) -> str | None:
    """Returns the line behind the first heading, which is the name with a description in every language, or the name with its section."""
    if page.headings and page.headings[0] in page.paragraphs:
        place = page.paragraphs.index(page.headings[0]) + 1
        line = page.paragraphs[place] if place < len(page.paragraphs) else ""
        if line and len(line) <= _TITLE_CHARACTERS and re.search(r"\s[-–—]\s", line):
            return clean_line(line)
    return clean_line(f"{page.name}({page.section})" if page.section else page.name) or None


def _make_metadata(page: _Page) -> Metadata:
    found = (("section", page.section), ("date", page.date))
    return tuple((name, text) for name, value in found if (text := clean_line(value, _TITLE_CHARACTERS)))
