"""Signing in by SAML 2.0: the browser goes to the provider, whose page posts a form to this server.

GET  /signin/saml/NAME             redirects to the provider
POST /signin/saml/NAME/acs         receives the form
GET  /signin/saml/NAME/back        begins the session
GET  /signin/saml/NAME/metadata    the description of this server for the provider

The form comes from the provider's page, so browsers send no cookie with it. Therefore the server stores the verified assertion for a
minute under a one-time code, and redirects the browser to the last step. There the browser's cookie must name the request that
the assertion answers. The server stores only what the provider signed, and each assertion once.

The audience of an assertion is an address of this server, built from ``signin.public_url``. With the header ``Host`` instead,
another server of the same provider could replay here an assertion that was meant for that server.
"""

import secrets
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.requirements import USER, DeclaredRoute, Requirement, Sender
from feedmill.http.signin.forms import find_field, read_form, read_target
from feedmill.http.signin.providerlookup import find_provider
from feedmill.http.signin.providersignin import ProviderSignIn
from feedmill.http.signin.threads import run_for_provider
from feedmill.model.errors import BadRequest, Busy, Denied, TooLarge
from feedmill.ports.signin import SamlProvider
from feedmill.services.signin.onetimecodes import OneTimeCodes

MAX_FORM_BYTES = 4_000_000
CODE_LIFETIME = timedelta(minutes=1)
SIGNED_FORM = Requirement(sender=Sender.USER, allows_foreign_forms=True)
"""The requirement of routes that take signed forms, which the pages of providers send."""


class SamlRoutes:
    """The routes of the providers of SAML."""

    def __init__(self, providers: tuple[SamlProvider, ...], provider_sign_in: ProviderSignIn, one_time_codes: OneTimeCodes) -> None:
        self._providers = {provider.name: provider for provider in providers}
        self._provider_sign_in = provider_sign_in
        self._one_time_codes = one_time_codes

    def routes(self) -> list[DeclaredRoute]:
        return [
            DeclaredRoute("/signin/saml/{name}", self.begin, methods=["GET"], requires=USER),
            DeclaredRoute("/signin/saml/{name}/acs", self.receive_response, methods=["POST"], requires=SIGNED_FORM),
            DeclaredRoute("/signin/saml/{name}/back", self.finish, methods=["GET"], requires=USER),
            DeclaredRoute("/signin/saml/{name}/metadata", self.describe, methods=["GET"], requires=USER),
        ]

    def begin(self, request: Request) -> Response:
        """Redirects a browser to the provider."""
        provider = find_provider(self._providers, request)
        flow = {"request": f"_{secrets.token_hex(20)}", "to": read_target(request.query_params.get("to", "/"))[:2_000]}
        try:
            address = provider.begin(self._acs_url(request), flow["request"])
        except Denied as exc:
            return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, exc)
        return self._provider_sign_in.redirect_to_provider(request, provider.qualified_name, address, flow)

    async def receive_response(self, request: Request) -> Response:
        """Receives the form of the provider's page."""
        provider = find_provider(self._providers, request)
        try:
            fields = await read_form(request, max_bytes=MAX_FORM_BYTES)
        except (BadRequest, TooLarge) as exc:
            return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, exc)
        return await run_for_provider(
            provider.qualified_name, self._process_response, request, provider, find_field(fields, "SAMLResponse")
        )

    def _process_response(self, request: Request, provider: SamlProvider, encoded: str) -> Response:
        try:
            assertion = provider.read_assertion(encoded, self._acs_url(request))
            if not self._one_time_codes.use_once(assertion.id, assertion.until):
                raise Denied("the assertion was used before")
            code = self._one_time_codes.put(assertion.credential, assertion.in_response_to, CODE_LIFETIME)
        except (Denied, BadRequest, Busy) as exc:
            return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, exc)
        onward = f"/signin/saml/{provider.name}/back?code={code}"
        return RedirectResponse(onward, status_code=303, headers=NO_STORE)

    def finish(self, request: Request) -> Response:
        """Begins the session of the user that the provider authenticated."""
        provider = find_provider(self._providers, request)
        flow = self._provider_sign_in.flows.find_flow(request.scope, provider.qualified_name)
        try:
            if flow is None:
                raise Denied("the answer belongs to no attempt of this browser")
            held = self._one_time_codes.take(request.query_params.get("code", "")[:200])
            if held is None:
                raise Denied("the answer was taken before, or too late")
            credential, in_response_to = held
            if in_response_to != flow["request"] or credential.provider != provider.qualified_name:
                raise Denied("the answer is for another request")
        except Denied as exc:
            return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, exc)
        return self._provider_sign_in.complete_sign_in(request, credential, read_target(flow["to"]))

    def describe(self, request: Request) -> Response:
        """Returns the metadata of this server."""
        provider = find_provider(self._providers, request)
        try:
            about = provider.describe(self._acs_url(request))
        except Denied as exc:
            return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, exc)
        return Response(about, media_type="application/samlmetadata+xml")

    def _acs_url(self, request: Request) -> str:
        return self._provider_sign_in.own_url(request, f"/signin/saml/{request.path_params['name']}/acs")
