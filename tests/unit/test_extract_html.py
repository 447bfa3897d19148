from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers.html import read_html
from feedmill.core.text.textblob import decode_quotable_text, decode_text, encode_text
from feedmill.model.extraction import Extraction, ExtractionLimits, Task

LIMITS = ExtractionLimits()


def read(html: str, **limits: int) -> Extraction:
    task = Task(key=1, url="http://host.example/dir/page.html", mimetype="text/html", data=html.encode())
    return extract(task, ExtractionLimits(**limits))


def texts(html: str) -> tuple[str, str]:
    """Returns what is searched and what may be quoted."""
    data = encode_text(read(html).text, [])
    return decode_text(data), " ".join(decode_quotable_text(data).split())


def test_html_inline_element_does_not_split_a_word() -> None:
    assert read("<p>one<b>W</b>ord <i>x</i></p>").text == "oneWord x"


def test_html_block_elements_separate_words() -> None:
    html = "<p>a</p><p>b</p>c<br>d<ul><li>e<li>f</ul><table><tr><td>g</td><td>h</td></tr></table><DIV>i</DIV>j"
    assert read(html).text.split() == list("abcdefghij")


def test_html_newline_in_source_is_a_blank() -> None:
    assert read("<p>one\ntwo</p>\n<p>three</p>").text == "one two\nthree"


def test_html_pre_keeps_lines() -> None:
    assert read("<pre>one\ntwo</pre>").text == "one\ntwo"


def test_html_title_of_an_svg_is_not_the_title() -> None:
    assert read("<body><svg><title>icon</title></svg>text").title is None
    assert read("<head><title> The\n page &amp; more </title></head><svg><title>icon</title></svg>").title == "The page & more"


def test_html_unseen_text_is_dropped_and_hidden_text_is_apart() -> None:
    html = (
        "<style>s1</style><script>s2</script><noscript>s3</noscript><template>s4</template><div hidden>s5</div>"
        '<p style="display: none">s6</p><p style="color:red;display:none">s7</p>seen'
    )
    assert (read(html).text, read(html).navigation) == ("seen", "s5\ns6\ns7")


def test_xhtml_elements_that_end_themselves_hide_nothing_after_them() -> None:
    content = read(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/><style type="text/css" /></head>'
        '<body><p>first</p><iframe src="b.html"/><textarea rows="2"/><p>last</p></body></html>'
    )
    assert (content.title, content.text.split()) == (None, ["first", "last"])


def test_html_elements_that_end_themselves_begin_their_text() -> None:
    assert read('<p>first</p><script src="a.js"/><p>last</p>').text == "first"


def test_html_hidden_text_is_apart_from_the_text_around_it() -> None:
    found = read("<p>wo<span hidden>in <i hidden>side</i></span>rd</p><a hidden href=/x>link</a><h1 hidden>head</h1>")
    assert (found.text, found.navigation) == ("word", "in side\nlink\nhead")
    assert (found.links, found.headings) == ((), "")


def test_html_hidden_text_of_a_page_with_googleoff_is_dropped() -> None:
    found = read("<!--googleoff: index--><p hidden>private</p><!--googleon: index-->seen")
    assert (found.text, found.navigation) == ("seen", "")


def test_html_word_hidden_in_text_hides_nothing() -> None:
    assert read("<p>the hidden treasure is display:none</p>").text == "the hidden treasure is display:none"


def test_html_alternative_text_is_text() -> None:
    assert read('<p>a<img src=x alt="a cat">b').text == "a a cat b"


def test_html_metas_keep_order_and_repeats() -> None:
    html = '<meta name=dept content="HR"><meta name="Dept" content=IT><meta name=empty content=""><meta property=p content=q>'
    assert read(html).metadata == (("dept", "HR"), ("Dept", "IT"))


def test_html_metas_that_speak_of_access_are_never_lost() -> None:
    page = "<meta name=a content=b>" * 5 + '<meta name="Google:ACLusers" content="ann"><meta name="google:aclgroups">'
    assert read(page, metadata=4).metadata[:2] == (("Google:ACLusers", "ann"), ("google:aclgroups", ""))


def test_html_metas_are_bounded() -> None:
    assert len(read("<meta name=a content=b>" * 50, metadata=7).metadata) == 7


def test_html_robots_are_read_from_any_letter_case() -> None:
    assert read('<META NAME="Robots" CONTENT="NoIndex, NOARCHIVE">').robots == {"noindex", "noarchive"}
    assert read("<meta name=googlebot content=nosnippet>").robots == {"nosnippet"}
    assert read("<meta name=robots content=none>").robots == {"noindex", "nofollow"}
    assert read("<meta name=robots content='index,follow'>").robots == frozenset()


def test_html_googleoff_index_takes_text_out_across_elements() -> None:
    html = "<p>a<!--googleoff: index--><b>x</b></p><div>y<!-- googleon: index -->b</div>c"
    result = read(html)
    assert result.text.split() == ["a", "b", "c"]


