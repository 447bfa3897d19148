"""Tells the main text of a page from its navigation: menus, breadcrumbs, tables of contents, headers and footers of the site.

Four signs make a text navigation. None of them is the name of a class, which each program that writes pages chooses for itself.

- Landmarks: ``nav``, and ``header``, ``footer`` and ``aside`` outside of the main text, or the roles that mean the same. Where a page
  marks its main text (``main``), what is outside of it is navigation too. Source: WAI-ARIA 1.2, "Landmark Roles"; HTML, "Sections".
- Links to the next, the previous or the upper page, and to the page in other languages (``rel``), with the table, list or paragraph in
  which they stand.
- Link density: consecutive blocks that are hardly more than links, or links with a phrase about their pages, with the label before them
  ("Contents"). Cells of a table that has others between or beside them are data.
- Edges: short texts before the first heading, headings there that lead to the part of the site above the page, and short texts beside
  other navigation at the beginning and the end of a page, such as the name of its site, its date, its version, its rights with the
  licence behind them, and the names of the programs that wrote it. The title of a page tells the name of its site.

Where navigation stood inside of the main text, an ellipsis stands for it, so that no sentence continues behind a list of links.

The elements are marked in the tree by characters that no text needs, and the text of the tree is then split block by block, so that the
work is small and grows with the size of the page only.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import compress, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from feedmill.adapters.extract.clean import PASSING
from feedmill.adapters.extract.structure import END, mark, mark_heading, only_structure, without_structure
from feedmill.core.text.structure import Kind
from feedmill.core.text.textblob import QUOTED, UNQUOTED

BOUNDARY = "\f"
"""The white space before each block in the text of a tree. Line ends may be inside of a paragraph, where a page holds ``pre``."""
GAP = "…"

# control characters, which cleaning removes in any case; a landmark has two of them
_LANDMARK_SIGN, _LINK, _LINK_END, _HEADING = "\x0e", "\x13", "\x14", "\x15"
_AROUND, _BEHIND, _MAIN, _MAIN_END = (_LANDMARK_SIGN + second for second in "\x0f\x10\x11\x12")
_OWN = PASSING.decode()
_OWN_MARKS = re.compile(f"[{_OWN}]")
_PIECE = re.compile(f"{_LANDMARK_SIGN}.")
_LINKED = re.compile(f"{_LINK}[^{_LINK_END}]*{_LINK_END}?")
_QUOTE_MARKS = re.compile(f"[{UNQUOTED}{QUOTED}]")
_WORD = re.compile(r"\w+")
_SPACELESS_LETTER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]")
_SIGN = re.compile(f"{_LINK}[^\\w{_LINK}{_LINK_END}\f]{{1,4}}{_LINK_END}")
_TITLE_SEPARATOR = re.compile(r"\s[-\u2010-\u2015|·•»›]\s|:\s")
_VERSION = re.compile(r" v?\d[\w.+~-]{0,30}\Z")
_ENTRY_REST = re.compile(r"\s*[–—]\s.*[^.!?。！？:\s]\s*", re.DOTALL)
_RIGHTS = re.compile(r"\s*(?:©|copyright\b)", re.IGNORECASE)
_DATED_RIGHTS = re.compile(r"\s*(?:©|copyright\b).{0,20}?\d{4}", re.IGNORECASE)
# how some programs write the alternative of a sign beside its name: [Note] Note
_REPEATED = re.compile(r"\[(\w[^\]\f]{0,40})\](?=[\s\x01-\x07]*\1[\s\x01-\x07]*\f)")

_LANDMARK_TAGS = ("nav", "header", "footer", "aside", "select", "button")
_LANDMARKS = frozenset({"main", *_LANDMARK_TAGS})
# begins with letters that the search can jump to: a border of words first takes ten times as long
_ROLE = re.compile(r"role\s*=")
_ANYWHERE = frozenset({"nav", "select", "button"})
_NAVIGATION_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar", "tablist", "doc-toc"})
_CONTENT_TAGS = frozenset({"main", "article", "section"})
_SEQUENCE = re.compile(r"""rel(?<=\brel)\s*=\s*["']?\s*(?:next|prev|alternate)""")
_TABLE_TAGS = frozenset({"table", "tbody", "tr", "td", "th"})
_SEQUENCE_RELATIONS = frozenset({"next", "prev", "previous", "up"})
_OTHER_VERSIONS = frozenset({"alternate"})
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ANY_HEADING = ", ".join(HEADINGS)
_CELLS = (mark(Kind.CELL), mark(Kind.HEADER_CELL))
_LINK_STARTS = {
    (is_stored, is_inner): (mark(Kind.LINK) if is_stored else "") + _LINK * (1 + is_inner)
    for is_stored in (False, True)
    for is_inner in (False, True)
}
_STORED_LINK_END = _LINK_END + END
_HEADING_STARTS = {tag: mark_heading(level) + _HEADING for level, tag in enumerate(HEADINGS, 1)}

