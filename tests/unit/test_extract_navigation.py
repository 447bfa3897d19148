"""The main text of a page apart from its navigation."""

import time

import pytest

from feedmill.adapters.extract.extract import extract
from feedmill.core.text.textblob import decode_quotable_navigation, decode_quotable_text, decode_text, encode_text
from feedmill.model.extraction import Extraction, ExtractionLimits, Task

PROSE = "The heron stands in the shallow water and waits for a long time until a small fish swims by."
TAIL = f"<p>{PROSE}</p>"


def read(body: str, head: str = "") -> Extraction:
    page = f"<html><head>{head}</head><body>{body}</body></html>"
    return extract(Task(key=1, url="http://host.example/dir/page.html", mimetype="text/html", data=page.encode()), ExtractionLimits())


def split(body: str, head: str = "") -> tuple[str, str]:
    found = read(body, head)
    return " ".join(found.text.split()), " ".join(found.navigation.split())


@pytest.mark.parametrize(
    "body",
    [
        "<nav>menu</nav>",
        "<header>menu</header>",
        "<footer>menu</footer>",
        "<aside>menu</aside>",
        "<select><option>menu</select>",
        "<button>menu</button>",
        *(
            f"<div role={role}>menu</div>"
            for role in ("navigation", "banner", "contentinfo", "search", "menu", "complementary", "'TOOLBAR'")
        ),
        "<article><nav>menu</nav></article>",
        "<header><nav>me<b>nu</b></nav></header>",
    ],
)
def test_landmark_of_navigation_is_apart(body: str) -> None:
    assert split(body + TAIL) == (PROSE, "menu")


@pytest.mark.parametrize(
    "body",
    [
        "<article><header>part</header></article>",
        "<main><aside>part</aside></main>",
        "<section><footer>part</footer></section>",
        "<header><h1>part</h1></header>",
        "<div role=note>part</div>",
        "<div role=''>part</div>",
    ],
)
def test_landmark_inside_of_content_is_main_text(body: str) -> None:
    assert split(body) == ("part", "")


def test_text_beside_the_marked_main_text_is_navigation() -> None:
    assert split(f"<div>logo</div><main>{TAIL}</main><p>imprint</p>") == (PROSE, "logo imprint")
    assert split(f"<div>logo</div><div role=main>{TAIL}</div><p>imprint</p>") == (PROSE, "logo imprint")


def test_main_element_with_less_than_is_beside_it_excludes_nothing() -> None:
    assert split(f"<main>short</main>{TAIL}") == (f"short {PROSE}", "")


@pytest.mark.parametrize("around", ["<p>{}</p>", "<table><tr><td>{}</td><td>Other topic</td></tr></table>", "<ul><li>{}</li></ul>"])
def test_links_to_neighbouring_pages_are_navigation_with_what_surrounds_them(around: str) -> None:
    links = around.format('Next: <a rel="next" href="b.html">Offline packages</a>')
    main, navigation = split(links + f"<div>{TAIL}</div>")
    assert main == PROSE
    assert navigation.startswith("Next: Offline packages")


def test_links_that_the_head_names_as_neighbours_are_navigation() -> None:
    table = "<table><tr><td><a accesskey=n href='b.html'>Next</a></td></tr><tr><td>Offline packages</td></tr></table>"
    assert split(table + TAIL, "<link rel=next href=b.html>") == (PROSE, "Next Offline packages")


def test_link_to_the_next_page_inside_of_prose_takes_nothing_with_it() -> None:
    assert split(f"<p>{PROSE} See <a rel=next href=b>onward</a>.</p>{TAIL}")[1] == "onward"


@pytest.mark.parametrize(
    "menu",
    [
        "<ul><li><a href=1>one</a><li><a href=2>two</a><li><a href=3>three</a></ul>",
        "<p><a href=1>one</a> | <a href=2>two</a> | <a href=3>three</a></p>",
        "<div><a href=1>one</a></div><div>&gt;</div><div><a href=2>two</a></div><div><a href=3>three</a></div>",
    ],
)
def test_blocks_of_links_are_navigation(menu: str) -> None:
    main, navigation = split(menu + TAIL)
    assert main == PROSE
    assert [word for word in navigation.split() if word.isalpha()] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "body",
    [
        "<p><a href=1>one</a></p><p><a href=2>two</a></p>",
        "<h2><a href=1>one</a></h2><h2><a href=2>two</a></h2><h2><a href=3>three</a></h2>",
        "<p><a href=1>a</a>, <a href=2>b</a> and <a href=3>c</a> are three of the kinds of herons that live by this lake.</p>",
        "<p><a name=1>one</a></p><p><a name=2>two</a></p><p><a name=3>three</a></p>",
    ],
)
def test_few_links_headings_and_sentences_are_main_text(body: str) -> None:
    assert split(body + TAIL)[1] == ""


