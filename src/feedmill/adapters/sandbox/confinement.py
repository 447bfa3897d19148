"""Confines a process before it reads hostile input.

Each part stands alone, so a kernel or a container without one part still has the others. ``confine`` returns the parts in force.
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

_CAPSET: Final = {"x86_64": 126, "aarch64": 91}  # capset(2), by processor
_CAPABILITY_VERSION: Final = 0x20080522  # _LINUX_CAPABILITY_VERSION_3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The parts that are in force.

    Shape: ``landlock`` is its version, 0 for none. ``landlock_network`` and ``landlock_scopes``: whether that version restricts TCP
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
        """Returns the names of the parts that are not in force."""
        return tuple(name for name, value in asdict(self).items() if not value)


def confine(rules: Filter, limits: Mapping[int, int]) -> Sandbox:
    """Confines this process for good, and returns the parts in force. Shape: ``limits`` by number, as ``RLIMIT_NOFILE``.

    The process must have one thread: no part confines threads that run already.
    """
    for number, bound in limits.items():
        set_limit(number, bound)
    # Before Landlock and the filter, which require ``no_new_privs`` or a capability that is dropped here.
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
        # comes last, because the other parts need system calls that it refuses
        seccomp=_filter(rules),
    )


def set_limit(number: int, bound: int) -> None:
    """Lowers a limit of this process, soft and hard; a lower one stays."""
    _, hard = resource.getrlimit(number)
    lowest = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(number, (lowest, lowest))


def hide_memory() -> bool:
    """Hides this process's memory and environment from processes of the same user, and its memory from core files.

    Returns whether that worked. A program that this process executes must call it again.
    """
    return _succeeds(kernel.PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> bool:
    """Prevents programs that this process executes from gaining privileges by their file's mode or capabilities; returns whether that
    worked.
    """
    return _succeeds(kernel.PR_SET_NO_NEW_PRIVS, 1)


def harden() -> None:
    """Applies the part for every process of the server: no core files, memory hidden from other processes, no privileges to gain."""
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
    # The header names the version and the process, 0 for this one. Two times three words of zeros are the empty sets.
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
