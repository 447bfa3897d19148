"""Finds out which parts of the sandbox this kernel supports and this container permits: a child confines itself and reports."""

import json
import os
import resource
from dataclasses import asdict
from typing import Final

from feedmill.adapters.sandbox.confinement import Sandbox, confine
from feedmill.adapters.sandbox.seccomp import EXTRACTING

_MESSAGE_BYTES: Final = 4_096
_NOTHING: Final = Sandbox(
    no_new_privs=False, non_dumpable=False, no_capabilities=False, landlock=0, landlock_network=False, landlock_scopes=False, seccomp=False
)


def probe_sandbox() -> Sandbox:
    """Returns what is in force for a process that confines itself. Shape: nothing, where such a process dies of it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _report(writer)
    os.close(writer)
    try:
        told = os.read(reader, _MESSAGE_BYTES)
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    return Sandbox(**json.loads(told)) if told else _NOTHING


def _report(writer: int) -> None:
    """The whole life of the child."""
    try:
        told = asdict(confine(EXTRACTING, {resource.RLIMIT_CORE: 0}))
        # a part that refuses nothing is not in force
        told["seccomp"] = told["seccomp"] and not _can_look()
        os.write(writer, json.dumps(told).encode("ascii"))
    finally:
        os._exit(0)


def _can_look() -> bool:
    try:
        os.stat("/")
    except OSError:
        return False
    return True
