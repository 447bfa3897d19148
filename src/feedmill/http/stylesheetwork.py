"""The process that applies stylesheets: request after request from its input, answer after answer to its output.

    request   lengths of the stylesheet, of the XML and of what is to stand in it as CUSTOM; all three
    answer    0 for a page, 1 for why there is none, 2 for what is wrong with CUSTOM; whether the process ends with this answer;
              length; bytes

It ends with its input, and with an answer that it grew large for, whose memory goes back so. A stylesheet that takes too long ends it by a
signal, which no loop in the engine holds back; one that needs too much memory gets none.
"""

import resource
import signal
import struct
import sys
from pathlib import Path
from typing import BinaryIO, Final

from lxml import etree
from setproctitle import setproctitle

from feedmill.http.customxml import read_custom
from feedmill.http.stylesheets import compile_stylesheet, make_parser
from feedmill.model.errors import BadRequest, Corrupt

REQUEST: Final = struct.Struct(">QQQ")
ANSWER: Final = struct.Struct(">B?Q")
PAGE: Final = 0
FAULT: Final = 1
REFUSAL: Final = 2
MAX_MEMORY_BYTES: Final = 1_500_000_000
# what a text that doubles fails at, having reached a quarter of the bound, is far above; what pages of results need is far below
_LARGE_BYTES: Final = MAX_MEMORY_BYTES // 8
_KEPT: Final = 16


def main(seconds: int) -> None:
    """Runs the process. Units: ``seconds`` that a page may take."""
    setproctitle("feedmill: stylesheets")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _work(sys.stdin.buffer, sys.stdout.buffer, seconds)


def _work(source: BinaryIO, sink: BinaryIO, seconds: int) -> None:
    kept: dict[bytes, etree.XSLT] = {}
    while len(head := source.read(REQUEST.size)) == REQUEST.size:
        sheet, xml, custom = (source.read(size) for size in REQUEST.unpack(head))
        signal.alarm(seconds)
        kind, body = _apply(kept, sheet, xml, custom)
        signal.alarm(0)
        is_large = _peak_bytes() > _LARGE_BYTES
        sink.write(ANSWER.pack(kind, is_large, len(body)))
        sink.write(body)
        sink.flush()
        if is_large:
            return


def _apply(kept: dict[bytes, etree.XSLT], sheet: bytes, xml: bytes, custom: bytes) -> tuple[int, bytes]:
    try:
        if sheet not in kept:
            transform = compile_stylesheet(sheet)
            if len(kept) >= _KEPT:
                kept.clear()
            kept[sheet] = transform
        document = etree.fromstring(xml, make_parser())
        if custom:
            document.append(read_custom(custom))
        return PAGE, bytes(kept[sheet](document))
    except BadRequest as exc:
        return REFUSAL, str(exc).encode()
    except (Corrupt, etree.LxmlError) as exc:
        return FAULT, f"{exc}{_tell_memory()}".encode("utf-8", "replace")
    except MemoryError:
        return FAULT, f"it needs too much memory{_tell_memory()}".encode()


def _tell_memory() -> str:
    """Tells how large the process has grown, if it has.

    An engine that gets no memory gives all kinds of reasons, often one of what it met next.
    """
    peak = _peak_bytes()
    if peak <= _LARGE_BYTES:
        return ""
    return f"; it took {peak // 10**6} MB of the {MAX_MEMORY_BYTES // 10**6} MB of memory that stylesheets may have"


def _peak_bytes() -> int:
    """Gives the most that this program has held; what the kernel accounts to the process counts its parent's memory too."""
    lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
