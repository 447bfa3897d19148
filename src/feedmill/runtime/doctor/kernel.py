"""Checks which parts of the sandbox for hostile input this kernel has."""

from collections.abc import Iterator

from feedmill.adapters.sandbox.probe import probe_sandbox
from feedmill.runtime.doctor.findings import Finding, State


def check_sandbox() -> Iterator[Finding]:
    """Probes the sandbox by a process that confines itself."""
    missing = probe_sandbox().missing
    if missing:
        text = f"this kernel or container lacks {', '.join(missing)}: processes that read hostile input are confined by fewer parts"
        yield Finding("sandbox", State.WARNING, f"{text}; run a newer kernel, or permit them in the container")
    else:
        yield Finding("sandbox", State.OK, "all parts are there")
