"""The last step of signing out: the browser carries the logout to the providers.

The session on this server has ended by then, even if a provider fails. With one provider, a page leads to it at once. The server sends
a page instead of a redirect, because browsers apply a form's own policy to the redirects that follow it. With several providers, the
page lists them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.pages.rendering import Pages
from feedmill.model.signin import Credential
from feedmill.ports.signin import ProviderRedirect

POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'"
"""The policy of the page. It does not limit the targets of forms, because providers redirect to addresses of their choice."""

BuildLogout = Callable[[Request, Credential], ProviderRedirect | None]
"""Returns the redirect that logs a user out at a provider; None if the provider needs no notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderLogout:
    """One provider to notify, as the page offers it."""

    label: str
    redirect: ProviderRedirect


@dataclass(frozen=True, slots=True)
class ProviderLogouts:
    """The providers to notify of a logout, by their names in credentials."""

    pages: Pages
    logout_builders: dict[str, tuple[str, BuildLogout]] = field(default_factory=dict)

    def add_provider(self, provider: str, label: str, build_logout: BuildLogout) -> None:
        """Adds a provider."""
        self.logout_builders[provider] = (label, build_logout)

    def find_logouts(self, request: Request, credentials: Sequence[Credential]) -> list[ProviderLogout]:
        """Returns the providers to notify when a session of these credentials ends."""
        found: list[ProviderLogout] = []
        for credential in credentials:
            label, build_logout = self.logout_builders.get(credential.provider, ("", None))
            redirect = build_logout(request, credential) if build_logout is not None else None
            if redirect is not None:
                found.append(ProviderLogout(label=label, redirect=redirect))
        return found

    def render(self, request: Request, logouts: Sequence[ProviderLogout]) -> Response:
        """Returns the page that leads to one provider, or lists several."""
        headers = {**NO_STORE, "Content-Security-Policy": POLICY}
        return self.pages.respond(request, "leaving.html", 200, headers, logouts=logouts)

    def send_redirect(self, request: Request, redirect: ProviderRedirect) -> Response:
        """Redirects a browser that did not come from a form of this server."""
        if redirect.fields:
            return self.render(request, [ProviderLogout(label="", redirect=redirect)])
        return RedirectResponse(redirect.url, status_code=303, headers=NO_STORE)
