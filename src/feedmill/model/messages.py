"""Texts for users that a page can show in another language."""

from collections.abc import Mapping
from typing import Any, Self


class Message(str):
    """The English text wherever a string is expected: in XML, in JSON, in the log. A page translates ``template`` and fills in ``values``.

    Shape: ``template`` and ``plural`` have placeholders such as ``%(name)s``, and write a percent sign as ``%%``. ``plural`` is "" for a
    text without a count; otherwise it is the text for any other count than one, and ``values`` holds ``count``.
    """

    __slots__ = ("plural", "template", "values")

    template: str
    plural: str
    values: Mapping[str, object]

    def __new__(cls, template: str, plural: str = "", values: Mapping[str, object] | None = None) -> Self:
        """Returns the text of a template."""
        values = dict(values or {})
        text = plural if plural and values["count"] != 1 else template
        made = super().__new__(cls, text % values)
        made.template, made.plural, made.values = template, plural, values
        return made

    def __getnewargs__(self) -> Any:
        """Returns the arguments by which a copy is made."""
        return self.template, self.plural, self.values


def message(template: str, /, **values: object) -> Message:
    """Returns a text for users. The catalogues of the pages list the templates of all calls, so ``template`` is a literal.

    >>> message("there is no collection %(name)s", name="press")
    'there is no collection press'
    """
    return Message(template, values=values)


def counted(template: str, plural: str, count: int, /, **values: object) -> Message:
    """Returns a text for users that depends on a count, which both templates write as ``%(count)s``.

    >>> counted("%(count)s result", "%(count)s results", 2)
    '2 results'
    """
    return Message(template, plural, {**values, "count": count})
