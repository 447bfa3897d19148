"""The last step of signing out: the browser tells the providers that somebody leaves.

Who signs out here is signed out here, whatever becomes of the rest. One provider is gone to at once, by a page rather than a redirection,
since browsers hold the redirections that follow a form against the form's own policy; with several, the page lists them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from feedmill.http.common.cachecontrol import NEVER_KEPT
from feedmill.model.signin import Credential
from feedmill.ports.signin import ProviderRedirect

POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'"
"""Without a word on where forms go: providers send on to where they like."""

Leave = Callable[[Request, Credential], ProviderRedirect | None]
"""Returns how a provider is told that somebody leaves; None where there is nothing to tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """One provider to tell, as the page offers it."""

    label: str
    departure: ProviderRedirect


@dataclass(frozen=True, slots=True)
class Leavings:
    """Which providers are told when somebody leaves, by the name that credentials have of them."""

    templates: jinja2.Environment
    ways: dict[str, tuple[str, Leave]] = field(default_factory=dict)

    def add(self, provider: str, label: str, leave: Leave) -> None:
        """Lets a provider be told."""
        self.ways[provider] = (label, leave)

    def find(self, request: Request, credentials: Sequence[Credential]) -> list[Exit]:
        """Finds whom to tell about the end of a session of these credentials."""
        found: list[Exit] = []
        for credential in credentials:
            label, leave = self.ways.get(credential.provider, ("", None))
            departure = leave(request, credential) if leave is not None else None
            if departure is not None:
                found.append(Exit(label=label, departure=departure))
        return found

    def render(self, exits: Sequence[Exit]) -> Response:
        """Returns the page that goes on to one provider, or lists several."""
        body = self.templates.get_template("leaving.html").render(exits=exits)
        return HTMLResponse(body, headers={**NEVER_KEPT, "Content-Security-Policy": POLICY})

    def send(self, departure: ProviderRedirect) -> Response:
        """Sends a browser on that came by itself, not by a form of ours."""
        if departure.fields:
            return self.render([Exit(label="", departure=departure)])
        return RedirectResponse(departure.url, status_code=303, headers=NEVER_KEPT)
