"""Loads, before workers are forked, everything that their readers would load at first use: a worker may open no file.

A reader must work without anything else. Fonts are such a case: the PDF library would list those of the system at the first page
and uses its own instead, which are the same on every machine.
"""

import codecs
import encodings
import importlib
import pkgutil
from contextlib import suppress

from feedmill.adapters.extract import charset, language
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers import pdf
from feedmill.adapters.extract.sniff import MAIL
from feedmill.model.extraction import ExtractionLimits, Task

_MAIL_HEAD = b"Subject: =?utf-8?q?a?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
_SAMPLES = (
    ("text/html", b"<title>a</title><p>" + bytes(range(128, 256)) * 4),
    (MAIL, _MAIL_HEAD + b"--x\r\nContent-Type: text/plain\r\n\r\na\r\n--x--\r\n"),
    ("text/markdown", b"# a\n\n|b|\n|-|\n|c|\n"),
)


def preload() -> None:
    """Loads parsers, models, and all codecs of texts."""
    _load_codecs()
    charset.warm_up()
    language.load_model()
    pdf.warm_up()
    with suppress(ImportError):  # documents of its formats then have a reason that names the missing package
        importlib.import_module("xberg")
    for mimetype, data in _SAMPLES:
        extract(Task(key=0, url="http://localhost/a", mimetype=mimetype, data=data), ExtractionLimits())


def _load_codecs() -> None:
    for module in pkgutil.iter_modules(encodings.__path__):
        # some exist on other systems only
        with suppress(LookupError, ImportError):
            codecs.lookup(module.name)
