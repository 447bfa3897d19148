"""Builds the puller, which runs the pull sources of the settings."""

import socket
from collections.abc import Callable
from functools import partial

from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.feeds import build_admission
from feedmill.bootstrap.pullrequests import build_setups
from feedmill.ports import InFlight
from feedmill.services.pulling.pageplan import PullDependencies
from feedmill.services.pulling.puller import Puller

NOTES = "pull"
"""How the files begin in which the puller notes what it works on."""


def build_puller(context: AppContext, *, only: str = "", start: Callable[[Callable[[], None]], None] | None = None) -> Puller:
    """Builds the puller of one source or of all; ``start`` runs a function beside its loop, in a thread by default."""
    admission = build_admission(context.settings)
    tools = PullDependencies(
        store=context.store,
        blobs=context.blobs,
        clock=utc_now,
        admission=lambda: admission,
        notifier=context.notifier,
        owner=f"{socket.gethostname()}:{context.data.absolute()}",
    )
    setups = {name: source.setup for name, source in build_setups(context).items() if only in ("", name)}
    notes = partial(_open_notes, context)
    return Puller(setups, tools, in_flight=notes) if start is None else Puller(setups, tools, start=start, in_flight=notes)


def _open_notes(context: AppContext, name: str) -> InFlight:
    """Opens the notes about what the puller works on in a source."""
    return context.in_flight(f"{NOTES}-{name}")
