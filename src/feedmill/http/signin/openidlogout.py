"""Logging out by OpenID Connect, begun by either side.

GET  /signin/oidc/NAME/left       the provider redirects the browser here after a logout there
POST /signin/oidc/NAME/logout     receives a logout token from the provider itself (back-channel)

Source: OpenID Connect RP-Initiated Logout 1.0; OpenID Connect Back-Channel Logout 1.0, 2.5 to 2.8.
"""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from feedmill.core.signin.sessiondigests import digest_of_session
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.requirements import USER, DeclaredRoute
from feedmill.http.signin.forms import find_field, read_form
from feedmill.http.signin.providerlookup import find_provider
from feedmill.http.signin.providersignin import ProviderSignIn
from feedmill.http.signin.signout import ProviderLogouts
from feedmill.http.signin.threads import run_for_provider
from feedmill.model.audit import AuditKind
from feedmill.model.errors import BadRequest, Busy, Denied, TooLarge
from feedmill.model.signin import Credential
from feedmill.ports.signin import OpenIdProvider, ProviderRedirect
from feedmill.services.signin.onetimecodes import OneTimeCodes
from feedmill.services.signin.sessions import SessionService


class OpenIdLogoutRoutes:
    """Logging out at the providers of OpenID Connect that send or receive notices of logout."""

    def __init__(
        self,
        providers: tuple[OpenIdProvider, ...],
        provider_sign_in: ProviderSignIn,
        sessions: SessionService,
        one_time_codes: OneTimeCodes,
        provider_logouts: ProviderLogouts,
    ) -> None:
        self._providers = {provider.name: provider for provider in providers if provider.single_logout}
        self._provider_sign_in = provider_sign_in
        self._sessions = sessions
        self._one_time_codes = one_time_codes
        for provider in self._providers.values():
            provider_logouts.add_provider(provider.qualified_name, provider.label, self._build_logout_of(provider))

    def routes(self) -> list[DeclaredRoute]:
        return [
            DeclaredRoute("/signin/oidc/{name}/left", self.come_back, methods=["GET"], requires=USER),
            DeclaredRoute("/signin/oidc/{name}/logout", self.receive_logout, methods=["POST"], requires=USER),
        ]

    def come_back(self, request: Request) -> Response:
        """Redirects a browser to the search page after a logout at the provider."""
        find_provider(self._providers, request)
        return RedirectResponse("/", status_code=303, headers=NO_STORE)

    async def receive_logout(self, request: Request) -> Response:
        """Receives a logout token."""
        provider = find_provider(self._providers, request)
        try:
            fields = await read_form(request)
        except (BadRequest, TooLarge) as exc:
            return _refuse(str(exc))
        return await run_for_provider(provider.qualified_name, self._receive_token, request, provider, find_field(fields, "logout_token"))

    def _receive_token(self, request: Request, provider: OpenIdProvider, text: str) -> Response:
        qualified_name = provider.qualified_name
        try:
            left = provider.read_logout(text)
            if not self._one_time_codes.use_once(f"logout {qualified_name} {left.id}", left.until):
                raise Denied("the logout token was used before")
        except Denied as exc:
            self._provider_sign_in.refuse_attempt(request, qualified_name, Denied(f"single logout: {exc}"))
            return _refuse("the logout token is refused")
        except Busy as exc:
            self._provider_sign_in.refuse_attempt(request, qualified_name, Busy(f"single logout: {exc}"))
            return JSONResponse({"error": "temporarily_unavailable"}, 503, headers=NO_STORE)
        # A token that names sessions ends only these, otherwise all of its user that this provider began.
        digests = [digest_of_session(qualified_name, "", index) for index in left.indexes] or [digest_of_session(qualified_name, left.name)]
        ended = self._sessions.withdraw(digests)
        self._provider_sign_in.log_event(request, AuditKind.SIGNED_OUT, {"name": left.name[:200], "way": qualified_name, "sessions": ended})
        return Response(status_code=200, headers=NO_STORE)

    def _build_logout_of(self, provider: OpenIdProvider) -> Callable[[Request, Credential], ProviderRedirect | None]:
        def build_logout(request: Request, credential: Credential) -> ProviderRedirect | None:
            if credential.session is None:
                return None
            try:
                return provider.build_logout(credential.session, self._provider_sign_in.url(request, f"/signin/oidc/{provider.name}/left"))
            except (Busy, Denied):
                return None  # the user is signed out here, even if the provider cannot be notified

        return build_logout


def _refuse(text: str) -> Response:
    return JSONResponse({"error": "invalid_request", "error_description": text}, 400, headers=NO_STORE)
