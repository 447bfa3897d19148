"""Signing in by SAML 2.0: the browser goes to the provider and is made to post a form here.

GET  /signin/saml/NAME             sends to the provider
POST /signin/saml/NAME/acs         takes the form
GET  /signin/saml/NAME/back        lets in
GET  /signin/saml/NAME/metadata    what the provider has to know of this server

The form comes from the provider's page, so browsers send no cookie with it. What it proves is therefore kept for a minute under a name for
one use, and the browser is sent on to the last step, where its cookie must name the request that was answered. Only what is signed by the
provider is ever kept, and each assertion once.

Whom an assertion is for is told by addresses of this server, which are those of ``signin.public_url``: taken from the header ``Host``,
another server of the same provider could hand on what was said to itself.
"""

import secrets
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from feedmill.http.common.cachecontrol import NEVER_KEPT
from feedmill.http.signin.forms import find_field, read_form, read_target
from feedmill.http.signin.gates import Gates
from feedmill.http.signin.threads import run_for_provider
from feedmill.http.signin.ways import find_provider
from feedmill.model.errors import BadRequest, Busy, Denied, TooLarge
from feedmill.ports.signin import SamlProvider
from feedmill.services.signin.onetimecodes import OneTimeCodes

MAX_FORM_BYTES = 4_000_000
HANDOVER = timedelta(minutes=1)
FORMS_FROM_ELSEWHERE = r"/signin/saml/[^/]+/(?:acs|slo)"
"""Where forms of other sites are taken; what comes there is signed."""


class SamlWays:
    """The ways over providers of SAML."""

    def __init__(self, providers: tuple[SamlProvider, ...], gates: Gates, one_time_codes: OneTimeCodes) -> None:
        self._providers = {provider.name: provider for provider in providers}
        self._gates = gates
        self._handovers = one_time_codes

    def routes(self) -> list[Route]:
        """Returns the routes."""
        return [
            Route("/signin/saml/{name}", self.begin, methods=["GET"]),
            Route("/signin/saml/{name}/acs", self.take, methods=["POST"]),
            Route("/signin/saml/{name}/back", self.finish, methods=["GET"]),
            Route("/signin/saml/{name}/metadata", self.describe, methods=["GET"]),
        ]

    def begin(self, request: Request) -> Response:
        """Sends a browser to the provider."""
        provider = find_provider(self._providers, request)
        kept = {"request": f"_{secrets.token_hex(20)}", "to": read_target(request.query_params.get("to", "/"))[:2_000]}
        try:
            address = provider.begin(self._back(request), kept["request"])
        except Denied as exc:
            return self._gates.turn_away(request, provider.way, exc)
        return self._gates.depart(request, provider.way, address, kept)

    async def take(self, request: Request) -> Response:
        """Takes the form that the provider's page sends."""
        provider = find_provider(self._providers, request)
        try:
            fields = await read_form(request, max_bytes=MAX_FORM_BYTES)
        except (BadRequest, TooLarge) as exc:
            return self._gates.turn_away(request, provider.way, exc)
        return await run_for_provider(provider.way, self._take, request, provider, find_field(fields, "SAMLResponse"))

    def _take(self, request: Request, provider: SamlProvider, encoded: str) -> Response:
        try:
            assertion = provider.read(encoded, self._back(request))
            if not self._handovers.use_once(assertion.id, assertion.until):
                raise Denied("the assertion was used before")
            code = self._handovers.put(assertion.credential, assertion.answers, HANDOVER)
        except (Denied, BadRequest, Busy) as exc:
            return self._gates.turn_away(request, provider.way, exc)
        onward = f"/signin/saml/{provider.name}/back?code={code}"
        return RedirectResponse(onward, status_code=303, headers=NEVER_KEPT)

    def finish(self, request: Request) -> Response:
        """Lets in whom the provider proved."""
        provider = find_provider(self._providers, request)
        kept = self._gates.flows.find(request.scope, provider.way)
        try:
            if kept is None:
                raise Denied("the answer belongs to no attempt of this browser")
            held = self._handovers.take(request.query_params.get("code", "")[:200])
            if held is None:
                raise Denied("the answer was taken before, or too late")
            credential, answers = held
            if answers != kept["request"] or credential.provider != provider.way:
                raise Denied("the answer is for another request")
        except Denied as exc:
            return self._gates.turn_away(request, provider.way, exc)
        return self._gates.let_in(request, credential, read_target(kept["to"]))

    def describe(self, request: Request) -> Response:
        """Returns the metadata of this server."""
        provider = find_provider(self._providers, request)
        try:
            about = provider.describe(self._back(request))
        except Denied as exc:
            return self._gates.turn_away(request, provider.way, exc)
        return Response(about, media_type="application/samlmetadata+xml")

    def _back(self, request: Request) -> str:
        return self._gates.own_url(request, f"/signin/saml/{request.path_params['name']}/acs")
