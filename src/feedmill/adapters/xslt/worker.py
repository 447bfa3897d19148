"""The process that applies stylesheets. It reads requests from its input and writes a response for each to its output.

    request    lengths of the stylesheet, of the XML and of CUSTOM; then all three
    response   0 for a page, 1 for the reason why there is none, 2 for what is wrong with CUSTOM; whether the process ends after this
               response; length; bytes

The process ends when its input ends. It also ends after a response for which it grew large, so that its memory is freed. A stylesheet that
takes too long ends it by a signal, which no loop in the engine delays. A stylesheet that needs too much memory gets none.

Before its first request the process gives up files, sockets, other processes and privileges (``adapters/sandbox``). It retains its input,
its output and the kernel's account of its memory.
"""

import os
import resource
import signal
import struct
import sys
from collections.abc import MutableMapping
from typing import Any, BinaryIO, Final

from cachetools import LRUCache
from lxml import etree
from setproctitle import setproctitle

from feedmill.adapters.sandbox.confinement import confine
from feedmill.adapters.sandbox.seccomp import TRANSFORMING
from feedmill.adapters.xslt.stylesheets import compile_stylesheet, make_parser
from feedmill.model.errors import BadRequest, Corrupt
from feedmill.runtime.roles import STYLESHEETS

REQUEST: Final = struct.Struct(">QQQ")
ANSWER: Final = struct.Struct(">B?Q")
PAGE: Final = 0
FAULT: Final = 1
REFUSAL: Final = 2
MAX_MEMORY_BYTES: Final = 1_500_000_000
# a text that doubles fails far above this, at a quarter of the limit; pages of results stay far below it
_LARGE_BYTES: Final = MAX_MEMORY_BYTES // 8
_MAX_COMPILED: Final = 16
_SAMPLE: Final = (
    b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output encoding="iso-8859-1"/>'
    b'<xsl:template match="/"><xsl:value-of select="format-number(1, \'0.0\')"/></xsl:template></xsl:stylesheet>'
)
_BOUNDS: Final = {
    resource.RLIMIT_AS: MAX_MEMORY_BYTES,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_NOFILE: 0,
    resource.RLIMIT_NPROC: 0,
}


def main(seconds: int) -> None:
    """Runs the process. Units: ``seconds`` is the time limit of a page."""
    setproctitle(STYLESHEETS.title)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    memory = os.open("/proc/self/status", os.O_RDONLY)
    # libraries load some of their files when they are first used, which the sandbox would forbid
    _apply({}, _SAMPLE, b"<a/>", b"<b/>", memory)
    confine(TRANSFORMING, _BOUNDS)
    _work(sys.stdin.buffer, sys.stdout.buffer, seconds, memory)


def _work(source: BinaryIO, sink: BinaryIO, seconds: int, memory: int) -> None:
    compiled: LRUCache[bytes, etree.XSLT] = LRUCache(_MAX_COMPILED)
    while len(head := source.read(REQUEST.size)) == REQUEST.size:
        sheet, xml, custom = (source.read(size) for size in REQUEST.unpack(head))
        signal.alarm(seconds)
        kind, body = _apply(compiled, sheet, xml, custom, memory)
        signal.alarm(0)
        is_large = _peak_bytes(memory) > _LARGE_BYTES
        sink.write(ANSWER.pack(kind, is_large, len(body)))
        sink.write(body)
        sink.flush()
        if is_large:
            return


def _apply(compiled: MutableMapping[bytes, etree.XSLT], sheet: bytes, xml: bytes, custom: bytes, memory: int) -> tuple[int, bytes]:
    try:
        transform = compiled.get(sheet)
        if transform is None:
            transform = compiled[sheet] = compile_stylesheet(sheet)
        document = etree.fromstring(xml, make_parser())
        if custom:
            document.append(read_custom(custom))
        return PAGE, bytes(transform(document))
    except BadRequest as exc:
        return REFUSAL, str(exc).encode()
    except (Corrupt, etree.LxmlError) as exc:
        return FAULT, f"{exc}{_describe_memory(memory)}".encode("utf-8", "replace")
    except MemoryError:
        return FAULT, f"it needs too much memory{_describe_memory(memory)}".encode()


_XML_NAMESPACE: Final = "{http://www.w3.org/XML/1998/namespace}"


def read_custom(data: bytes) -> etree._Element:
    """Returns the element CUSTOM, which holds the XML of ``proxycustom=``; XML that is not well-formed becomes its text.

    A link can hold any such text, and the page that results is one of this server. Elements and attributes are therefore in no namespace,
    as the appliance's stylesheets expect them (``<HOME/>``, ``<ADVANCED/>``): nothing of it is XHTML.
    Errors: BadRequest for a DOCTYPE, and for names in a namespace. Source: Search Protocol Reference, "Custom XML".
    """
    custom = etree.Element("CUSTOM")
    options: dict[str, Any] = {"encoding": "utf-8", "resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    if b"<!DOCTYPE" in data:
        raise BadRequest("proxycustom= holds a DOCTYPE")
    try:
        root = etree.fromstring(data, etree.XMLParser(remove_comments=True, remove_pis=True, **options))
    except (etree.LxmlError, ValueError):
        text = data.decode("utf-8", "replace")
        custom.text = "".join(character if character.isprintable() else " " for character in text)
        return custom
    for element in root.iter():
        names = (str(element.tag), *(str(name) for name in element.attrib if not str(name).startswith(_XML_NAMESPACE)))
        if element.nsmap or any(name.startswith("{") for name in names):
            raise BadRequest("proxycustom= holds names of a namespace; a stylesheet is given elements without one, such as <HOME/>")
    custom.append(root)
    return custom


def _describe_memory(memory: int) -> str:
    """Returns how large the process has grown, "" if it has not.

    Without memory the engine reports all kinds of errors, often one of the next step.
    """
    peak = _peak_bytes(memory)
    if peak <= _LARGE_BYTES:
        return ""
    return f"; it took {peak // 10**6} MB of the {MAX_MEMORY_BYTES // 10**6} MB of memory that stylesheets may have"


def _peak_bytes(memory: int) -> int:
    """Returns the peak memory of this program. The kernel's own account of the process includes memory of its parent."""
    lines = os.pread(memory, 1 << 16, 0).decode("ascii", "replace").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