LINKS = "<ul><li><a href=1>one</a><li><a href=2>two</a><li><a href=3>three</a></ul>"


def test_label_before_links_is_navigation_with_them() -> None:
    assert split(f"<h1>Herons</h1><p>Contents</p>{LINKS}{TAIL}") == (f"Herons … {PROSE}", "Contents one two three")
    assert split(f"{TAIL}<h2>See also</h2>{LINKS}") == (PROSE, "See also one two three")
    assert split(f"<h1>Herons</h1>{LINKS}{TAIL}")[0] == f"Herons … {PROSE}"


def test_two_links_to_places_of_the_page_are_a_table_of_contents() -> None:
    for start in ("#", "page.html#"):
        assert split(f"<h1>Herons</h1><p><a href={start}a>Food</a><p><a href={start}b>Nest</a>{TAIL}")[1] == "Food Nest"


@pytest.mark.parametrize(
    "links",
    [
        "<p>[<a href=1>&lt;</a>] [<a href=2>&gt;</a>] [<a href=3>up</a>]</p>",
        "<p>Also in: <a href=1>en</a> <a href=2>fr</a> <a href=3>ja</a></p>",
    ],
)
def test_short_links_with_signs_and_labels_are_navigation(links: str) -> None:
    assert split(links + TAIL)[0] == PROSE


def test_link_to_the_page_in_another_language_is_navigation() -> None:
    assert split(f"<p>Available in: <a rel=alternate hreflang=fr href=fr>fr</a></p>{TAIL}") == (PROSE, "Available in: fr")


def test_cells_of_links_among_other_cells_are_data() -> None:
    row = "<tr><td>void<td><a href=1>one</a><td><a href=2>two</a><td><a href=3>three</a></tr>"
    assert split(f"<table>{row}{row}</table>{TAIL}")[1] == ""
    menu = "<tr><td><a href=1>one</a><td><a href=2>two</a><td><a href=3>three</a></tr>"
    assert split(f"<table>{menu}</table>{TAIL}")[1] == "one two three"
    assert split(f"<table><tr><td><a href=1>one</a><br><a href=2>two</a><br><a href=3>three</a><td>{PROSE}</table>")[1] == "one two three"


def test_short_texts_at_the_edges_of_a_page_are_navigation() -> None:
    page = f"<div>Site of birds</div><h1><a href=x>Herons</a></h1>{TAIL}<div>Version 3</div>{LINKS}<p>Last change: May</p>"
    assert split(page) == (f"Herons {PROSE}", "Site of birds Version 3 one two three Last change: May")
    assert split(f"{TAIL}<p>Phone: 12</p><p>Copyright 2026 by the <a href=x>society</a> of people who like the birds of lakes</p>")[0] == (
        f"{PROSE} Phone: 12"
    )


def test_short_texts_of_a_page_without_sentences_are_main_text() -> None:
    assert split(f"<h1>Ann</h1>{LINKS}<p>Phone: 12</p><p>Room 3</p>") == ("Ann … Phone: 12 Room 3", "one two three")


def test_text_beside_a_marked_main_text_with_sentences_is_navigation_however_long() -> None:
    assert split(f"<main>{TAIL}</main><section>{TAIL * 3}</section>")[0] == PROSE


def test_sentences_of_a_script_without_blanks_are_sentences() -> None:
    japanese = "鷺は長い間浅い水の中に立って小さな魚が泳いで来るのを待っています。"
    assert split(f"<div>鳥の会</div><h1><a href=x>鷺</a></h1><p>{japanese}</p>") == (f"鷺 {japanese}", "鳥の会")


def test_line_of_links_in_a_paragraph_of_a_page_with_code_is_main_text() -> None:
    paragraph = (
        "<p>The commands that read a tree and show it to the user are these:\n<a href=1>a</a>,\n<a href=2>b</a>,\n<a href=3>c</a>.</p>"
    )
    assert split(f"<pre>code</pre>{paragraph}")[1] == ""


def test_page_whose_navigation_never_ends_keeps_its_text() -> None:
    assert split(f"<nav><a href=1>menu</a>{TAIL}{TAIL}") == (f"menu {PROSE} {PROSE}", "")


