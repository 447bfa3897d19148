"""The analyzer of Tantivy's text fields. ``adapters/index/analysis`` has done all other analysis before."""

from tantivy import Filter, Index, TextAnalyzerBuilder, Tokenizer

from feedmill.core.text.wordforms import MAX_WORD_BYTES

TAGGED = "words"
"""The name of the analyzer that only splits at blanks. The engine forgets it when it closes."""


def register(index: Index) -> None:
    """Registers the analyzer with an open index."""
    # the engine keeps words that are shorter than its limit
    index.register_tokenizer(TAGGED, TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(MAX_WORD_BYTES + 1)).build())
