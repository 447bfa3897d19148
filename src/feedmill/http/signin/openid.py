"""Signing in by OpenID Connect: the browser goes to the provider and returns with a code.

GET /signin/oidc/NAME          redirects to the provider
GET /signin/oidc/NAME/back     receives the provider's code
"""

import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.requirements import USER, DeclaredRoute
from feedmill.http.signin.forms import read_target
from feedmill.http.signin.providerlookup import find_provider
from feedmill.http.signin.providersignin import ProviderSignIn
from feedmill.http.signin.threads import run_for_provider
from feedmill.model.errors import Busy, Denied
from feedmill.ports.signin import OpenIdProvider

MAX_CODE = 4_000


class OpenIdRoutes:
    """The routes of the providers of OpenID Connect."""

    def __init__(self, providers: tuple[OpenIdProvider, ...], provider_sign_in: ProviderSignIn) -> None:
        self._providers = {provider.name: provider for provider in providers}
        self._provider_sign_in = provider_sign_in

    def routes(self) -> list[DeclaredRoute]:
        return [
            DeclaredRoute("/signin/oidc/{name}", self.begin, methods=["GET"], requires=USER),
            DeclaredRoute("/signin/oidc/{name}/back", self.finish, methods=["GET"], requires=USER),
        ]

    async def begin(self, request: Request) -> Response:
        """Redirects a browser to the provider."""
        provider = find_provider(self._providers, request)
        return await run_for_provider(provider.qualified_name, self._begin_flow, request, provider)

    async def finish(self, request: Request) -> Response:
        """Begins the session of the user that the provider authenticated."""
        provider = find_provider(self._providers, request)
        return await run_for_provider(provider.qualified_name, self._finish, request, provider)

    def _begin_flow(self, request: Request, provider: OpenIdProvider) -> Response:
        flow = {
            "state": secrets.token_urlsafe(24),
            "nonce": secrets.token_urlsafe(24),
            "verifier": secrets.token_urlsafe(48),
            "to": read_target(request.query_params.get("to", "/"))[:2_000],
        }
        try:
            address = provider.begin(self._back(request), state=flow["state"], nonce=flow["nonce"], verifier=flow["verifier"])
        except (Busy, Denied) as exc:
            return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, exc)
        return self._provider_sign_in.redirect_to_provider(request, provider.qualified_name, address, flow)

    def _finish(self, request: Request, provider: OpenIdProvider) -> Response:
        qualified_name = provider.qualified_name
        flow = self._provider_sign_in.flows.find_flow(request.scope, qualified_name)
        given = request.query_params
        state = given.get("state", "")
        try:
            # Before anything else in the request counts, even an error: any page can send a browser here with any text.
            if flow is None or not hmac.compare_digest(flow["state"].encode(), state.encode("utf-8", "replace")):
                raise Denied("the answer belongs to no attempt of this browser")
            if given.get("error"):
                raise Denied(f"the provider says: {given['error'][:200]} {given.get('error_description', '')[:300]}")
            code = given.get("code", "")
            if not code or len(code) > MAX_CODE:
                raise Denied("the provider sends no code")
            credential = provider.finish(
                self._back(request), code=code, issuer=given.get("iss", ""), nonce=flow["nonce"], verifier=flow["verifier"]
            )
        except (Denied, Busy) as exc:
            return self._provider_sign_in.refuse_attempt(request, qualified_name, exc)
        return self._provider_sign_in.complete_sign_in(request, credential, read_target(flow["to"]))

    def _back(self, request: Request) -> str:
        return self._provider_sign_in.url(request, f"/signin/oidc/{request.path_params['name']}/back")
