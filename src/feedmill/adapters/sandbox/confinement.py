"""Confines a process: what it gives up before it reads hostile input.

Each part stands alone, so that a kernel, or a container, without one leaves the others. ``confine`` returns which there are.
"""

import ctypes
import os
import resource
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from feedmill.adapters.sandbox import kernel, landlock, seccomp
from feedmill.adapters.sandbox.seccomp import Filter
from feedmill.adapters.sandbox.syscalls import find_architecture

_CAPSET: Final = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION: Final = 0x20080522


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Which parts are in force.

    Shape: ``landlock`` is its version, 0 for none; ``landlock_network`` and ``landlock_scopes`` tell whether that version handles TCP
    ports, and signals and abstract sockets.
    """

    no_new_privs: bool
    non_dumpable: bool
    no_capabilities: bool
    landlock: int
    landlock_network: bool
    landlock_scopes: bool
    seccomp: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the parts that are not in force."""
        return tuple(name for name, value in asdict(self).items() if not value)


def confine(rules: Filter, limits: Mapping[int, int]) -> Sandbox:
    """Confines this process, for good, and returns what is in force. Shape: ``limits`` are bounds by number, as ``RLIMIT_NOFILE``.

    The process must have one thread: threads that run already are confined by none of it.
    """
    for number, bound in limits.items():
        set_limit(number, bound)
    non_dumpable = hide_memory()
    no_capabilities = _drop_capabilities()
    no_new_privs = forbid_new_privileges()
    version = _restrict()
    return Sandbox(
        no_new_privs=no_new_privs,
        non_dumpable=non_dumpable,
        no_capabilities=no_capabilities,
        landlock=version,
        landlock_network=version >= landlock.NETWORK_SINCE,
        landlock_scopes=version >= landlock.SCOPES_SINCE,
        # the last, since the other parts need calls that it refuses
        seccomp=_filter(rules),
    )


def set_limit(number: int, bound: int) -> None:
    """Lowers a bound of this process, soft and hard; one that is lower already stays."""
    _, hard = resource.getrlimit(number)
    lowest = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(number, (lowest, lowest))


def hide_memory() -> bool:
    """Keeps processes of the same user from this one's memory and environment, and its memory out of core files; returns whether.

    A program that this process executes must ask again.
    """
    return _succeeds(kernel.PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> bool:
    """Has programs that this process executes gain nothing by their file's mode or capabilities; returns whether."""
    return _succeeds(kernel.PR_SET_NO_NEW_PRIVS, 1)


def harden() -> None:
    """Does what every process of the server does: no core files, no memory for others to read, no privileges to gain."""
    set_limit(resource.RLIMIT_CORE, 0)
    hide_memory()
    forbid_new_privileges()


def _succeeds(option: int, value: int) -> bool:
    try:
        kernel.prctl(option, value)
    except OSError:
        return False
    return True


def _drop_capabilities() -> bool:
    number = _CAPSET.get(os.uname().machine)
    if number is None:
        return False
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))
    nothing = ctypes.create_string_buffer(bytes(24), 24)
    try:
        kernel.syscall(number, ctypes.addressof(header), ctypes.addressof(nothing))
    except OSError:
        return False
    return True


def _restrict() -> int:
    try:
        return landlock.restrict()
    except OSError:
        return 0


def _filter(rules: Filter) -> bool:
    if find_architecture() is None:
        return False
    try:
        seccomp.install(rules)
    except OSError:
        return False
    return True
