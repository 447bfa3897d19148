"""Brings the catalogues of the pages up to date: ``make catalogues``.

It lists the texts of the templates and of the program, adds those that a catalogue lacks, without a translation, and removes those that
are gone. Entries are sorted by their texts and name no files, and the header has no dates, so that two branches seldom change the same
lines. ``--add TAG`` begins the catalogue of another language.
"""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel import Locale
from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from feedmill.http.pages.languages import CATALOGUES, DEFAULT, list_tags
from feedmill.http.pages.rendering import TEMPLATES

_SOURCES: Final = Path(__file__).parents[2]
_TEMPLATE_OPTIONS: Final = {"trimmed": "true", "newstyle_gettext": "true", "silent": "false"}
_ONE: Final = frozenset({"gettext", "message"})
_PLURAL: Final = frozenset({"counted", "ngettext"})

Text = str | tuple[str, str]
"""A text, or those for one and for many."""


def list_texts() -> Iterator[Text]:
    """Lists the texts of the pages."""
    for path in sorted(TEMPLATES.glob("*.html")):
        with path.open("rb") as file:
            for _line, _function, found, _notes in babel_extract(file, ("gettext", "ngettext"), (), _TEMPLATE_OPTIONS):
                # a text, or a pair of them; None stands for each argument that is no literal
                texts = [found] if isinstance(found, str) else [text for text in found or () if text is not None]
                yield texts[0] if len(texts) == 1 else (texts[0], texts[1])
    for path in sorted(_SOURCES.rglob("*.py")):
        yield from list_program_texts(path.read_text("utf-8"))


def list_program_texts(source: str) -> Iterator[Text]:
    """Lists the texts of a module: the literals that calls of ``message`` and ``counted`` begin with."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments):
                texts = [argument.value for argument in arguments if isinstance(argument, ast.Constant) and isinstance(argument.value, str)]
                if name in _ONE and texts:
                    yield texts[0]
                elif name in _PLURAL and len(texts) > 1:
                    yield texts[0], texts[1]


def make_template() -> Catalog:
    """Returns a catalogue of all texts, without translations."""
    template = Catalog()
    for text in list_texts():
        template.add(text)
    return template


def read_catalogue(tag: str) -> Catalog:
    """Returns the catalogue of a language."""
    with (CATALOGUES / f"{tag}.po").open("rb") as file:
        return read_po(file, locale=tag.replace("-", "_"))


def write_catalogue(tag: str, catalogue: Catalog) -> None:
    """Writes the catalogue of a language."""
    header = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Language: {tag}\\n"\n'
    header += f'"Plural-Forms: {catalogue.plural_forms}\\n"\n\n'
    with (CATALOGUES / f"{tag}.po").open("wb") as file:
        file.write(header.encode())
        write_po(file, catalogue, width=140, sort_output=True, no_location=True, omit_header=True, ignore_obsolete=True)


def main() -> None:
    """Brings all catalogues up to date, and begins one if asked to."""
    parser = argparse.ArgumentParser(description="bring the catalogues of the pages up to date")
    parser.add_argument("--add", metavar="TAG", default="", help="begin the catalogue of a language, such as sv or zh-Hant")
    wanted = parser.parse_args().add
    template = make_template()
    tags = [tag for tag in list_tags() if tag != DEFAULT]
    for tag in [*tags, *([wanted] if wanted and wanted not in tags else [])]:
        catalogue = read_catalogue(tag) if tag in tags else Catalog(Locale.parse(tag.replace("-", "_")))
        catalogue.update(template, no_fuzzy_matching=True)
        write_catalogue(tag, catalogue)


if __name__ == "__main__":
    main()
