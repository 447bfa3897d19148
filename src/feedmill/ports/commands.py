"""Programs of the operator that the server runs, and the listings that they print."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A program with its arguments, and its limits.

    Shape: ``folder`` is its working folder; ``variables`` are added to its environment; ``label`` is its name in errors and in the log.
    Units: ``max_bytes`` limits its output, and ``limit`` is the name of the setting that holds it, "" if there is none.
    """

    label: str
    arguments: tuple[str, ...]
    folder: str
    seconds: float
    max_bytes: int
    limit: str = "limits.output_mb"
    variables: Mapping[str, str] = field(default_factory=dict)


class Commands(Protocol):
    """Runs programs without a shell. May be used from several threads.

    Example::

        commands.run(line, reader.feed)
        commands.stop()
    """

    def run(self, line: CommandLine, take: Callable[[bytes], object], *, standard_input: bytes = b"") -> None:
        """Runs a program to its end and passes its output to ``take``, piece by piece.

        Errors: UpstreamFailure if it cannot be started, exceeds a limit, or ends with a status other than 0; those of ``take``, which end
        the program.
        """

    def rewrite(self, line: CommandLine, files: Sequence[bytes]) -> list[bytes]:
        """Runs a program whose last arguments are files with these contents. Returns their contents afterwards. Errors: as ``run``."""

    def stop(self) -> None:
        """Ends all programs that run; those that begin later end at once."""


class Listings(Protocol):
    """Files that hold what a listing named, until all of it was applied.

    Example::

        name = listings.write(lambda add: add(b"line"))
        for line, position in listings.iter_lines(name, 0):
            ...
    """

    def write(self, fill: Callable[[Callable[[bytes], object]], object]) -> str:
        """Writes a listing and returns its name: ``fill`` calls its argument with each line. Only a few older ones stay."""

    def iter_lines(self, name: str, position: int) -> Iterator[tuple[bytes, int]]:
        """Yields the lines from a position on, each with the position after it. Errors: NotFound, before the first."""
