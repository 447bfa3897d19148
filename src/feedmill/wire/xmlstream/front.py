"""The first stage of every reading: reads bytes as received, returns UTF-8 with a harmless prolog."""

import codecs
import re

from feedmill.model.errors import BadFeed
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.wire.xmlstream.charset import SNIFF_BYTES, open_decoder, sniff_charset
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.prolog import clean_prolog


class Front:
    """Finds the charset, decodes, cleans the prolog. A text in UTF-8 is passed through unchanged after its prolog.

    A lenient front marks undecodable bytes (see ``charset``), writes the marks as surrogates, and never cuts a character in two.
    ``remarks`` are for the sender, about the beginning of the text.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self._lenient = lenient
        self._waiting = b""
        self._sniffed = False
        self._in_prolog = True
        self._decoder: codecs.IncrementalDecoder | None = None
        self._lines = 1
        self.remarks: list[LogEntry] = []

    def feed(self, data: bytes) -> bytes:
        """Reads the next bytes and returns those that are ready. Errors: BadFeed."""
        if not self._in_prolog:
            return self._decode(data, final=False)
        return self._open(data, final=False)

    def close(self) -> bytes:
        """Returns the rest. Errors: BadFeed."""
        if not self._in_prolog:
            return self._decode(b"", final=True)
        return self._open(b"", final=True)

    def _open(self, data: bytes, *, final: bool) -> bytes:
        if not self._sniffed:
            self._waiting += data
            if len(self._waiting) < SNIFF_BYTES and not final:
                return b""
            data = self._sniff()
        self._waiting += self._decode(data, final=final)
        prolog = clean_prolog(self._waiting, final=final)
        if prolog is None:
            return b""
        for line, reason in prolog.mended:
            self.remarks.append(LogEntry(level=LogLevel.WARNING, reason=reason, line=line))
        ready = prolog.clean + self._waiting[prolog.length :]
        self._waiting, self._in_prolog = b"", False
        return ready

    def _sniff(self) -> bytes:
        head, self._waiting, self._sniffed = self._waiting, b"", True
        charset = sniff_charset(head)
        if charset.doubt is not None:
            self.remarks.append(LogEntry(level=LogLevel.WARNING, reason=charset.doubt, line=1))
        # A strict reading of UTF-8 needs no decoder: the parser checks the bytes itself.
        if self._lenient or charset.codec != "utf-8":
            self._decoder = open_decoder(charset.codec, lenient=self._lenient)
        return head[charset.bom_bytes :]

    def _decode(self, data: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            return data
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            line = self._lines + data.count(b"\n", 0, error.start)
            reason = f"bytes that the declared encoding ({error.encoding}) does not have"
            raise NotWellFormed(reason, line=line, repairable=True) from error
        self._lines += text.count("\n")
        # The marks of undecodable bytes are surrogates, which plain UTF-8 refuses.
        return text.encode("utf-8", "surrogatepass")


# Atomic groups and possessive repetitions: a head that does not match fails at once instead of trying all divisions.
_ROOT = re.compile(rb"(?>\s+|<!--.*?-->|<\?.*?\?>)*+<([^\s<>/]+)", re.DOTALL)


def find_root(head: bytes) -> str | None:
    """Returns the name of the root element in the first bytes of a text, None if it is not among them. Errors: none."""
    front = Front(lenient=True)
    try:
        text = front.feed(head) + front.close()
    except BadFeed:
        return None
    found = _ROOT.match(text)
    return found[1].decode("utf-8", "replace") if found else None
