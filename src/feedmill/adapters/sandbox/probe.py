"""Finds the parts of the sandbox that this kernel supports and this container permits: a child confines itself and reports."""

import json
import os
import resource
from dataclasses import asdict
from typing import Final

from feedmill.adapters.sandbox import namespaces
from feedmill.adapters.sandbox.confinement import Sandbox, confine
from feedmill.adapters.sandbox.seccomp import EXTRACTING

_MESSAGE_BYTES: Final = 4_096
_NOTHING: Final = Sandbox(
    no_new_privs=False, non_dumpable=False, no_capabilities=False, landlock=0, landlock_network=False, landlock_scopes=False, seccomp=False
)


def probe_sandbox() -> Sandbox:
    """Returns the parts in force for a process that confines itself. Shape: no parts if that kills the process."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _report(writer)
    # Only the child holds this end now, so its death ends the read below.
    os.close(writer)
    try:
        message = os.read(reader, _MESSAGE_BYTES)
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    return Sandbox(**json.loads(message)) if message else _NOTHING


def probe_namespaces() -> str:
    """Returns why a process cannot enter namespaces of its own, "" if it can."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _enter(writer)
    os.close(writer)
    try:
        message = os.read(reader, _MESSAGE_BYTES)
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    return message.decode("utf-8", "replace")


def _enter(writer: int) -> None:
    """Runs the child from its start to its end."""
    try:
        namespaces.become_nobody()
        namespaces.enter()
    except OSError as exc:
        os.write(writer, str(exc).encode())
    finally:
        os._exit(0)


def _report(writer: int) -> None:
    """Runs the child from its start to its end."""
    try:
        message = asdict(confine(EXTRACTING, {resource.RLIMIT_CORE: 0}))
        # a part that refuses nothing is not in force
        message["seccomp"] = message["seccomp"] and not _can_look()
        os.write(writer, json.dumps(message).encode("ascii"))
    finally:
        os._exit(0)


def _can_look() -> bool:
    try:
        os.stat("/")
    except OSError:
        return False
    return True