MAX_LANDMARKS = 500
MAX_CLIMB = 60
MAX_SEQUENCE_LINKS = 20
MAX_LINKS = 20_000
SEQUENCE_CHARACTERS, SEQUENCE_WORDS, SEQUENCE_TABLE_WORDS = 800, 8, 60
DENSE = 0.6
SENTENCE_WORDS = 10
SENTENCE_LETTERS = 20
LABEL_WORDS, LABEL_CHARACTERS = 5, 60
EDGE_CHARACTERS, RIGHTS_CHARACTERS = 300, 1_000
ENTRY_CHARACTERS = 200
# a logo may stand before the name of a site
_NAME_PLACES = 2
_NOTICE_BLOCKS, _LEAST_BEFORE_NOTICE = 4, 3
LEAST_LINKS = 3
LEAST_MAIN_SHARE = 0.02


Anchor = tuple[LexborNode, bool, bool]
"""An ``a`` with an address: whether it is stored as a link, and whether it leads to a place of the page itself."""


def mark_navigation(tree: LexborHTMLParser, lowered: str, tags: Set[str]) -> frozenset[int]:
    """Marks the elements of navigation in a tree, and returns the headings in them, by their places in the parser's memory.

    Shape: ``lowered`` is the page in lower case, ``tags`` the names in it. The titles and links of the page were read before.
    """
    has_roles = _ROLE.search(lowered) is not None
    marked = _mark_landmarks(tree, tags, has_roles=has_roles) if has_roles or not tags.isdisjoint(_LANDMARKS) else []
    if _SEQUENCE.search(lowered):
        marked += _mark_sequence(tree)
    if tags.isdisjoint(HEADINGS):
        return frozenset()
    return frozenset(heading.mem_id for node in marked for heading in node.css(_ANY_HEADING))


def mark_links(anchors: Sequence[Anchor]) -> None:
    """Marks the links of a page, so that their share of a block can be measured, and that they are known in the text.

    Shape: all ``a`` with an address, in order.
    """
    for node, is_stored, is_inner in anchors[:MAX_LINKS]:
        # links to places of the page itself count twice, since two of them are a table of contents already
        node.insert_before(_LINK_STARTS[is_stored, is_inner])
        node.insert_after(_STORED_LINK_END if is_stored else _LINK_END)


def mark_headings(headings: Sequence[tuple[str, Sequence[LexborNode]]]) -> None:
    """Marks the headings of a page. Shape: the elements of each tag; their texts were read before."""
    for tag, nodes in headings:
        begin = _HEADING_STARTS[tag]
        for node in nodes[:MAX_LINKS]:
            node.insert_before(begin)
            node.insert_after(END)


def without_marks(text: str) -> str:
    """Returns a text without the characters that mark navigation."""
    return _OWN_MARKS.sub("", text) if any(mark in text for mark in _OWN) else text


def split_navigation(text: str, programs: Sequence[str] = (), title: str = "") -> tuple[str, str]:
    """Returns the main text and the navigation of a marked text. Both keep the order of the page.

    Shape: ``programs`` are the names of those that wrote the page, in lower case. The marks of the structure stay in the main text, also
    those that stand in the navigation, so that each has its end. The marks of links and headings stay where they are.
    """
    has_landmarks, has_links = _LANDMARK_SIGN in text, _LINK in text
    names = _list_site_names(title)
    if not (has_landmarks or has_links or programs or names):
        return text, ""
    marked, blocks = text.split(BOUNDARY), without_structure(text).split(BOUNDARY)
    are_navigation = _find_landmarks(blocks) if has_landmarks else [False] * len(blocks)
    are_landmarks = are_navigation.copy()
    _add_dense(blocks, are_navigation, marked)
    is_quoted_partly = UNQUOTED in text or QUOTED in text
    if not is_quoted_partly and not _has_words_of(False, blocks, are_navigation):
        blocks = _quote_lists(blocks, are_landmarks)
    if has_links:
        _add_edges(blocks, are_navigation, programs)
    if names or programs:
        _add_names(blocks, are_navigation, programs, names)
    if is_quoted_partly:
        return _split_quoted(blocks, are_navigation, marked)
    return BOUNDARY.join(_put_gaps(blocks, are_navigation, marked)), BOUNDARY.join(compress(blocks, are_navigation))


