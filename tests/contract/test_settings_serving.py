"""The settings of serving: from the file, with the settings stored by API over them."""

import json
from pathlib import Path

import pytest

from feedmill.model.errors import BadRequest, BadSettings, Corrupt
from feedmill.model.facets import FacetRange, FacetType
from feedmill.model.serving import KeyMatchKind, StoredSetting, SynonymSet
from feedmill.settings import Settings
from feedmill.settings.serving import list_entries, merge_stored, read_entry, serving_of
from tests.builders.settings import load_text

WHOLE = """
[[collections]]
name = "press"
include = ["example.com/press/", "# remark"]
exclude = ["-example.com/press/open"]
[[frontends]]
name = "default_frontend"
stylesheet = ""
remove_urls = ["example.com/old/"]
keymatches = [{type = "keyword", term = "", url = "", title = ""}, {type = "exact", term = "Holiday", url = "http://hr.com/h"}]
related = [{term = "", query = ""}, {term = "car", query = "company car"}]
facets = [
  {name = "department", label = "Department", type = "string", ranges = []},
  {name = "price", type = "float", ranges = ["..10", "10..20"]},
]
bias = "news"
[[synonyms]]
two_way = [["car", "automobile"]]
one_way = [["bike", "bicycle"]]
[[biases]]
name = "news"
date = 3
sources = [{pattern = "example.com/press/", weight = 5}]
metadata = [{name = "kind", value = "policy", weight = -2}]
[query]
stop_words = ["the"]
"""


def test_serving_settings_are_read_whole(tmp_path: Path) -> None:
    serving = serving_of(load_text(tmp_path, WHOLE).settings)
    assert serving.collections["press"].include == ("example.com/press/",)
    frontend = serving.frontends["default_frontend"]
    assert [(match.kind, match.term, match.url) for match in frontend.keymatches] == [(KeyMatchKind.EXACT, "Holiday", "http://hr.com/h")]
    assert [(one.term, one.query) for one in frontend.related] == [("car", "company car")]
    assert [(facet.name, facet.type, facet.ranges) for facet in frontend.facets] == [
        ("department", FacetType.STRING, ()),
        ("price", FacetType.FLOAT, (FacetRange(low="", high="10"), FacetRange(low="10", high="20"))),
    ]
    assert (frontend.remove_urls, frontend.bias) == (("example.com/old/",), "news")
    assert serving.synonyms == (SynonymSet(two_way=(("car", "automobile"),), one_way=(("bike", "bicycle"),)),)
    bias = serving.biases["news"]
    assert (bias.date, bias.sources[0].weight, bias.metadata[0].weight) == (3, 5, -2)
    assert serving.stop_words == ("the",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[[collections]]\nname = "a b"', "f.toml:2: collections[1].name: 'a b' is no name here"),
        ('[[collections]]\nname = "a"\ninclude = ["x/",\n"regexp:("]', "f.toml:4: collections[1].include[2]: '(' is no regular expression"),
        ('[[collections]]\nname = "a"\nincludes = []', "f.toml:3: collections[1].includes: unknown key, did you mean 'include'"),
        ('[[frontends]]\nname = "a"\nremove_urls = ["-"]', "f.toml:3: frontends[1].remove_urls[1]: an exception without a url pattern"),
        (
            '[[frontends]]\nname = "a"\nkeymatches = [{type = "word", term = "x", url = "y"}]',
            "f.toml:3: frontends[1].keymatches[1].type: 'word' is none of 'keyword', 'phrase' or 'exact'",
        ),
        (
            '[[frontends]]\nname = "a"\nkeymatches = [\n{term = "x"}]',
            "f.toml:4: frontends[1].keymatches[1]: the keymatch 'x' has no url",
        ),
        ('[[frontends]]\nname = "a"\nkeymatches = [{term = "?", url = "y"}]', "f.toml:3: frontends[1].keymatches[1]: the keymatch of 'y'"),
        ('[[frontends]]\nname = "a"\nrelated = [{term = "x"}]', "f.toml:3: frontends[1].related[1]: a related query needs both"),
        (
            '[[frontends]]\nname = "a"\nbias = "newz"\n[[biases]]\nname = "news"',
            "f.toml:3: frontends[1].bias: there is no bias 'newz'",
        ),
        (
            '[[frontends]]\nname = "a"\nfacets = [{name = "p", type = "integer", ranges = ["x"]}]',
            "f.toml:3: frontends[1].facets[1]: 'x' is no range",
        ),
        (
            '[[frontends]]\nname = "a"\nfacets = [{name = "p", type = "date", ranges = ["1..2"]}]',
            "f.toml:3: frontends[1].facets[1]: '1..2' is no range",
        ),
        (
            '[[frontends]]\nname = "a"\nfacets = [{name = "p", type = "float", ranges = ["1..2", "5..1"]}]',
            "f.toml:3: frontends[1].facets[1]: '5..1' is no range",
        ),
        (
            '[[frontends]]\nname = "a"\nfacets = [{name = "@colour"}]',
            "f.toml:3: frontends[1].facets[1]: '@colour' is no built-in facet; these are: @filetype, @date, @source, @language, @site",
        ),
        (
            '[[frontends]]\nname = "a"\nfacets = [{name = "@site", type = "integer", ranges = ["1..2"]}]',
            "f.toml:3: frontends[1].facets[1]: @site has a type of its own",
        ),
        ('[[frontends]]\nname = "a"\nfacets = [{name = "p", ranges = ["1..2"]}]', "f.toml:3: frontends[1].facets[1]: ranges need the type"),
        ('[[synonyms]]\ntwo_way = [["car"]]', "f.toml:2: synonyms[1].two_way[1]: "),
        ('[[synonyms]]\none_way = [["car", "?"]]', "f.toml:2: synonyms[1].one_way[1][2]: '?' holds no word"),
        ('[[biases]]\nname = "n"\ndate = 11', "f.toml:3: biases[1].date: 11 is out of range, must be at most 10"),
        (
            '[[biases]]\nname = "n"\nsources = [{pattern = "x/", weight = -11}]',
            "f.toml:3: biases[1].sources[1].weight: -11 is out of range, must be at least -10",
        ),
        (
            '[[biases]]\nname = "n"\nsources = [{pattern = "-x/", weight = 1}]',
            "f.toml:3: biases[1].sources[1].pattern: '-x/' is an",
        ),
        ('[[biases]]\nname = "n"\nmetadata = [{name = "", weight = 1}]', "f.toml:3: biases[1].metadata[1].name: "),
        ('[[biases]]\nname = "n"\n[[biases]]\nname = "n"', "f.toml:4: biases[2].name: 'n' is there already"),
        ('[query]\nstop_words = ["of the"]', "f.toml:2: query.stop_words[1]: 'of the' is not one word"),
    ],
)
def test_serving_settings_with_a_fault_are_refused_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load_text(tmp_path, text)
    assert caught.value.faults[0].replace(f"{tmp_path}/", "").startswith(fault)


