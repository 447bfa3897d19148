"""The owner's name on the pages: title, logo, colour, links and style sheet of front ends."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.branding import LocalBrandingFiles
from feedmill.http.pages.branding import Brands, render_footer
from feedmill.http.pages.colours import MIN_CONTRAST, find_contrast, read_colour, write_scheme
from feedmill.http.pages.rendering import Pages
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.errors import BadRequest, Corrupt
from feedmill.model.serving import Branding
from feedmill.settings.load import load_settings
from feedmill.settings.serving import check_files, read_entry
from feedmill.wire.images import find_image_type
from tests.asgi import Answer
from tests.contract.searchharness import SearchHarness, ask, open_harness

SVG = b'<?xml version="1.0"?>\n<!-- made by hand -->\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
PNG = b"\x89PNG\r\n\x1a\nrest"
FOOTER = "[Imprint](https://example.com/imprint) · <b>Example</b> [x](javascript:alert(1)) ![y](https://example.com/y.png)"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


class _Site:
    """A search port with brandings by front end."""

    def __init__(self, harness: SearchHarness, **brandings: Branding) -> None:
        self.brandings = brandings
        self.now = 0.0
        self.fails = False
        brands = Brands(self.find, LocalBrandingFiles(), lambda: self.now)
        self.app = search_app(harness.services(), SearchSite(pages=Pages(brands)))

    def find(self, name: str) -> Branding | None:
        if self.fails:
            raise Corrupt("the store is damaged")
        return self.brandings.get(name)

    def ask(self, path: str, query: str = "") -> Answer:
        return ask(self.app, path, query)


def address_of(page: Answer, name: str) -> tuple[str, str]:
    """Returns path and query of the first address in a page that holds a name."""
    found = next(part.split('"')[0] for part in page.text.split('="') if name in part.split('"')[0])
    path, _, query = found.partition("?")
    return path, query


def test_page_shows_its_owner(harness: SearchHarness, tmp_path: Path) -> None:
    (tmp_path / "logo").write_bytes(SVG)
    branding = Branding(title="Ex & Co", logo=str(tmp_path / "logo"), accent="#fa0", help_url="https://example.com/help", footer=FOOTER)
    site = _Site(harness, default_frontend=branding)
    for path in ("/", "/nothing-here"):
        page = site.ask(path)
        assert ">Ex &amp; Co</span>" in page.text
        assert "Feedmill" not in page.text
        assert '<a href="https://example.com/help">Help</a>' in page.text
        assert '<a href="https://example.com/imprint">Imprint</a>' in page.text
        assert "<b>Example" not in page.text
        assert '<img src="https' not in page.text
        assert 'href="javascript' not in page.text
    assert b"<ShortName>Ex &amp; Co</ShortName>" in site.ask("/opensearch.xml").body


def test_logo_without_a_title_stands_for_it(harness: SearchHarness, tmp_path: Path) -> None:
    (tmp_path / "logo").write_bytes(PNG)
    page = _Site(harness, default_frontend=Branding(logo=str(tmp_path / "logo"))).ask("/")
    assert 'alt="To the search page"></a>' in page.text
    assert "<span" not in page.text.split("</header>")[0].split('class="brand"')[1].split("</a>")[0]


def test_logo_is_sent_with_its_type_and_runs_nothing(harness: SearchHarness, tmp_path: Path) -> None:
    (tmp_path / "logo").write_bytes(SVG)
    site = _Site(harness, default_frontend=Branding(logo=str(tmp_path / "logo")))
    path, query = address_of(site.ask("/"), "/logo?v=")
    answer = site.ask(path, query)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, SVG, "image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in answer.headers["cache-control"]
    assert site.ask(path).headers["cache-control"] == "public, no-cache"
    assert site.ask(path, "v=1").headers["cache-control"] == "public, no-cache"


def test_file_that_changes_has_another_address(harness: SearchHarness, tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("h1 { color: red }")
    site = _Site(harness, default_frontend=Branding(accent="#123456", css=str(tmp_path / "a.css")))
    before = address_of(site.ask("/"), "/style.css?v=")
    assert site.ask(*before).text.endswith("h1 { color: red }")
    assert "--accent: #123456" in site.ask(*before).text
    (tmp_path / "a.css").write_text("h1 { color: blue }")
    site.now += 60
    after = address_of(site.ask("/"), "/style.css?v=")
    assert before != after
    assert site.ask(*after).text.endswith("h1 { color: blue }")


def test_front_end_of_the_request_is_kept_by_links(harness: SearchHarness) -> None:
    site = _Site(harness, default_frontend=Branding(title="All"), press=Branding(title="Press"))
    page = site.ask("/", "client=press")
    assert 'class="brand" href="/?client=press"' in page.text
    assert ">Press</span>" in page.text
    assert ">Press</span>" in site.ask("/search", "q=x&proxystylesheet=default_frontend&client=press").text
    assert ">All</span>" in site.ask("/", "client=none").text


@pytest.mark.parametrize("data", [b"<html><svg>", b"root:x:0:0", b"", b"GIF87", b"<!DOCTYPE svg [<!ENTITY a SYSTEM 'x'>]><svg>"])
def test_file_that_is_no_image_is_left_out(harness: SearchHarness, tmp_path: Path, data: bytes) -> None:
    assert find_image_type(data) is None
    (tmp_path / "logo").write_bytes(data)
    site = _Site(harness, default_frontend=Branding(title="Ex", logo=str(tmp_path / "logo"), css=str(tmp_path / "none")))
    assert site.ask("/").status == 200
    assert "/frontends/" not in site.ask("/").text
    assert site.ask("/frontends/default_frontend/logo").status == 404
    assert site.ask("/frontends/default_frontend/style.css").status == 404


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (SVG, "image/svg+xml"),
        (PNG, "image/png"),
        (b"GIF89a", "image/gif"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\n\0\0\0WEBP", "image/webp"),
    ],
)
def test_image_is_known_by_its_bytes(data: bytes, kind: str) -> None:
    assert find_image_type(data) == kind


def test_page_without_a_store_has_no_branding_and_no_fault(harness: SearchHarness) -> None:
    site = _Site(harness, default_frontend=Branding(title="Ex"))
    site.fails = True
    assert ">Feedmill</span>" in site.ask("/nothing-here").text


@given(st.text(max_size=60) | st.just("[a](javascript:x) <i>"))
def test_footer_holds_no_element_but_links(text: str) -> None:
    html = str(render_footer(text))
    tags = {part.split(">")[0].split()[0] for part in html.split("<")[1:]}
    assert tags <= {"a", "/a"}
    assert 'href="javascript' not in html.lower()


@given(st.from_regex(r"#(?:[0-9a-f]{3}|[0-9A-F]{6})", fullmatch=True))
def test_colour_is_readable_in_both_schemes(accent: str) -> None:
    for line, backgrounds in zip(write_scheme(accent).splitlines(), (("#ffffff", "#f4f7f7"), ("#14191a", "#1c2325")), strict=True):
        shown, text = (part.split(";")[0].strip() for part in line.split("accent:")[1:])
        assert all(find_contrast(read_colour(shown), read_colour(one)) >= MIN_CONTRAST for one in backgrounds)
        assert find_contrast(read_colour(shown), read_colour(text)) >= MIN_CONTRAST


def test_colour_that_is_readable_stays() -> None:
    assert write_scheme("#1f5f5b").startswith(":root { --accent: #1f5f5b; --on-accent: #ffffff; }")


# --- settings ---------------------------------------------------------------------------------------------------------------------


def write_settings(folder: Path, text: str) -> Path:
    path = folder / "feedmill.toml"
    path.write_text(f'[[frontends]]\nname = "default_frontend"\n{text}\n')
    return path


def test_settings_name_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(PNG)
    loaded = load_settings(write_settings(tmp_path, 'logo = "logo.png"\ntitle = "Ex"'), {})
    assert loaded.settings.frontends[0].logo == str(tmp_path / "logo.png")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('accent = "red"', "'red' is no colour"),
        ('help_url = "javascript:alert(1)"', "no address of a web page"),
        ('help_url = "https://a b"', "no address of a web page"),
        ('title = "a\\nb"', "another control character"),
        ('logo = "none.png"', "there is no file"),
        ('logo = "feedmill.toml"', "no PNG, JPEG"),
        ('css = "none.css"', "there is no file"),
    ],
)
def test_settings_that_cannot_be_shown_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        load_settings(write_settings(tmp_path, text), {})


@pytest.mark.parametrize("key", ["logo", "css"])
def test_api_names_no_file_of_the_machine(tmp_path: Path, key: str) -> None:
    (tmp_path / "logo.png").write_bytes(PNG)
    settings = load_settings(write_settings(tmp_path, f'{key} = "logo.png"'), {}).settings
    held = str(tmp_path / "logo.png")

    def put(name: str, **value: str) -> object:
        entry = read_entry("frontends", name, value)
        return json.loads(check_files(settings, "frontends", name, entry).model_dump_json())[key]

    assert put("default_frontend", title="Ex") == held
    assert put("default_frontend", **{key: held}) == held
    for name, path in (("default_frontend", "/etc/passwd"), ("other", held)):
        with pytest.raises(BadRequest, match=f"{key}: only the settings file"):
            put(name, **{key: path})
