"""Single logout by SAML 2.0, begun by either side.

GET, POST /signin/saml/NAME/slo     receives the provider's message: a logout request, or the response to one of ours

Sessions are found by the provider's name for them, not by a cookie: the message may come from the provider's own server, or from a
frame in its page, and browsers send no cookie with that.
"""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.core.signin.sessiondigests import digest_of_session
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.signin.forms import find_field, read_form
from feedmill.http.signin.providerlookup import find_provider
from feedmill.http.signin.providersignin import ProviderSignIn
from feedmill.http.signin.saml import SIGNED_FORM
from feedmill.http.signin.signout import ProviderLogouts
from feedmill.http.signin.threads import run_slowly
from feedmill.model.audit import AuditKind
from feedmill.model.errors import BadRequest, Denied, NotFound, TooLarge
from feedmill.model.messages import message
from feedmill.model.signin import Credential
from feedmill.ports.signin import LogoutMessage, LogoutRequest, ProviderRedirect, SamlLogout, SamlProvider
from feedmill.services.signin.onetimecodes import OneTimeCodes
from feedmill.services.signin.sessions import SessionService

MAX_RELAY_STATE = 2_000


class SamlLogoutRoutes:
    """Logging out at the providers of SAML that send or receive notices of logout."""

    def __init__(
        self,
        providers: tuple[SamlProvider, ...],
        provider_sign_in: ProviderSignIn,
        sessions: SessionService,
        one_time_codes: OneTimeCodes,
        provider_logouts: ProviderLogouts,
    ) -> None:
        self._providers = {provider.name: provider for provider in providers if provider.logout is not None}
        self._provider_sign_in = provider_sign_in
        self._sessions = sessions
        self._one_time_codes = one_time_codes
        self._provider_logouts = provider_logouts
        for provider in self._providers.values():
            provider_logouts.add_provider(provider.qualified_name, provider.label, self._build_logout_of(provider))

    def routes(self) -> list[DeclaredRoute]:
        return [
            DeclaredRoute("/signin/saml/{name}/slo", self.take_query, methods=["GET"], requires=SIGNED_FORM),
            DeclaredRoute("/signin/saml/{name}/slo", self.take_form, methods=["POST"], requires=SIGNED_FORM),
        ]

    async def take_query(self, request: Request) -> Response:
        """Receives a message in the query of a redirect."""
        query = request.url.query
        names = request.query_params
        relay_state = names.get("RelayState", "")
        return await run_slowly(self._process_message, request, LogoutMessage(query=query), relay_state, "SAMLResponse" in names)

    async def take_form(self, request: Request) -> Response:
        """Receives a posted message."""
        try:
            fields = await read_form(request, max_bytes=400_000)
        except (BadRequest, TooLarge) as exc:
            return self._refuse(request, exc)
        is_answer = bool(find_field(fields, "SAMLResponse"))
        encoded = find_field(fields, "SAMLResponse" if is_answer else "SAMLRequest")
        return await run_slowly(self._process_message, request, LogoutMessage(encoded=encoded), find_field(fields, "RelayState"), is_answer)

    def _process_message(self, request: Request, message: LogoutMessage, relay_state: str, is_answer: bool) -> Response:
        provider, logout = self._find_provider(request)
        try:
            if is_answer:
                logout.confirm(message, self._url(request, "slo"))
                return RedirectResponse("/", status_code=303, headers=NO_STORE)
            logout_request = logout.read_logout_request(message, self._url(request, "slo"))
            if not self._one_time_codes.use_once(f"logout {logout_request.id}", logout_request.until):
                raise Denied("the request was used before")
        except Denied as exc:
            return self._refuse(request, exc)
        self._end_sessions(request, provider, logout_request)
        entity_id = provider.entity_id(self._url(request, "acs"))
        redirect = logout.answer(logout_request, entity_id, relay_state[:MAX_RELAY_STATE], is_done=True)
        return self._provider_logouts.send_redirect(request, redirect) if redirect is not None else Response(status_code=200)

    def _end_sessions(self, request: Request, provider: SamlProvider, logout_request: LogoutRequest) -> None:
        qualified_name = provider.qualified_name
        indexes = logout_request.indexes or [""]
        digests = [digest_of_session(qualified_name, logout_request.name, index) for index in indexes]
        ended = self._sessions.withdraw(digests)
        self._provider_sign_in.log_event(
            request, AuditKind.SIGNED_OUT, {"name": logout_request.name[:200], "way": qualified_name, "sessions": ended}
        )

    def _refuse(self, request: Request, error: Denied | BadRequest | TooLarge) -> Response:
        provider, _ = self._find_provider(request)
        return self._provider_sign_in.refuse_attempt(request, provider.qualified_name, Denied(f"single logout: {error}"))

    def _build_logout_of(self, provider: SamlProvider) -> Callable[[Request, Credential], ProviderRedirect | None]:
        def build_logout(request: Request, credential: Credential) -> ProviderRedirect | None:
            if credential.session is None or provider.logout is None:
                return None
            back_url = self._provider_sign_in.url(request, f"/signin/saml/{provider.name}/acs")
            return provider.logout.begin(credential.session, provider.entity_id(back_url))

        return build_logout

    def _find_provider(self, request: Request) -> tuple[SamlProvider, SamlLogout]:
        provider = find_provider(self._providers, request)
        if provider.logout is None:
            raise NotFound(message("there is no such provider"))
        return provider, provider.logout

    def _url(self, request: Request, step: str) -> str:
        return self._provider_sign_in.own_url(request, f"/signin/saml/{request.path_params['name']}/{step}")