def _has_words_of(kind: bool, blocks: list[str], kinds: list[bool]) -> bool:
    return any(each is kind and _WORD.search(block) for block, each in zip(blocks, kinds, strict=True))


def _quote_lists(blocks: list[str], are_landmarks: list[bool]) -> list[str]:
    """Returns the blocks of a page that is a list of links, with marks that keep the menus around it from being quoted."""
    if not _has_words_of(False, blocks, are_landmarks):
        return blocks
    return [
        f"{UNQUOTED}{block}{QUOTED}" if is_landmark and _WORD.search(block) else block
        for block, is_landmark in zip(blocks, are_landmarks, strict=True)
    ]


def without_signs(text: str) -> str:
    """Returns a marked text without links that are a sign only, and without alternatives of signs that repeat what stands behind them."""
    # without its sign, a link among others is a link still
    text = _SIGN.sub(f"{_LINK}{_LINK_END}", text) if _LINK in text else text
    return _REPEATED.sub("", text) if "[" in text else text


def _put_gaps(blocks: list[str], are_navigation: list[bool], marked: list[str]) -> list[str]:
    """Returns the blocks of the main text, with a sign where navigation stood between two of them."""
    main: list[str] = []
    has_text = has_gap = False
    for block, whole, is_navigation in zip(blocks, marked, are_navigation, strict=True):
        if is_navigation:
            has_gap = has_gap or (has_text and _WORD.search(block) is not None)
            main.append(only_structure(whole))
            continue
        if (has_gap or not has_text) and _WORD.search(block) is not None:
            main += [GAP] if has_gap else []
            has_text, has_gap = True, False
        main.append(whole)
    return main


def _split_quoted(blocks: list[str], are_navigation: list[bool], marked: list[str]) -> tuple[str, str]:
    """Returns the main text and the navigation of a page with parts that are never quoted, each with the marks around these parts."""
    main: list[str] = []
    navigation: list[str] = []
    is_unquoted = False
    for piece, whole, is_navigation in zip(blocks, marked, are_navigation, strict=True):
        marks = _QUOTE_MARKS.findall(piece)
        if is_navigation:
            navigation.append(f"{UNQUOTED}{piece}{QUOTED}" if is_unquoted else piece)
        main.append("".join([*marks, only_structure(whole)]) if is_navigation else whole)
        if marks:
            is_unquoted = marks[-1] == UNQUOTED
    return BOUNDARY.join(main), BOUNDARY.join(navigation)


# --- marking --------------------------------------------------------------------------------------------------------------------


def _mark_landmarks(tree: LexborHTMLParser, tags: Set[str], *, has_roles: bool) -> list[LexborNode]:
    with_roles = tree.css("[role]") if has_roles else []
    mains = [
        *tree.tags("main"),
        *(node for node in with_roles if node.tag != "main" and (node.attributes.get("role") or "").lower() == "main"),
    ][:MAX_LANDMARKS]
    marked = {node.mem_id for node in mains}
    for node in mains:
        if node.tag not in ("html", "body"):
            _surround(node, _MAIN, _MAIN_END)
    named = [node for tag in _LANDMARK_TAGS if tag in tags for node in tree.tags(tag)] + with_roles
    found: list[LexborNode] = []
    for node in named[:MAX_LANDMARKS]:
        if node.mem_id not in marked and _is_landmark(node):
            marked.add(node.mem_id)
            _surround(node, _AROUND, _BEHIND)
            found.append(node)
    return found


def _is_landmark(node: LexborNode) -> bool:
    tag = node.tag or ""
    role = (node.attributes.get("role") or "").strip().lower()
    if tag in ("html", "body", "main"):
        return False
    if role in _NAVIGATION_ROLES or tag in _ANYWHERE:
        return True
    if tag in ("header", "footer") and not role:
        # the title of a page may stand in its header only
        return not _is_in_content(node) and (tag == "footer" or node.css_first("h1") is None)
    return (role == "complementary" or (tag == "aside" and not role)) and not _is_in_content(node)