def test_links_that_are_a_sign_are_dropped() -> None:
    assert split(f"<p>{PROSE} <a href=http://other.example/1>§</a></p>") == (PROSE, "")
    assert split(f"<p><a href=#top><img src=x alt=top></a></p>{TAIL}") == (PROSE, "")
    assert split(f'<td><img src=x alt="[Note]"></td><th>Note</th><p>{PROSE} See <a href=x>more</a>.</p>')[0] == f"Note {PROSE} See more."


def test_signs_that_link_to_their_own_place_are_dropped() -> None:
    assert split('<h1>Herons<a href="#herons">¶</a></h1><p>they <a href="#x">wade</a></p>')[0] == "Herons they wade"


def test_headings_of_navigation_are_no_headings() -> None:
    found = read(f"<h1>Herons</h1>{TAIL}<div role=navigation><h4>Next topic</h4></div>")
    assert (found.headings, found.navigation) == ("Herons", "Next topic")


def test_passage_that_is_never_quoted_stays_so_in_navigation() -> None:
    found = read(f"<!--googleoff: snippet--><p>hidden</p><nav>menu</nav><!--googleon: snippet-->{TAIL}<nav>shown</nav>")
    data = encode_text(found.text, [], "", found.navigation)
    assert decode_quotable_text(data).split() == PROSE.split()
    assert decode_quotable_navigation(data).split() == ["shown"]


def test_marks_that_a_page_writes_itself_change_nothing() -> None:
    assert split(f"<p>\x0e\x10one\x0e\x0f</p><p>\x14two\x13</p>{TAIL}<nav>menu</nav>")[0].startswith("one two")


@pytest.mark.parametrize(
    "piece",
    [
        "<nav>",
        "<header><main>",
        "<a rel=next href=x>n</a>",
        "<a href=x>n</a>",
        "<div role=navigation><h1>",
        "<aside><section>",
        "<h1><button>",
        "<p><a href=x>n</a>x y z w v u",
        "<td><a href=#x>n</a>",
        "[x] x",
        "<a href=x>§</a>[",
        "<pre>",
        "<pre></pre>\n",
        "<p>©",
    ],
)
def test_hostile_page_costs_little(piece: str) -> None:
    began = time.process_time()
    found = read(piece * (1_000_000 // len(piece)))
    assert found.key == 1
    assert time.process_time() - began < 10


def test_sections_of_links_below_much_navigation_cost_little() -> None:
    menu, sections = "".join(f"<div>w{n}</div>" for n in range(20_000)), "".join(f"<h2>s{n}</h2><p><a href=x>n</a>" for n in range(20_000))
    began = time.process_time()
    read(f"<nav>{menu}</nav>{sections}")
    assert time.process_time() - began < 10


def test_section_of_nothing_but_links_is_apart_with_its_heading() -> None:
    body = f"<h1>Title</h1>{TAIL}<h2>See also</h2><p><a href=x>other page</a></p><h2>More</h2>{TAIL}<h2>Topics</h2><a href=y>last</a>"
    assert split(body) == (f"Title {PROSE} … More {PROSE}", "See also other page Topics last")


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Title</h1><p><a href=x>other page</a></p><h2>More</h2>",
        f"<h2>See also</h2><p><a href=x>other page</a></p>{TAIL}",
        f"{TAIL}<h2>See also</h2><p>A word about <a href=x>other page</a> and what it says on birds and fish in water</p>",
    ],
)
def test_section_with_other_text_and_the_first_one_are_main_text(body: str) -> None:
    assert split(body)[1] == ""


def test_licence_behind_a_notice_of_rights_is_apart() -> None:
    notice = (
        "<p>Copyright 2026 The Heron Society.<p>All of this text is given to the world under the terms of the Heron License, Version 2."
    )
    menu = "<p><a href=a>one</a> | <a href=b>two</a> | <a href=c>three</a>"
    text, navigation = split(f"<h1>Birds</h1>{TAIL}{notice}{menu}")
    assert text == f"Birds {PROSE}"
    assert "Heron License" in navigation
    assert "Heron Society" in split(f"<h1>Birds</h1>{TAIL}{notice}{TAIL}{menu}")[0]


def test_name_of_the_program_at_the_end_is_apart() -> None:
    notice = "Generated on Sun Apr 10 2022 at 19:47:30 for the birds by <a href=http://d>Doxygen</a> 1.9.1"
    body = f"<h1>Birds</h1>{TAIL}<address>{notice}</address>"
    head = '<meta name="generator" content="Doxygen 1.9.1">'
    assert split(body, head)[0] == f"Birds {PROSE}"
    assert split(body)[0].endswith("1.9.1")


