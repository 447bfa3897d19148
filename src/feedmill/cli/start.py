"""Starts the program ``feedmill``, so that it prints no traceback if streams are closed, or Ctrl-C comes while its code loads."""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit code after Ctrl-C, as shells report it."""


def start() -> None:
    """Runs the command that the arguments name, and ends the process with its exit code."""
    _replace_closed_streams()
    try:
        from feedmill.cli.main import main

        main()
    except KeyboardInterrupt:
        _end_at_once()
    except SystemExit as exc:
        if exc.code == INTERRUPTED:
            _end_at_once()
        raise
    finally:
        # what remains is to close files
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _replace_closed_streams() -> None:
    """Opens standard streams that the caller has closed, so that no other file gets their numbers. Input is empty, output goes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # the first free number is that of the stream
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process


def _end_at_once() -> None:
    """Ends the process after Ctrl-C. Python itself might end it by the signal, which is another result for the program that started it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    start()