def _is_in_content(node: LexborNode) -> bool:
    parent = node.parent
    for _ in range(MAX_CLIMB):
        if parent is None:
            return False
        if parent.tag in _CONTENT_TAGS or (parent.attributes.get("role") or "").lower() == "main":
            return True
        parent = parent.parent
    return True


def _mark_sequence(tree: LexborHTMLParser) -> list[LexborNode]:
    """Marks links to the pages before, after and above this one, and to this page in other languages, with what surrounds them."""
    found = [node for node in tree.css("a[rel]")[:MAX_LANDMARKS] if _leads_on(node, _SEQUENCE_RELATIONS | _OTHER_VERSIONS)]
    # some programs write the relation into the head only
    targets = {node.attributes.get("href") for node in tree.css("head link[rel]")[:MAX_LANDMARKS] if _leads_on(node)} - {None, ""}
    if targets:
        found += [node for node in tree.css("a[accesskey]")[:MAX_LANDMARKS] if node.attributes.get("href") in targets]
        found += [node for target in sorted(filter(None, targets))[:MAX_SEQUENCE_LINKS] for node in _find_buttons(tree, target)]
    marked: dict[int, LexborNode] = {}
    for node in found[:MAX_SEQUENCE_LINKS]:
        around = _find_sequence(node)
        if around.mem_id not in marked:
            marked[around.mem_id] = around
            _surround(around, _AROUND, _BEHIND)
    return list(marked.values())


def _find_buttons(tree: LexborHTMLParser, target: str) -> list[LexborNode]:
    """Returns the links to a page that hold paragraphs, as no link of a text does."""
    if '"' in target or "\\" in target:
        return []
    return [node for node in tree.css(f'a[href="{target}"]')[:MAX_SEQUENCE_LINKS] if node.css_first("p, div") is not None]


def _leads_on(node: LexborNode, relations: frozenset[str] = _SEQUENCE_RELATIONS) -> bool:
    return not relations.isdisjoint((node.attributes.get("rel") or "").lower().split())


def _find_sequence(node: LexborNode) -> LexborNode:
    best = node
    parent = node.parent
    for _ in range(MAX_CLIMB):
        if parent is None or parent.tag in ("html", "body") or parent.tag in _CONTENT_TAGS:
            break
        text = parent.text(deep=True)
        if len(text) > SEQUENCE_CHARACTERS or parent.css_first(_ANY_HEADING) is not None:
            break
        linked = sum(len(_WORD.findall(link.text(deep=True))) for link in parent.css("a")[:MAX_SEQUENCE_LINKS])
        others = len(_WORD.findall(text)) - linked
        # the cells of a table beside these links hold the titles of the pages to which they lead
        if others > (SEQUENCE_TABLE_WORDS if parent.tag in _TABLE_TAGS or best.tag == "table" else SEQUENCE_WORDS):
            break
        best, parent = parent, parent.parent
    return best


def _surround(node: LexborNode, before: str, behind: str) -> None:
    if node.parent is not None:
        node.insert_before(f"{BOUNDARY}{before}")
        node.insert_after(f"{behind}{BOUNDARY}")


# --- splitting ------------------------------------------------------------------------------------------------------------------


def _find_landmarks(blocks: list[str]) -> list[bool]:
    """Returns for each block whether it is in a landmark of navigation, or outside of the main text that the page marks."""
    depth = inside = 0
    sizes = {True: 0, False: 0, None: 0}
    # True for navigation, False for the main text, None for what is in neither
    found: list[bool | None] = []
    for block in blocks:
        marks = _PIECE.findall(block) if _LANDMARK_SIGN in block else []
        if marks:
            depth += marks.count(_AROUND)
            inside += marks.count(_MAIN)
        kind = True if depth else False if inside else None
        found.append(kind)
        sizes[kind] += len(block)
        if marks:
            depth = max(0, depth - marks.count(_BEHIND))
            inside = max(0, inside - marks.count(_MAIN_END))
    if _is_unended(blocks, found, sizes):
        return [False] * len(blocks)
    is_rest_navigation = _is_rest_navigation(blocks, found, sizes)
    return [is_rest_navigation if kind is None else kind for kind in found]


