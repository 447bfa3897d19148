"""What this kernel has of the sandbox, found out by a process that does nothing but confine itself."""

import json
import os
import socket
import subprocess
import sys
from functools import lru_cache

import pytest

from feedmill.adapters.sandbox.confinement import Sandbox

_CODE = (
    "import json, dataclasses; from feedmill.adapters.sandbox.probe import probe_sandbox as p; print(json.dumps(dataclasses.asdict(p())))"
)


@lru_cache(maxsize=1)
def find_sandbox() -> Sandbox:
    """Returns the parts that are in force here."""
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, check=True)
    return Sandbox(**json.loads(done.stdout))


def launch(command: str, memory_bytes: int = 1_000_000_000) -> str:
    """Runs a command of the shell as a browser is run. Returns what it wrote, and the last message of the launcher."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            module = "feedmill.adapters.crawling.rendering.launcher"
            arguments = [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid()), str(memory_bytes)]
            started = subprocess.Popen([*arguments, "/bin/sh", "-c", f"exec 1>&4 2>&4; {command}"], pass_fds=[theirs.fileno()])
        ours.settimeout(60)
        try:
            return b"".join(iter(lambda: ours.recv(65_536), b"")).decode()
        finally:
            ours.close()
            started.wait(60)


needs_namespaces = pytest.mark.skipif("permits no sandbox" in launch("true"), reason="this machine permits no namespaces for browsers")
