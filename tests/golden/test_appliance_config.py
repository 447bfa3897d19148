from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.errors import BadRequest
from feedmill.model.serving import KeyMatchKind, RelatedQuery, SynonymSet
from feedmill.wire.applianceconfig.parse import read_keymatches, read_related, read_synonyms

LINES = (
    "\ufeff# exported",
    "holiday,KeywordMatch,http://hr.example.com/holiday,Holidays",
    '"travel, abroad",PhraseMatch,http://hr.example.com/travel,"Travel ""abroad"""',
    "exact words , exactmatch , http://hr.example.com/x",
    "",
    "urlaub,keyword,http://hr.example.com/ä,",
)


def test_keymatches_are_read_as_they_were_exported() -> None:
    read = read_keymatches("\n".join(LINES))
    assert [(one.kind, one.term, one.url, one.title) for one in read] == [
        (KeyMatchKind.KEYWORD, "holiday", "http://hr.example.com/holiday", "Holidays"),
        (KeyMatchKind.PHRASE, "travel, abroad", "http://hr.example.com/travel", 'Travel "abroad"'),
        (KeyMatchKind.EXACT, "exact words", "http://hr.example.com/x", ""),
        (KeyMatchKind.KEYWORD, "urlaub", "http://hr.example.com/ä", ""),
    ]


def test_related_queries_are_read() -> None:
    text = 'car,company car\r\n\r\n"a, b",c\r\n'
    assert read_related(text) == (RelatedQuery(term="car", query="company car"), RelatedQuery(term="a, b", query="c"))


def test_synonyms_are_read_in_their_three_forms() -> None:
    text = '# words\nebu = education  business unit\npartner > indirect sales\n{phone, cell , mobile}\n{co, "smith, jones"}\n\n'
    assert read_synonyms(text) == SynonymSet(
        two_way=(("ebu", "education business unit"), ("phone", "cell", "mobile"), ("co", "smith, jones")),
        one_way=(("partner", "indirect sales"),),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a,KeywordMatch\n", "line 1: 2 fields; a line is TERM,KIND,URL,TITLE"),
        ("a,KeywordMatch,u,t,x\n", "line 1: 5 fields"),
        ("\na,Keywordmatches,u,t\n", "line 2: 'Keywordmatches' is no kind"),
        ("a,KeywordMatch,,t\nb,x,u", "line 1: term or url is missing; line 2: 'x' is no kind"),
        ('a,KeywordMatch,"u', "line 1: unexpected end of data"),
        ("\n".join(["a,b"] * 25), "; and 5 more"),
    ],
)
def test_keymatches_with_faults_are_refused_with_their_lines(text: str, fault: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_keymatches(text)
    assert fault in str(caught.value)


@pytest.mark.parametrize("text", ["a", "a = ", "= b", "a = b = c", "{a}", "{a,}", '{a, "b}', "a > b > c"])
def test_synonyms_with_faults_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="line 2: "):
        read_synonyms(f"x = y\n{text}")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (read_keymatches, read_related, read_synonyms):
        with suppress(BadRequest):
            read(text)