def test_name_of_any_program_at_the_end_is_apart() -> None:
    head = '<meta name="generator" content="DocBook XSL"><meta name="generator" content="GTK-Doc V1.33.1 (XML mode)">'
    body = f"<p><a href=a>one</a> <a href=b>two</a> <a href=c>three</a><h1>Birds</h1>{TAIL}<div>Generated by GTK-Doc V1.33.1</div>"
    assert split(body, head)[0] == f"Birds {PROSE}"


@pytest.mark.parametrize("part", ["<a href=up><h2>All birds</h2></a>", "<h2><a href=up>All birds</a></h2>"])
def test_heading_that_leads_to_the_part_above_is_apart(part: str) -> None:
    assert split(f"{part}<h2>Herons</h2>{TAIL}") == (f"Herons {PROSE}", "All birds")
    assert split(f"{part}{TAIL}<h2>Herons</h2>{TAIL}")[1] == ""
    assert split(f"{part}<h2><a href=more>Herons</a></h2>{TAIL}")[1] == ""


def test_tooltips_that_a_style_sheet_hides_are_found_as_navigation() -> None:
    tip = '<div class="ttc" id="a1"><div class="ttname"><a href=x>fly</a></div><div class="ttdeci">int fly(void)</div></div>'
    assert split(f"<p>{PROSE}</p>{tip}", '<meta name="Generator" content="Doxygen 1.9.1">') == (PROSE, "fly int fly(void)")
    assert split(f"<p>{PROSE}</p>{tip}")[0].endswith("int fly(void)")


@pytest.mark.parametrize("dash", ["—", "–"])
def test_entries_that_say_what_their_pages_are_about_are_navigation(dash: str) -> None:
    entries = "".join(
        f"<dt><a href={name}.html>{name}</a><span> {dash} What a {name} is good for in the shallow water of a lake</span></dt>"
        for name in "abc"
    )
    main, navigation = split(f"<h2>Birds</h2><dl>{entries}</dl>{TAIL}")
    assert main == f"Birds … {PROSE}"
    assert navigation.count(dash) == 3


@pytest.mark.parametrize(
    "entry",
    [
        "<li><a href=a>stork</a> — It waits for a fish to swim by.",
        "<li><a href=a>stork</a>: what it does in the shallow water of a lake in spring",
        "<li>The <a href=a>stork</a> — what it does in the shallow water of a lake",
        "<li><a href=a>stork</a> — see the <a href=b>crane</a> in the shallow water of a lake",
        f"<li><a href=a>stork</a> — {'what it does ' * 30}",
    ],
)
def test_links_with_other_text_behind_them_are_main_text(entry: str) -> None:
    main, navigation = split(f"<h2>Birds</h2><ul>{entry * 3}</ul>{TAIL}")
    assert (main.count("stork"), navigation) == (3, "")


def test_two_entries_are_main_text() -> None:
    entries = "<li><a href=a>heron</a> — what it does in the shallow water of a lake" * 2
    assert split(f"<h2>Birds</h2><ul>{entries}</ul><h2>Others</h2>{TAIL}")[1] == ""


def test_label_of_links_before_other_navigation_is_navigation() -> None:
    links = "".join(f"<li><a href={name}>{name}</a>" for name in ("one", "two", "three"))
    main, navigation = split(f"{TAIL}<h2>Table of Contents</h2><ul>{links}</ul><nav>Next</nav>")
    assert main == PROSE
    assert navigation == "Table of Contents one two three Next"


@pytest.mark.parametrize(
    ("title", "name"),
    [("Lake: Herons", "Lake"), ("Lake: Herons", "Lake 5.1.9"), ("Herons — The LAKE", "The lake v2"), ("Herons | Lake: Birds", "Birds")],
)
def test_name_of_the_site_and_breadcrumbs_behind_it_are_navigation(title: str, name: str) -> None:
    head = f"<title>{title}</title>"
    main, navigation = split(f"<div>{name}</div><ul><li><a href=/birds>Part</a></ul><div>Herons</div><div>heron() : birds.h</div>", head)
    assert (main, navigation) == ("Herons heron() : birds.h", f"{name} Part")


@pytest.mark.parametrize(
    ("title", "body", "main"),
    [
        ("Herons", "<div>Herons</div><div>birds.h</div>", "Herons birds.h"),
        ("Lake: Herons", "<div>Lake</div>", "Lake"),
        ("Lake: Herons", "<h1>Lake</h1><p>birds.h", "Lake birds.h"),
        ("Lake: Herons", "<div>Lake of birds</div><p>birds.h", "Lake of birds birds.h"),
        ("Lake: Herons", "<p><a href=a>Lake</a></p><p>birds.h", "Lake birds.h"),
    ],
)
def test_other_texts_at_the_beginning_stay_main_text(title: str, body: str, main: str) -> None:
    assert split(body, f"<title>{title}</title>") == (main, "")