def _is_unended(blocks: list[str], kinds: list[bool | None], sizes: Mapping[bool | None, int]) -> bool:
    """Whether an element of navigation that never ends holds the whole page."""
    is_most = sizes[True] > 0 and sizes[False] + sizes[None] < LEAST_MAIN_SHARE * sizes[True]
    return is_most and not _has_prose(_list_of(False, blocks, kinds)) and _has_prose(blocks)


def _is_rest_navigation(blocks: list[str], kinds: list[bool | None], sizes: Mapping[bool | None, int]) -> bool:
    """Whether what is neither in a landmark of navigation nor in the main text is navigation too."""
    if sizes[None] <= sizes[False]:
        return True
    main = _list_of(False, blocks, kinds)
    if not main or _has_prose(main):
        return bool(main)
    # some templates are more white space than text
    return _count_letters(_list_of(None, blocks, kinds)) <= _count_letters(main)


def _list_of(kind: bool | None, blocks: list[str], kinds: list[bool | None]) -> list[str]:
    return [block for block, each in zip(blocks, kinds, strict=True) if each is kind]


def _count_letters(blocks: list[str]) -> int:
    return sum(map(len, "".join(blocks).split()))


def _has_prose(blocks: list[str]) -> bool:
    return any(_is_sentence(_LINKED.sub("", block)) for block in blocks)


def _has_words(block: str, count: int) -> bool:
    """Whether a block has at least so many words, without a look at the rest of a long one."""
    return next(islice(_WORD.finditer(block), count - 1, None), None) is not None


def _is_sentence(block: str) -> bool:
    if len(block) > 4 * SENTENCE_WORDS and _has_words(block, SENTENCE_WORDS):
        return True
    return len(block) > SENTENCE_LETTERS and not block.isascii() and len(_SPACELESS_LETTER.findall(block)) >= SENTENCE_LETTERS


def _add_dense(blocks: list[str], are_navigation: list[bool], marked: list[str]) -> None:
    """Adds runs of blocks that are hardly more than links. Shape: ``marked`` are the blocks with the marks of the structure."""
    main = 0
    for run, links in _iter_runs(blocks, are_navigation):
        before = _find_words(blocks, range(run[0] - 1, -1, -1))
        # what is navigation already divides nothing
        behind = next(
            (place for place in range(run[-1] + 1, len(blocks)) if not are_navigation[place] and _WORD.search(blocks[place])), None
        )
        if links < LEAST_LINKS and any(_is_entry(blocks[place]) for place in run):
            continue
        if links < LEAST_LINKS:
            # where the main text begins only moves on, since no navigation becomes main text
            while main < run[0] and (are_navigation[main] or not _WORD.search(blocks[main])):
                main += 1
            if before is None or main >= before or not _is_section(blocks, before, behind):
                continue
        _take_run(blocks, are_navigation, marked, run, before, behind)


def _iter_runs(blocks: list[str], are_navigation: list[bool]) -> Iterator[tuple[list[int], int]]:
    """Yields the runs of blocks that are hardly more than links, each with the number of its links."""
    run: list[int] = []
    links = 0
    for number, block in enumerate(blocks):
        if not run and _LINK not in block:
            # most blocks neither begin nor end a run
            continue
        found = 0
        if not are_navigation[number]:
            found = _count_dense(block)
            found = 1 if found < 0 and _is_entry(block) else found
            if found > 0:
                links += found
                run.append(number)
                continue
            if found == 0:
                # a sign between two links
                run += [number] if run else []
                continue
        if links:
            yield run, links
        run, links = [], 0
    if links:
        yield run, links


def _is_entry(block: str) -> bool:
    """Whether a block is an entry of a table of contents that says what its page is about: a link, a dash and a phrase."""
    if _LINK not in block or len(block) > ENTRY_CHARACTERS or _HEADING in block:
        return False
    begin, _, rest = block.strip().partition(_LINK_END)
    return begin.startswith(_LINK) and _LINK not in rest and _ENTRY_REST.fullmatch(rest) is not None


