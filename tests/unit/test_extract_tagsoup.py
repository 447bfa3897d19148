from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.readers.tagsoup import is_costly, strip_markup


def test_is_costly_large_ordinary_page_is_not() -> None:
    section = '<div class="a b c"><h2>head</h2><p>some <b>bold</b> text <a href="x">link</a><br><img src="y" alt="z"></p></div>'
    assert not is_costly("<html><body>" + section * 20_000)


def test_is_costly_page_of_unclosed_paragraphs_is_not() -> None:
    assert not is_costly("<p>text<li>item<td>cell" * 20_000)


def test_is_costly_image_in_an_attribute_is_not() -> None:
    assert not is_costly('<img src="data:image/png;base64,' + "iVBORw0KGgo" * 50_000 + '">')


def test_is_costly_deep_loose_and_flooded_pages_are() -> None:
    assert is_costly("<div>" * 20_000)
    assert is_costly("".join(f"<font color={number}><p>x" for number in range(4_000)))
    assert is_costly("<p " + " ".join(f"a{number}=1" for number in range(10_000)) + ">")


def test_strip_markup_keeps_words_alone() -> None:
    page = "<script>no</script><p a=1>one &amp; two<!-- no --><b>three</b><style>no"
    assert strip_markup(page).split() == ["one", "&", "two", "three"]


@given(st.text(alphabet="<>!-/ab=\"' &;", max_size=200))
def test_strip_markup_any_text_is_text(page: str) -> None:
    assert isinstance(strip_markup(page), str)
