"""Puts hostile code into a worker, as a fault of a parser would: a process that has this folder on its path reads mail by ``intrusion``.

Only the fork server of the extractor and the processes of stylesheets do; it is they whose sandbox is tested.
"""

import json
import sys


def _take_over_the_fork_server() -> None:
    from feedmill.adapters.extract import extract, sniff
    from feedmill.adapters.extract.readers.content import Content
    from feedmill.adapters.extract.readers.mail import read_mail
    from feedmill.model.extraction import ExtractionLimits
    from tests.intruder import intrusion

    def read(data: bytes, limits: ExtractionLimits) -> Content:
        if not data.startswith(intrusion.MARK):
            return read_mail(data, limits)
        return Content(text=json.dumps(intrusion.attempt_all(json.loads(data[len(intrusion.MARK) :]))))

    extract._BINARY_READERS[sniff.MAIL] = read


def _take_over_the_stylesheets() -> None:
    from feedmill.adapters.xslt import stylesheets
    from tests.intruder import intrusion

    compile_stylesheet = stylesheets.compile_stylesheet

    def compile_(data: bytes) -> object:
        if not data.startswith(intrusion.MARK):
            return compile_stylesheet(data)
        return lambda _: json.dumps(intrusion.attempt_all(json.loads(data[len(intrusion.MARK) :]))).encode()

    stylesheets.compile_stylesheet = compile_  # type: ignore[assignment]


if "feedmill.adapters.extract.pool.forkserver" in sys.orig_argv:
    _take_over_the_fork_server()
elif "feedmill.adapters.xslt.worker" in sys.orig_argv:
    _take_over_the_stylesheets()