def _take_run(
    blocks: list[str], are_navigation: list[bool], marked: list[str], run: list[int], before: int | None, behind: int | None
) -> None:
    """Makes a run navigation with the label before it, unless it is a part of the data of a table.

    Shape: the places of the text before it and behind it, None for none.
    """
    if sum(_begins_cell(marked[place]) for place in run) > 1:
        beside = [place for place in (before, behind) if place is not None and not are_navigation[place]]
        if any(_is_in_cell(marked, blocks, place) and not _is_sentence(blocks[place]) for place in beside):
            return
    for place in run:
        are_navigation[place] = True
    if before is not None and _is_label(blocks[before], None if behind is None else blocks[behind]):
        are_navigation[before] = True


def _is_section(blocks: list[str], before: int, behind: int | None) -> bool:
    """Whether what is between two places is all that stands below a heading."""
    return _HEADING in blocks[before] and (behind is None or _HEADING in blocks[behind])


def _find_words(blocks: list[str], places: range) -> int | None:
    return next((place for place in places if _WORD.search(blocks[place])), None)


def _begins_cell(marked: str) -> bool:
    return _CELLS[0] in marked or _CELLS[1] in marked


def _is_in_cell(marked: list[str], blocks: list[str], place: int) -> bool:
    """Whether a block is the first one of a cell."""
    return _begins_cell(marked[place]) or (place > 0 and _begins_cell(marked[place - 1]) and _WORD.search(blocks[place - 1]) is None)


def _is_label(block: str, behind: str | None) -> bool:
    """Whether a block names the links behind it. A heading does if nothing else follows until the next one."""
    if _HEADING in block:
        return behind is None or _HEADING in behind
    return not _has_words(block, LABEL_WORDS + 1)


def _count_dense(block: str) -> int:
    """Returns the number of links of a block that is hardly more than links, 0 for a block without words, and -1 for any other."""
    if _LINK not in block:
        return -1 if _WORD.search(block) else 0
    if _HEADING in block:
        return -1
    links = block.count(_LINK)
    linked = _LINKED.findall(block) if links > 1 else [_cut_link(block)]
    size = sum(map(len, linked))
    inside = size - links - len(linked)
    if not inside:
        return -1 if _WORD.search(_LINKED.sub(" ", block)) else 0
    outside = len(block.strip()) - size
    if not outside:
        # the usual item of a menu, which has no words to count
        return links
    is_dense = inside >= DENSE * (inside + outside)
    # before the words are counted, which takes long in a paragraph
    if not is_dense and outside > LABEL_CHARACTERS:
        return -1
    words = len(_WORD.findall(_LINKED.sub(" ", block) if links > 1 else block.replace(linked[0], " ")))
    # links with a short text, such as names of languages, may have a longer label
    return links if words < (SENTENCE_WORDS if is_dense else min(len(linked), LABEL_WORDS)) else -1


def _cut_link(block: str) -> str:
    """Returns the only link of a block with its marks. A pattern takes three times as long."""
    start = block.find(_LINK)
    return block[start : block.find(_LINK_END, start) + 1 or len(block)]


def _add_edges(blocks: list[str], are_navigation: list[bool], programs: Sequence[str]) -> None:
    """Adds short texts at the beginning and the end of a page with sentences."""
    places = range(len(blocks))
    found = _list_edge(blocks, are_navigation, places, ends_at_heading=True)
    found += _list_edge(blocks, are_navigation, places[::-1], ends_at_heading=False, programs=programs)
    if found and _has_prose([block for block, is_navigation in zip(blocks, are_navigation, strict=True) if not is_navigation]):
        for place in found:
            are_navigation[place] = True


def _list_site_names(title: str) -> frozenset[str]:
    """Returns what may be the name of a site in the title of a page: its beginning and its end."""
    parts = _TITLE_SEPARATOR.split(title)
    return frozenset(part.strip().casefold() for part in (parts[0], parts[-1]) if part.strip()) if len(parts) > 1 else frozenset()


def _add_names(blocks: list[str], are_navigation: list[bool], programs: Sequence[str], names: Set[str]) -> None:
    """Adds the name of the site before the text of a page, with breadcrumbs behind it, and notices and the name of the program at its end.

    Unlike other short texts, these are navigation also on a page without sentences, as long as other text is left.
    """
    places = [place for place, block in enumerate(blocks) if not are_navigation[place] and _WORD.search(block)]
    begin, end = _find_name_end(blocks, places, names), _find_notice(blocks, places)
    if end > 1 and any(program in blocks[places[end - 1]].lower() for program in programs) and _is_short(blocks[places[end - 1]]):
        end -= 1
    for place in (*places[:begin], *places[end:]) if begin < end else ():
        are_navigation[place] = True


