import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.patternsets import CompiledPatterns, list_patterns, node_of_patterns, pattern_term
from feedmill.core.query.sites import is_collection_name, read_site
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.query import And, MatchAll, Node, Not, Or, UnderPattern
from feedmill.model.serving import Bias, Collection, FrontEnd, Serving, SourceBias

KNOWN = {name: Collection(name=name, include=(f"{name}.com/",)) for name in ("a", "b", "c-d", "e_f")}


def under(name: str) -> Node:
    return UnderPattern(f"{name}.com/")


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("", MatchAll()),
        ("  ", MatchAll()),
        ("default_collection", MatchAll()),
        ("a", under("a")),
        (" a ", under("a")),
        ("c-d", under("c-d")),
        ("e_f", under("e_f")),
        ("a|b", Or((under("a"), under("b")))),
        ("a|a", under("a")),
        ("a.b", And((under("a"), under("b")))),
        ("a|b.e_f", And((Or((under("a"), under("b"))), under("e_f")))),
        ("a.default_collection", under("a")),
        ("a|default_collection", MatchAll()),
        ("a|unknown", under("a")),
        ("unknown", None),
        ("a.unknown", None),
        ("A", None),
        ("a b", None),
        ("a.a", under("a")),
        ("-a", Not(under("a"))),
        ("b.-a", And((under("b"), Not(under("a"))))),
        ("b|-a", Or((under("b"), Not(under("a"))))),
        ("-c-d", Not(under("c-d"))),
        ("-unknown", MatchAll()),
        ("a.-unknown", under("a")),
        ("-default_collection", None),
        ("a|-default_collection", under("a")),
        ("(a|b)", Or((under("a"), under("b")))),
        ("(a.b)|e_f", Or((And((under("a"), under("b"))), under("e_f")))),
        ("a.-(b|e_f)", And((under("a"), Not(Or((under("b"), under("e_f"))))))),
        ("((a))", under("a")),
        ("(" * 20 + "a" + ")" * 20, under("a")),
        ("(" * 21 + "a" + ")" * 21, None),
        ("(a", None),
        ("a)", None),
        ("()", None),
        ("a(b)", None),
        ("-", None),
        ("--a", None),
        ("a$", None),
        ("|".join(["a"] * 100), under("a")),
        ("|".join(["a"] * 101), None),
        ("a.", None),
        ("|a", None),
        ("a..b", None),
        ("é", None),
        ("a%7Cb", None),
    ],
)
def test_site_combines_collections_with_or_binding_tighter_than_and(text: str, root: Node | None) -> None:
    assert read_site(text, KNOWN).root == root


def test_site_unknown_collection_is_named_in_a_warning() -> None:
    assert read_site("a|x|y", KNOWN).warnings == ("there is no collection x", "there is no collection y")
    assert read_site("a", KNOWN).warnings == ()
    assert "list of collections" in read_site("a b", KNOWN).warnings[0]


def test_site_default_collection_that_is_set_is_what_it_is_set_to() -> None:
    collections = {"default_collection": Collection(name="default_collection", include=("x.com/",))}
    assert read_site("default_collection", collections).root == UnderPattern("x.com/")
    assert read_site("", collections).root == MatchAll()


@given(st.text(alphabet="ab|.- é()", max_size=20))
def test_site_never_raises(text: str) -> None:
    read_site(text, KNOWN)


def test_collection_names_hold_what_site_can_name() -> None:
    assert is_collection_name("default_collection")
    assert is_collection_name("A-1")
    assert not any(is_collection_name(name) for name in ("", "a.b", "a|b", "a b", "-a", "a" * 201))


def holds(node: Node, terms: tuple[str, ...]) -> bool:
    match node:
        case MatchAll():
            return True
        case UnderPattern(pattern):
            return pattern_term(pattern) in terms
        case Not(part):
            return not holds(part, terms)
        case And(parts):
            return all(holds(part, terms) for part in parts)
        case Or(parts):
            return any(holds(part, terms) for part in parts)
        case _:
            raise AssertionError(node)


PATTERNS = st.sampled_from(["a.com/", "-a.com/x", "/", "x", "/x/", ".pdf$", "-contains:y", "regexp:a.*y", "+-b.com/", "^http://b.com/x$"])
URLS = st.sampled_from(
    ["http://a.com/", "http://a.com/x/y", "http://b.com/x", "https://b.com/x/z.pdf", "ftp://c.com/y", "http://ba.com/x/"]
)


@given(st.lists(PATTERNS, min_size=1, max_size=4), st.lists(PATTERNS, max_size=4), URLS)
def test_patterns_as_a_query_pass_what_the_pattern_set_passes(include: list[str], exclude: list[str], url: str) -> None:
    if all(line.startswith(("-", "+-")) for line in include):
        include = ["/", *include]
    serving = Serving(collections={"c": Collection(name="c", include=tuple(include), exclude=tuple(exclude))})
    terms = CompiledPatterns(list_patterns(serving)).terms_of(url)
    assert holds(node_of_patterns(include, exclude), terms) == PatternSet(include, exclude).match_url(url).passes


def test_patterns_of_all_settings_are_known_once_without_their_signs() -> None:
    serving = Serving(
        collections={"c": Collection(name="c", include=("a/", "/"), exclude=("-b/", "# remark"))},
        frontends={"f": FrontEnd(name="f", remove_urls=("b/", "a/"))},
        biases={"n": Bias(name="n", sources=(SourceBias(pattern="z/", weight=1),))},
    )
    assert list_patterns(serving) == ("a/", "b/", "z/")
    assert pattern_term("-b/") == pattern_term("+-b/") == pattern_term(" b/ ") != pattern_term("a/")


def test_patterns_without_any_to_include_mean_every_url() -> None:
    assert node_of_patterns(()) == MatchAll()
    assert node_of_patterns((), ("a/",)) == Not(UnderPattern("a/"))
    assert node_of_patterns(("/",), ("a/",)) == Not(UnderPattern("a/"))
