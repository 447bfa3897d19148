"""The templates of the pages for people."""

import hashlib
from functools import cache
from pathlib import Path

import jinja2

_FOLDER = Path(__file__).parents[1] / "templates"
_STATIC = Path(__file__).parents[1] / "static"


def make_templates() -> jinja2.Environment:
    """Returns the environment of the templates, which escapes every value."""
    loader = jinja2.FileSystemLoader(_FOLDER)
    templates = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.globals["version"] = digest_static_files()
    return templates


@cache
def digest_static_files() -> str:
    """Returns a digest of the files that the pages load. It stands in their addresses, so that browsers load a changed file at once."""
    digest = hashlib.sha256()
    for path in sorted(_STATIC.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