def _find_name_end(blocks: list[str], places: list[int], names: Set[str]) -> int:
    """Returns how many texts at the beginning of a page are the name of its site, a logo before it, and a motto and links behind it."""
    named = next((number for number, place in enumerate(places[:_NAME_PLACES]) if _is_name(blocks[place], names)), None)
    if named is None and len(places) > 1 and _HEADING in blocks[places[1]] and _HEADING not in blocks[places[0]]:
        # a logo that leads to the beginning of the site
        return int(_is_short(blocks[places[0]]) and _is_linked(blocks, places[0]))
    if named is None or not all(_is_short(blocks[place]) and _LINK not in blocks[place] for place in places[: named + 1]):
        return 0
    end = named + 1
    if end + 1 < len(places) and _is_motto(blocks[places[end]], names):
        behind = places[end + 1]
        end += _HEADING in blocks[behind] or _is_linked(blocks, behind) or _is_name(blocks[behind], names)
    while end < len(places) - 1 and _HEADING not in blocks[places[end]] and _is_linked(blocks, places[end]):
        end += 1
    return end


def _is_short(block: str) -> bool:
    return len(block) <= EDGE_CHARACTERS and _HEADING not in block and not _is_sentence(block)


def _is_name(block: str, names: Set[str]) -> bool:
    """Whether a block is a part of the title of the page, with or without a version."""
    return len(block) <= EDGE_CHARACTERS and _VERSION.sub("", " ".join(block.split())).casefold() in names


def _is_motto(block: str, names: Set[str]) -> bool:
    return _is_short(block) and _LINK not in block and len(block.strip()) <= LABEL_CHARACTERS and not _is_name(block, names)


def _find_notice(blocks: list[str], places: list[int]) -> int:
    """Returns how many texts stand before a notice of rights that ends a page, with what it says behind it."""
    size = 0
    for number in range(len(places) - 1, max(_LEAST_BEFORE_NOTICE, len(places) - _NOTICE_BLOCKS) - 1, -1):
        block = blocks[places[number]]
        size += len(block)
        if size > RIGHTS_CHARACTERS or _HEADING in block:
            break
        if _DATED_RIGHTS.match(block):
            return number
    return len(places)


def _follows_rights(blocks: list[str], place: int) -> bool:
    """Whether a block says more about the rights that the block before it names."""
    before = _find_words(blocks, range(place - 1, -1, -1))
    return before is not None and _RIGHTS.match(blocks[before]) is not None


def _names_part(blocks: list[str], place: int) -> bool:
    """Whether a heading names the part of a site that a page belongs to: it is a link, and the heading of the page stands behind it."""
    behind = _find_words(blocks, range(place + 1, len(blocks)))
    if behind is None or _HEADING not in blocks[behind] or _is_linked(blocks, behind):
        return False
    return _is_linked(blocks, place)


def _is_linked(blocks: list[str], place: int) -> bool:
    """Whether all words of a block are a link, which may begin before it."""
    block = blocks[place]
    if _LINK in block:
        return _WORD.search(_LINKED.sub("", block)) is None
    before = blocks[place - 1] if place else ""
    return before.rfind(_LINK) > before.rfind(_LINK_END) and _LINK_END not in block.rstrip()[:-1]


def _list_edge(
    blocks: list[str], are_navigation: list[bool], places: range, *, ends_at_heading: bool, programs: Sequence[str] = ()
) -> list[int]:
    """Returns the short texts from an edge of the page to the last navigation there, or to the first heading."""
    found: list[int] = []
    pending: list[int] = []
    size = 0
    for place in places:
        block = blocks[place]
        if are_navigation[place]:
            found, pending = found + pending, []
        elif _WORD.search(block):
            if _HEADING in block:
                if ends_at_heading and _names_part(blocks, place):
                    found, pending = [*found, *pending, place], []
                    continue
                return found + pending if ends_at_heading else found
            size += len(block)
            is_rights = _RIGHTS.match(block) is not None or any(program in block.lower() for program in programs)
            ends = _is_sentence(block) and not is_rights and (ends_at_heading or not _follows_rights(blocks, place))
            if size > EDGE_CHARACTERS or ends:
                return found
            pending.append(place)
            if is_rights:
                found, pending = found + pending, []
    return []