def test_name_of_the_program_at_the_end_is_navigation_on_a_page_without_sentences() -> None:
    head = '<meta name=generator content="Doxygen 1.9">'
    assert split("<p>heron() : birds.h<p>crane() : birds.h<hr>Generated by doxygen 1.9", head) == (
        "heron() : birds.h crane() : birds.h",
        "Generated by doxygen 1.9",
    )
    assert split("<p>Generated by doxygen", head) == ("Generated by doxygen", "")


def test_buttons_that_lead_to_the_neighbours_of_the_head_are_navigation() -> None:
    head = "<link rel=next href='b.html'><link rel=prev href='a.html'>"
    buttons = "<div><a href=a.html><div><p>previous</p><p>Wading</p></div></a><a href=b.html><div><p>next</p><p>Flight</p></div></a></div>"
    assert split(f"<p>{PROSE}</p>{buttons}", head) == (PROSE, "previous Wading next Flight")
    inside = f"<p>{PROSE} Then see <a href=b.html>how it flies</a>.</p>"
    assert split(inside, head) == (f"{PROSE} Then see how it flies.", "")


def test_white_space_beside_the_marked_main_text_does_not_make_it_the_smaller_part() -> None:
    body = f"<nav>menu</nav>{'<div>   </div>' * 50}<div>On this page</div><main><h1>heron.wade</h1><p>heron.wade()</p></main>"
    assert split(body) == ("heron.wade heron.wade()", "menu On this page")


def test_marked_main_text_with_a_sentence_counts_beside_any_amount_of_navigation() -> None:
    menu = "".join(f"<li><a href=/{number}>The page number {number}</a> of all</li>" for number in range(500))
    button = "<a rel=next href=/b>next page</a>"
    assert split(f"<nav><ul>{menu}</ul></nav><main><p>{PROSE}</p>{button}</main>")[0] == PROSE


def test_page_that_is_a_list_of_links_is_quoted_without_the_menus_around_it() -> None:
    links = "".join(f"<li><a href={name}.html>{name}</a></li>" for name in ("wading", "fishing", "flying"))
    bar = "<p>Next: <a rel=next href=n.html>Egrets</a></p>"
    found = read(f"{bar}<h2>Herons</h2><ul>{links}</ul>{bar}")
    stored = encode_text(found.text, (), navigation=found.navigation)
    assert found.text == ""
    assert " ".join(decode_quotable_navigation(stored).split()) == "Herons wading fishing flying"
    assert "Egrets" in decode_text(stored)


def test_page_of_nothing_but_menus_is_quoted() -> None:
    found = read("<nav><a href=/a>herons</a></nav>")
    assert decode_quotable_navigation(encode_text(found.text, (), navigation=found.navigation)) == "herons"


def test_notice_of_rights_with_paragraphs_behind_it_ends_a_page() -> None:
    notice = f"<p>© 2020 The Heron Company.</p><p>{PROSE}</p><p>{PROSE}</p>"
    body = "<h1>Herons</h1><p>wade()</p><p>fly()</p>"
    title = "<title>Herons | Birds</title>"
    assert split(body + notice, title)[0] == "Herons wade() fly()"
    # otherwise it is what the page says
    assert split(f"<h1>Herons</h1>{notice}", title)[0].endswith(PROSE)
    assert split(f"{body}<p>Copyright is a right of authors.</p><p>{PROSE}</p>", title)[0].endswith(PROSE)


@pytest.mark.parametrize(
    ("title", "body", "navigation"),
    [
        ("Birds: Herons", "<p>Logo</p><p>Birds 4.6</p><p>All fly</p><a href=/w>Wading</a><p>Herons</p>", "Logo Birds 4.6 All fly Wading"),
        ("Birds: Herons", "<p>Birds</p><p>All that flies</p><h1>Herons</h1>", "Birds All that flies"),
        ("Birds: Herons", "<p>Birds</p><p>Herons</p><p>wade()</p>", "Birds"),
        ("Herons - Birds", "<a href=/><img alt='Bird logo'></a><h1>Herons</h1><p>wade()</p>", "Bird logo"),
        ("Herons", "<p>Bird notes</p><h1>Herons</h1><p>wade()</p>", ""),
    ],
)  # fmt: skip
def test_logo_name_and_motto_of_a_site_are_navigation(title: str, body: str, navigation: str) -> None:
    assert split(body, f"<title>{title}</title>")[1] == navigation
