"""The templates of the pages for people."""

from pathlib import Path

import jinja2

from feedmill import __version__

_FOLDER = Path(__file__).parents[1] / "templates"


def make_templates() -> jinja2.Environment:
    """Returns the environment of the templates, which escapes every value."""
    loader = jinja2.FileSystemLoader(_FOLDER)
    templates = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.globals["version"] = __version__
    return templates
