"""Finds the forms of a login page. Only Python's own parser reads it: the page comes from outside, and the process may open sockets."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

MAX_PAGE_BYTES: Final = 524_288
_MAX_FORMS: Final = 100
_MAX_FIELDS: Final = 1_000


@dataclass(slots=True)
class PageForm:
    """A form of a page. ``fields`` are the names and values that a browser would send; ``kinds`` the types of all named fields."""

    action: str
    is_post: bool
    fields: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def find_field(self, *kinds: str) -> str:
        """Returns the name of the first field of some types, "" if there is none."""
        return next((name for name, kind in self.kinds.items() if kind in kinds), "")


def find_forms(body: bytes) -> list[PageForm]:
    """Returns the forms of a page in order. Errors: none."""
    reader = _FormReader()
    reader.feed(body[:MAX_PAGE_BYTES].decode("utf-8", "replace"))
    reader.close()
    return reader.forms


class _FormReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in reversed(attrs)}
        if tag == "form" and len(self.forms) < _MAX_FORMS:
            self._form = PageForm(given.get("action", ""), given.get("method", "").strip().lower() == "post")
            self.forms.append(self._form)
        elif self._form is not None and len(self._form.kinds) < _MAX_FIELDS:
            self._add(self._form, tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""

    def _add(self, form: PageForm, tag: str, given: dict[str, str]) -> None:
        name, kind, value = given.get("name", ""), given.get("type", "text").strip().lower(), given.get("value", "")
        if tag == "input" and name:
            # A browser sends the one button that was pressed: the first.
            is_second_button = kind == "submit" and "submit" in form.kinds.values()
            form.kinds.setdefault(name, kind)
            if kind in ("checkbox", "radio"):
                if "checked" in given:
                    form.fields[name] = value or "on"
            elif kind not in ("button", "reset", "image", "file") and not is_second_button:
                form.fields.setdefault(name, value)
        elif tag == "textarea" and name:
            form.kinds.setdefault(name, "textarea")
            form.fields.setdefault(name, "")
        elif tag == "select":
            self._select = name
            form.kinds.setdefault(name, "select")
        elif tag == "option" and self._select and (self._select not in form.fields or "selected" in given):
            form.fields[self._select] = value
