"""Local users, tokens and the audit log on the admin port."""

from collections.abc import Callable, Collection, Mapping
from itertools import chain, islice
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from feedmill.core.access.principals import read_subject
from feedmill.core.audit.hashchain import render_entry
from feedmill.core.signin.sessiondigests import digest_of_user
from feedmill.http.admin.api.accounts import render_account, render_new_token, render_token
from feedmill.http.admin.protection import AUDITED, VIEW_OR_ADMINISTER
from feedmill.http.common import requestbodies
from feedmill.http.common.bodies import decode_object, read_body
from feedmill.http.common.paging import cut_page
from feedmill.http.common.requirements import ADMINISTER, DeclaredRoute
from feedmill.http.common.times import find_time
from feedmill.model.access import Scope
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.signin import TokenScope
from feedmill.model.userrole import UserRole
from feedmill.services.auditing import Auditing, check_kind
from feedmill.services.signin.accounts import TokenService
from feedmill.services.signin.signing import SignInServices

MAX_BODY_BYTES = 65_536

Body = dict[str, Any]


def signin_routes(signing: SignInServices) -> list[DeclaredRoute]:
    return [*_user_routes(signing), *_token_routes(signing.tokens), *_audit_routes(signing.auditing)]


def _user_routes(signing: SignInServices) -> list[DeclaredRoute]:
    accounts = signing.accounts

    def list_users(_body: Body, request: Request) -> Response:
        users = sorted((render_account(account) for account in accounts.list()), key=_key_of_user)
        page = cut_page(request, users, _key_of_user)
        return JSONResponse(page.items, headers=page.headers)

    def add_user(body: Body, _request: Request) -> Response:
        namespace = _text(body, "namespace", DEFAULT_NAMESPACE)
        role = read_role(_text(body, "role", UserRole.SEARCHER.value))
        added = accounts.add(_text(body, "name"), _text(body, "password"), namespace=namespace, role=role)
        return JSONResponse(render_account(added), 201)

    def change_user(body: Body, request: Request) -> Response:
        name, namespace = request.query_params.get("name", ""), request.query_params.get("namespace", DEFAULT_NAMESPACE)
        if "password" not in body and "role" not in body:
            raise BadRequest("nothing to change; send a password, a role or both")
        role = read_role(_text(body, "role")) if "role" in body else None
        changed = None
        if "password" in body:
            changed = accounts.set_password(name, _text(body, "password"), namespace=namespace)
        if role is not None:
            changed = accounts.set_role(name, role, namespace=namespace)
        return JSONResponse(render_account(changed)) if changed is not None else Response(status_code=204)

    def remove_user(_body: Body, request: Request) -> Response:
        namespace = request.query_params.get("namespace", DEFAULT_NAMESPACE)
        accounts.remove(request.query_params.get("name", ""), namespace=namespace)
        return Response(status_code=204)

    def end_sessions(body: Body, _request: Request) -> Response:
        user = read_subject(Scope.USER, _text(body, "name"), _text(body, "namespace", DEFAULT_NAMESPACE))
        return JSONResponse({"ended": signing.sessions.withdraw([digest_of_user(user)])})

    return [
        DeclaredRoute("/api/v1/users", _build_endpoint(list_users), methods=["GET"], requires=ADMINISTER),
        DeclaredRoute("/api/v1/users", _build_endpoint(add_user, requestbodies.NewUser), methods=["POST"], requires=ADMINISTER),
        DeclaredRoute("/api/v1/users", _build_endpoint(change_user, requestbodies.UserChange), methods=["PATCH"], requires=ADMINISTER),
        DeclaredRoute("/api/v1/users", _build_endpoint(remove_user), methods=["DELETE"], requires=ADMINISTER),
        DeclaredRoute(
            "/api/v1/sessions/end",
            _build_endpoint(end_sessions, requestbodies.SessionsOfUser),
            methods=["POST"],
            requires=VIEW_OR_ADMINISTER,
        ),
    ]