def stored_setting(section: str, name: str, **value: object) -> StoredSetting:
    return StoredSetting(section=section, name=name, value=json.dumps({"name": name, **value}), version=1)


def test_stored_entry_wins_over_the_file_and_others_stand_beside_it(tmp_path: Path) -> None:
    settings = load_text(tmp_path, WHOLE).settings
    merged = merge_stored(
        settings,
        [stored_setting("collections", "press", include=["x/"]), stored_setting("collections", "hr"), stored_setting("synonyms", "cars")],
    )
    assert {one.name: one.include for one in merged.collections} == {"press": ("x/",), "hr": ()}
    assert list(list_entries(merged, "synonyms")) == ["file-1", "cars"]
    assert merged.frontends == settings.frontends
    assert merge_stored(
        settings, [StoredSetting(section="query", name="query", value='{"stop_words": ["a"]}', version=1)]
    ).query.stop_words == ("a",)


def test_stored_entry_that_cannot_be_read_back_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Corrupt, match="collections/x that was stored cannot be read"):
        merge_stored(Settings(), [StoredSetting(section="collections", name="x", value="{", version=1)])


def test_entry_of_the_api_is_checked_as_the_file_is() -> None:
    assert read_entry("collections", "a", {"include": ["x/"]}) == read_entry("collections", "a", {"name": "a", "include": ["x/"]})
    with pytest.raises(BadRequest, match=r"include\[1\]: '\(' is no regular expression"):
        read_entry("collections", "a", {"include": ["regexp:("]})
    with pytest.raises(BadRequest, match="is not the name in the address"):
        read_entry("collections", "a", {"name": "b"})
    with pytest.raises(BadRequest, match="JSON object"):
        read_entry("collections", "a", [])
    with pytest.raises(BadRequest, match="is no name here"):
        read_entry("collections", "a b", {})
