"""Starts the program ``feedmill``, so that a Ctrl-C ends it without a traceback at any time, also while its code loads."""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

_INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit code after Ctrl-C, as shells report it."""


def start() -> None:
    """Runs the command that the arguments name, and ends the process with its exit code."""
    try:
        from feedmill.cli.main import main

        main()
    except KeyboardInterrupt:
        _end_at_once()
    except SystemExit as exc:
        if exc.code == _INTERRUPTED:
            _end_at_once()
        raise
    finally:
        # what remains is to close files
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_at_once() -> None:
    """Ends the process after Ctrl-C. Python itself might end it by the signal, which is another result for the program that started it."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # a caller may have closed them
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    start()
