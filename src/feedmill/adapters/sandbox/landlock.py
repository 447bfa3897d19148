"""Landlock: a process gives up files, TCP ports, abstract sockets and signals, as far as the kernel's version supports them.

A ruleset names the actions that it handles. A handled action without a rule is refused, and this ruleset has no rules. Open
descriptors stay usable.

Source: Linux, Documentation/userspace-api/landlock.rst; include/uapi/linux/landlock.h.
"""

import ctypes
import os
import struct
from typing import Final

from feedmill.adapters.sandbox import kernel

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
# the number of file rights in each version, from version 1 on
_FILE_RIGHTS: Final = (13, 14, 15, 15, 16)
_TCP_RIGHTS: Final = 0b11
_SCOPES: Final = 0b11
NETWORK_SINCE: Final = 4
SCOPES_SINCE: Final = 6


def make_ruleset(version: int) -> bytes:
    """Returns the ``struct landlock_ruleset_attr`` that handles all actions of a version."""
    # One bit for each right. A newer version than this table knows is used with the rights of the last one.
    files = (1 << _FILE_RIGHTS[min(version, len(_FILE_RIGHTS)) - 1]) - 1
    # A kernel refuses a structure that is longer than its own, unless the rest is zero.
    if version < NETWORK_SINCE:
        return struct.pack("=Q", files)
    if version < SCOPES_SINCE:
        return struct.pack("=QQ", files, _TCP_RIGHTS)
    return struct.pack("=QQQ", files, _TCP_RIGHTS, _SCOPES)


def restrict() -> int:
    """Restricts this thread and those it starts in all that the kernel's version handles; returns the version.

    ``no_new_privs`` must be set. Errors: OSError without Landlock.
    """
    version = kernel.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    attributes = make_ruleset(version)
    held = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = kernel.syscall(_CREATE_RULESET, ctypes.addressof(held), len(attributes), 0)
    try:
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version