def test_html_googleoff_all_takes_text_and_anchor_but_keeps_the_link() -> None:
    result = read('<!--googleoff: all--><a href="/x">nav</a><!--googleon: all--><a href="/y">in</a>')
    assert [(link.url, link.text) for link in result.links] == [("http://host.example/x", ""), ("http://host.example/y", "in")]
    assert result.text == "in"


def test_html_googleoff_anchor_keeps_text() -> None:
    result = read('<!--googleoff:anchor--><a href="/x">nav</a><!--googleon:anchor-->')
    assert (result.text, result.links[0].text) == ("nav", "")


def test_html_sign_for_a_missing_alternative_is_no_word() -> None:
    assert read("<p>a <img alt='(missing alt)'> <img alt='cat'> b</p>").text == "a cat b"


def test_html_googleoff_snippet_keeps_text_searchable() -> None:
    assert texts("a <!--googleoff: snippet-->b<!--googleon: snippet--> c") == ("a b c", "a c")
    assert texts("<p>a<!--googleoff: snippet--><b>W</b>ord</p><h1>head</h1><!--googleoff: snippet--><p>d") == ("aWord\nhead\nd", "a")
    assert texts("<head><!--googleoff: snippet--></head><body> <p>a</p><!-- googleon: snippet --><!--googleon: snippet-->b") == (
        "a\nb",
        "b",
    )
    assert texts("a<!--googleoff: snippet-->b<!--googleoff: all-->x<!--googleon: all-->c<!--googleon: snippet-->d") == ("ab cd", "a d")
    assert read("<!--googleoff: snippet--><h1>head</h1><a href='/x'>text</a>").headings == "head"
    assert read("<!--googleoff: snippet--><h1>head</h1><a href='/x'>text</a>").links[0].text == "text"


def test_html_googleoff_in_a_script_switches_nothing() -> None:
    assert read('<script>var a = "<!--googleoff: all-->";</script>seen').text == "seen"


def test_html_headings_are_those_of_the_page_higher_ones_first() -> None:
    html = "<h2>Second <b>lev</b>el</h2><h1> First\n one</h1><p>text</p><H6>last</H6><h3 hidden>unseen</h3><h2></h2>"
    found = read(html)
    assert found.headings == "First one\nSecond level\nlast"
    assert found.text == "Second level\nFirst one\ntext\nlast"


def test_html_headings_obey_googleoff_and_are_bounded() -> None:
    found = read("<!--googleoff: index--><h1>private</h1><!--googleon: index--><h2>shown</h2>")
    assert found.headings == "shown"
    assert len(read("<h1>many words</h1>" * 10_000).headings.splitlines()) == 200


def test_html_links_are_resolved_against_the_page() -> None:
    html = '<a href="b.html#f">B</a><a href=" /c ">C</a><a href="#top">t</a><a href="javascript:x()">j</a><a name=n>n</a><area href=d>'
    assert [(link.url, link.text) for link in read(html).links] == [
        ("http://host.example/dir/b.html", "B"),
        ("http://host.example/c", "C"),
        ("http://host.example/dir/d", ""),
    ]


def test_html_links_are_resolved_against_a_base() -> None:
    assert read('<base href="/other/"><a href="x">X</a>').links[0].url == "http://host.example/other/x"


def test_html_links_with_nofollow_are_left_out() -> None:
    assert read('<a rel="external nofollow" href="/x">x</a>').links == ()


def test_html_links_are_bounded() -> None:
    assert len(read("<a href=x>y</a>" * 50, links=7).links) == 7


def test_html_controls_and_surrogates_are_removed() -> None:
    content = read_html("<title>a&#1;b\ud800</title><p>x\x00y&#xFFFE;\u200bz", "", LIMITS)
    assert "\ud800" not in (content.title or "")
    assert read("<title>a&#1;b</title><p>x&#2;y\u200bz").text == "xyz"
    assert read("<title>a&#1;b</title>").title == "ab"


def test_html_frameset_returns_its_frames_as_no_crash() -> None:
    result = read("<frameset><frame src=a.html><noframes>none</noframes></frameset>")
    assert [link.url for link in result.links] == ["http://host.example/dir/a.html"]


def test_html_language_is_returned() -> None:
    text = "Die Katze sitzt auf dem Dach und schaut den Vögeln zu, während der Hund im Garten schläft."
    assert read(f"<p>{text}").language == "de"


def test_html_beyond_the_limit_is_cut_with_a_reason() -> None:
    result = read("<p>" + "word " * 1000, max_document_bytes=100)
    assert result.text.startswith("word word")
    assert "limits.max_document_bytes" in (result.reason or "")


def test_html_text_beyond_the_limit_is_cut_with_a_reason() -> None:
    result = read("<p>" + "word " * 1000, text_characters=50)
    assert len(result.text) <= 50
    assert result.reason == "the text was cut after 50 characters"
