"""What a fuzzer is, and what counts as a finding.

A target reads bytes as the server would. A finding is:

- any exception but those that the parser promises;
- more output than ``output_per_byte`` allows, in characters or bytes of what is returned;
- more time than ``work_per_byte`` allows, in units that are measured in the same run, so that a slow machine finds nothing.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

Run = Callable[[bytes], int]

_TRIES = 4
_UNIT_BYTES = 65_536


class Finding(AssertionError):
    """A target did what it must not; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser.

    Shape: ``run`` returns the size of its output; ``errors`` are those it promises; ``words`` are pieces that a mutation puts in. Units:
    ``work_per_byte`` counts the time that a regular expression takes to pass over a byte, ``base_work`` is that of an empty input.
    """

    name: str
    run: Run
    seeds: tuple[bytes, ...]
    errors: tuple[type[Exception], ...] = ()
    words: tuple[bytes, ...] = ()
    output_per_byte: int = 100
    base_output: int = 100_000
    work_per_byte: float = 20_000.0
    base_work: float = 200_000_000.0
    inputs_in_suite: int = field(default=150)


def check(target: Target, data: bytes) -> None:
    """Runs a target on an input. Errors: Finding."""
    bound_units = target.base_work + target.work_per_byte * len(data)
    for left in reversed(range(_TRIES)):
        began = time.thread_time()
        _run_once(target, data)
        spent = time.thread_time() - began
        if spent <= bound_units * seconds_of_unit():
            return
        if not left:
            raise Finding(f"{len(data)} bytes took {spent:.2f} s, more than {bound_units:.0f} units of {seconds_of_unit():.1e} s")


def _run_once(target: Target, data: bytes) -> None:
    try:
        size = target.run(data)
    except target.errors:
        return
    except Finding:
        raise
    except Exception as exc:
        raise Finding(f"{type(exc).__name__}: {exc}") from exc
    if size > target.base_output + target.output_per_byte * len(data):
        raise Finding(f"{len(data)} bytes made an output of {size}")


@cache
def seconds_of_unit() -> float:
    """Returns the time of one unit of work on this machine now: the least of several measurements."""
    text, times = "ab, " * (_UNIT_BYTES // 4), []
    for _ in range(5):
        began = time.thread_time()
        re.findall(r"\w+", text)
        times.append((time.thread_time() - began) / _UNIT_BYTES)
    return max(min(times), 1e-10)