def _token_routes(tokens: TokenService) -> list[DeclaredRoute]:
    def list_tokens(_body: Body, request: Request) -> Response:
        page = cut_page(request, sorted(tokens.list(), key=lambda token: token.id), lambda token: token.id)
        return JSONResponse([render_token(token) for token in page.items], headers=page.headers)

    def add_token(body: Body, request: Request) -> Response:
        days = body.get("days")
        if days is not None and (not isinstance(days, int) or isinstance(days, bool)):
            raise BadRequest("days is a whole number")
        made = tokens.add(
            _text(body, "label"),
            read_scopes(body.get("scopes")),
            user=_text(body, "user", ""),
            namespace=_text(body, "namespace", DEFAULT_NAMESPACE),
            days=days,
            datasources=_texts(body, "datasources"),
        )
        shown = render_token(made.token)
        request.scope[AUDITED] = {key: shown[key] for key in ("id", "label", "scopes", "user", "datasources") if shown[key] is not None}
        return JSONResponse(render_new_token(made), 201)

    def remove_token(_body: Body, request: Request) -> Response:
        given = request.path_params["id"]
        if not given.isascii() or not given.isdigit() or len(given) > 18:
            raise NotFound(f"there is no token {given[:50]!a}")
        tokens.remove(int(given))
        return Response(status_code=204)

    return [
        DeclaredRoute("/api/v1/tokens", _build_endpoint(list_tokens), methods=["GET"], requires=ADMINISTER),
        DeclaredRoute("/api/v1/tokens", _build_endpoint(add_token, requestbodies.NewToken), methods=["POST"], requires=ADMINISTER),
        DeclaredRoute("/api/v1/tokens/{id}", _build_endpoint(remove_token), methods=["DELETE"], requires=ADMINISTER),
    ]


def _audit_routes(auditing: Auditing) -> list[DeclaredRoute]:
    def verify_audit(_body: Body, _request: Request) -> Response:
        checked = auditing.verify()
        return JSONResponse({"entries": checked.entries, "first": checked.first, "last": checked.last, "hash": checked.digest})

    def export_audit(_body: Body, request: Request) -> Response:
        parameters = request.query_params
        since, until = (find_time(parameters, name) for name in ("since", "until"))
        kind = check_kind(parameters.get("kind", ""))
        entries = auditing.iter_entries(since=since, until=until, kind=kind)
        # a log that is broken at its beginning has a status of its own
        first = list(islice(entries, 1))
        lines = (f"{render_entry(entry)}\n" for entry in chain(first, entries))
        return StreamingResponse(lines, media_type="application/jsonl")

    return [
        DeclaredRoute("/api/v1/audit/verify", _build_endpoint(verify_audit), methods=["GET"], requires=ADMINISTER),
        DeclaredRoute("/api/v1/audit/export", _build_endpoint(export_audit), methods=["GET"], requires=ADMINISTER),
    ]


def _key_of_user(shown: Mapping[str, Any]) -> list[str]:
    return [shown["namespace"], shown["name"]]


def read_role(text: str) -> UserRole:
    """Returns the role of a text. Errors: BadRequest."""
    try:
        return UserRole(text)
    except ValueError as exc:
        raise BadRequest(f"there is no role {text[:50]!a}; the roles are {', '.join(role.value for role in UserRole)}") from exc


def read_scopes(given: object) -> list[TokenScope]:
    """Returns the scopes of a JSON value. Errors: BadRequest."""
    if not isinstance(given, list):
        raise BadRequest("scopes is a list of texts")
    try:
        return [TokenScope(text) for text in given]
    except (ValueError, TypeError) as exc:
        raise BadRequest(f"a scope is one of {', '.join(scope.value for scope in TokenScope)}") from exc


def _build_endpoint(act: Callable[[Body, Request], Response], sent: type[requestbodies.Sent] | None = None) -> Callable[[Request], Any]:
    """Returns the endpoint that decodes the body, which has the members of ``sent`` alone, and runs a function on it in a thread."""

    async def answer(request: Request) -> Response:
        body = await _read_object(request, sent.model_fields) if sent is not None else {}
        return await run_in_threadpool(act, body, request)

    return answer


async def _read_object(request: Request, known: Collection[str]) -> Body:
    raw = await read_body(request, MAX_BODY_BYTES, f"a request here has at most {MAX_BODY_BYTES} bytes")
    body = decode_object(raw)
    for name in body:
        if name not in known:
            raise BadRequest(f"the member {name[:80]!a} is unknown; there are {', '.join(known)}")
    return body


def _text(body: Body, name: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise BadRequest(f"{name} is missing" if value is None else f"{name} is a text")
    return value


def _texts(body: Body, name: str) -> list[str]:
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadRequest(f"{name} is a list of texts")
    return value
