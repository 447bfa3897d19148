"""Which words of a query are highlighted in titles and snippets."""

import pytest

from feedmill.adapters.index.highlighting import FormsHighlighter
from feedmill.core.query.language import parse_query


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("how to install the printer", "How the printer was installed, and how to use it", ["printer", "installed"]),
        ('install "the printer"', "the cat, the printer", ["the", "printer"]),
        ("how to", "how to install the printer", ["how", "to"]),
        ("the", "the printer", ["the"]),
        ("the printer", "the cat", []),
        ("how do i get my money", "How and where: page i. " + "Do it. " * 60 + "Get money here.", ["money"]),
    ],
    ids=["content words", "phrase", "function words alone", "one function word", "no content word in the text", "content words far behind"],
)
def test_snippet_marks_function_words_only_where_nothing_else_is_meant(query: str, text: str, expected: list[str]) -> None:
    snippet = FormsHighlighter(parse_query(query).root, ("en",)).make_snippet(text)
    assert [snippet.text[start:end] for start, end in snippet.marks] == expected


def test_title_without_content_words_of_the_query_has_no_marks() -> None:
    assert FormsHighlighter(parse_query("the printer").root, ("en",)).find_marks("The cat") == ()
