"""The common part of signing in at other providers: return addresses, new sessions, and the response to a failed attempt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.core.signin.accounts import write_user
from feedmill.core.urls.networks import LOOPBACK
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.problems import Problem
from feedmill.http.pages.rendering import Pages
from feedmill.http.signin.flows import Flows
from feedmill.model.audit import AuditKind, Detail, Details
from feedmill.model.errors import BadRequest, Denied, FeedmillError
from feedmill.model.messages import message
from feedmill.model.signin import Credential
from feedmill.services.auditing import Auditing
from feedmill.services.signin.throttle import Throttle

Admit = Callable[[Request, list[Credential], str], Response]
"""Begins a session with these credentials, and returns a redirect to a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSignIn:
    """The common dependencies of all providers.

    ``throttle`` limits the log entries about refusals. ``public_url`` is the address for browsers, "" to use the request's.
    """

    flows: Flows
    admit: Admit
    auditing: Auditing
    pages: Pages
    clients: Clients
    throttle: Throttle
    public_url: str = ""

    def url(self, request: Request, path: str) -> str:
        """Returns the address of a path of this server as browsers know it."""
        base = self.public_url or f"{request.url.scheme}://{request.url.netloc}"
        return base.rstrip("/") + path

    def own_url(self, request: Request, path: str) -> str:
        """Returns the same address where it names the audience of an assertion, so a client must not be able to choose its host.

        Errors: Denied if only the header Host names this server, except on this machine itself.
        """
        host = request.url.hostname or ""
        if not self.public_url and host != "localhost" and not LOOPBACK.covers(host):
            raise Denied("signin.public_url is not set: what a provider says to another server of its could be taken as said to this one")
        return self.url(request, path)

    def redirect_to_provider(self, request: Request, provider: str, address: str, flow: Mapping[str, str]) -> Response:
        """Redirects a browser to a provider."""
        response = RedirectResponse(address, status_code=302, headers=NO_STORE)
        self.flows.begin(response, request.scope, provider, flow)
        return response

    def complete_sign_in(self, request: Request, credential: Credential, target: str) -> Response:
        """Begins the session of a user that a provider authenticated."""
        verified = [f"{credential.provider}:{credential.user.namespace}"]
        details: dict[str, Detail] = {"name": credential.user.name, "way": credential.provider, "proved": verified}
        self.auditing.log_event(
            AuditKind.SIGNED_IN, actor=write_user(credential.user), address=self.clients.find_client(request.scope).address, details=details
        )
        response = self.admit(request, [credential], target)
        self.flows.end(response, request.scope)
        return response

    def log_event(self, request: Request, kind: AuditKind, details: Details) -> None:
        """Writes a provider's action to the audit log."""
        self.auditing.log_event(kind, address=self.clients.find_client(request.scope).address, details=details)

    def refuse_attempt(self, request: Request, provider: str, error: FeedmillError) -> Response:
        """Responds to a failed attempt. Only the audit log holds the exact reason, not the response."""
        self._report_refusal(request, provider, error)
        if isinstance(error, Denied | BadRequest):
            problem, text = Problem.FORBIDDEN, message("signing in was refused; begin again from the page to sign in")
        else:
            problem, text = Problem.BUSY, message("the provider does not answer as it should; try again later")
        response = self.pages.respond_error(request, problem, text, NO_STORE)
        self.flows.end(response, request.scope)
        return response

    def _report_refusal(self, request: Request, provider: str, error: FeedmillError) -> None:
        """Writes a refusal to the audit log; of many refusals only the first ones, and a note that there are more."""
        client = self.clients.find_client(request.scope)
        passage = self.throttle.begin(provider, "" if client.is_shared else client.address)
        kind = AuditKind.SIGN_IN_REFUSED if passage.wait_seconds else AuditKind.SIGN_IN_FAILED
        if not passage.wait_seconds or passage.is_first:
            self.auditing.log_event(kind, address=client.address, details={"name": "", "way": provider, "reason": str(error)[:500]})
