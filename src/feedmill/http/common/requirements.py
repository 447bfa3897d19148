"""What a request must prove before a route handles it.

Each route declares its requirement where it is defined (``DeclaredRoute``), and ``build_app`` refuses a route without one. The outermost
middleware finds the route of a request and stores its requirement with the request; the other middlewares of the port read it there
(``find_requirement``) and decide. They run before the router, so a request without permission does not reach it.

A request finds its route as Starlette's router does: the first route with its path and method, else the first with its path, which will
answer 405. A path without a route has the requirement of ``Unmatched``. It protects no resource, since the answer is 404 or a redirect to
the path with or without a slash at its end; it says only who gets that answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.common.problems import answer_failure
from feedmill.model.userrole import UserRole

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_KEY: Final = "feedmill.requirement"


class Sender(Enum):
    """From which senders a route takes requests."""

    ANYONE = "anyone"
    USER = "a user, signed in or not"
    TRUSTED_ADDRESS = "trusted address"
    #: The token is optional without the setting ``gate.require_token``.
    PUSH_TOKEN = "trusted address, push token"  # noqa: S105 - a sentence
    UNLIMITED_PUSH_TOKEN = "trusted address, push token for all data sources"  # noqa: S105 - a sentence
    PROFILE_ADDRESS = "address of a dataload profile, push token"
    ROLE = "a role"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a request must prove; the checks of a port read it."""

    sender: Sender
    #: The role for GET and HEAD; only for ``Sender.ROLE``.
    read_role: UserRole = UserRole.ADMINISTRATOR
    #: The role for every other method; only for ``Sender.ROLE``.
    write_role: UserRole = UserRole.ADMINISTRATOR
    #: The response says who may see a document, so the audit log records every request.
    is_decision: bool = False
    #: Forms of other sites' pages are taken, because the route checks their signature.
    allows_foreign_forms: bool = False
    #: Reads (GET and HEAD) of other sites' pages are refused too, where a protocol demands it.
    refuses_foreign_reads: bool = False
    #: Requests under any host name are taken if they have no ``Origin``: old feed clients use the appliance's name.
    allows_any_host: bool = False
    #: The status for an address that is not trusted. Old feed clients judge by the text and want 200.
    untrusted_status: int = 403

    def role_for(self, method: str) -> UserRole:
        """Returns the role that a method needs."""
        return self.read_role if method in SAFE_METHODS else self.write_role

    def __str__(self) -> str:
        """Returns the requirement as the table of all routes shows it."""
        roles = (self.read_role.value, self.write_role.value)
        sender = " / ".join(dict.fromkeys(roles)) if self.sender is Sender.ROLE else self.sender.value
        notes = {
            "decision": self.is_decision,
            "foreign forms": self.allows_foreign_forms,
            "no foreign reads": self.refuses_foreign_reads,
            "any host": self.allows_any_host,
            f"status {self.untrusted_status} for other addresses": self.untrusted_status != 403,
        }
        return ", ".join((sender, *(note for note, holds in notes.items() if holds)))


ANYONE: Final = Requirement(sender=Sender.ANYONE)
USER: Final = Requirement(sender=Sender.USER)
ASSISTED: Final = Requirement(sender=Sender.USER, refuses_foreign_reads=True)
"""A user or their assistant. Source: Model Context Protocol, "Transports", "Security Warning"."""
SIGNED_IN: Final = Requirement(sender=Sender.ROLE, read_role=UserRole.SEARCHER, write_role=UserRole.SEARCHER)
ADMINISTER: Final = Requirement(sender=Sender.ROLE, read_role=UserRole.ADMINISTRATOR, write_role=UserRole.ADMINISTRATOR)
STRICTEST: Final = Requirement(sender=Sender.ROLE)
"""Applies to a request whose requirement was not looked up."""


class DeclaredRoute(Route):
    """A route with its requirement."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, requires: Requirement, methods: Sequence[str] | None = None) -> None:
        super().__init__(path, endpoint, methods=methods)
        self.requires = requires

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on. Errors: HTTPException 405 for another method, which names those of all routes of the path, in order."""
        if scope["method"] not in (self.methods or (scope["method"],)):
            raise HTTPException(405, headers={"Allow": ", ".join(requirements_of(scope["app"]).list_methods(scope))})
        await super().handle(scope, receive, send)


class DeclaredMount(Mount):
    """An application under a path, with one requirement for all of it."""

    def __init__(self, path: str, app: ASGIApp, *, requires: Requirement, name: str | None = None) -> None:
        super().__init__(path, app, name=name)
        self.requires = requires


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """The requirement of paths without a route: that of the longest prefix which fits, else ``otherwise``.

    Such a path is mostly one of a resource with a slash or a segment too many, so a prefix repeats the requirement of that resource.
    """

    otherwise: Requirement
    prefixes: Mapping[str, Requirement] = field(default_factory=dict)

    def find_path_requirement(self, path: str) -> Requirement:
        """Returns the requirement of a path."""
        fitting = [prefix for prefix in self.prefixes if path.startswith(prefix)]
        return self.prefixes[max(fitting, key=len)] if fitting else self.otherwise


class RouteRequirements:
    """The requirements of all routes of a port.

    Errors: TypeError for a route that declares none, or one whose sender the checks of the port do not know.
    """

    def __init__(self, routes: Iterable[BaseRoute], *, senders: frozenset[Sender], unmatched: Unmatched) -> None:
        self._declared = [(route, _requirement_of(route)) for route in routes]
        self._unmatched = unmatched
        for requirement in (*(each for _, each in self._declared), unmatched.otherwise, *unmatched.prefixes.values()):
            if requirement.sender not in senders:
                raise TypeError(f"this port does not check for {requirement.sender.value}")
        self._known = {key: self._find_by_routes(_make_scope(*key)) for key in _iter_plain_routes(route for route, _ in self._declared)}

    def find_route_requirement(self, scope: Scope) -> Requirement:
        """Returns the requirement of a request."""
        known = None if scope.get("root_path") else self._known.get((scope["method"], scope["path"]))
        return known or self._find_by_routes(scope)

    def _find_by_routes(self, scope: Scope) -> Requirement:
        partial = None
        for route, requirement in self._declared:
            match, _ = route.matches(scope)
            if match is Match.FULL:
                return requirement
            if match is Match.PARTIAL and partial is None:
                partial = requirement
        return partial or self._unmatched.find_path_requirement(scope["path"])

    def list_methods(self, scope: Scope) -> list[str]:
        """Lists the methods that the path of a request takes, sorted."""
        fitting = [route for route, _ in self._declared if route.matches(scope)[0] is not Match.NONE]
        return sorted({method for route in fitting for method in getattr(route, "methods", None) or ()})

    def iter_rows(self) -> Iterator[tuple[str, str, Requirement]]:
        """Yields methods, path and requirement of each route; for a path without a route, "-" and how it begins."""
        for route, requirement in self._declared:
            path, methods = getattr(route, "path", ""), sorted(getattr(route, "methods", None) or ("*",))
            yield ",".join(methods), path, requirement
        for prefix, requirement in self._unmatched.prefixes.items():
            yield "-", f"{prefix}...", requirement
        yield "-", "...", self._unmatched.otherwise

    def list_paths_for_any_host(self) -> frozenset[str]:
        """Returns the paths whose routes take requests under any host name."""
        return frozenset(path for _, path, requirement in self.iter_rows() if requirement.allows_any_host)


def _iter_plain_routes(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Yields methods and paths of the routes whose paths have no parameters. Their requirements need not be looked for in each request."""
    for route in routes:
        if isinstance(route, Route) and not route.param_convertors:
            yield from ((method, route.path) for method in route.methods or ())


def _make_scope(method: str, path: str) -> Scope:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


class RequirementMiddleware:
    """ASGI middleware that stores the requirement of a request with it."""

    def __init__(self, app: ASGIApp, *, requirements: RouteRequirements) -> None:
        self._app = app
        self._requirements = requirements

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with its requirement."""
        if scope["type"] == "http":
            scope[_KEY] = self._requirements.find_route_requirement(scope)
        await self._app(scope, receive, send)


def find_requirement(scope: Scope) -> Requirement:
    """Returns the requirement of a request; the strictest if ``RequirementMiddleware`` did not run."""
    requirement = scope.get(_KEY)
    return requirement if isinstance(requirement, Requirement) else STRICTEST


def build_app(
    routes: Sequence[BaseRoute],
    *,
    senders: frozenset[Sender],
    unmatched: Unmatched,
    middleware: Sequence[Middleware],
    exception_handlers: Mapping[Any, Callable[[Request, Exception], Any]] | None = None,
) -> Starlette:
    """Builds the application of a port. ``senders`` are those for which its ``middleware`` checks.

    Errors: TypeError for a route without a requirement that the port checks.
    """
    requirements = RouteRequirements(routes, senders=senders, unmatched=unmatched)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(RequirementMiddleware, requirements=requirements), *middleware],
        exception_handlers={Exception: answer_failure, **(exception_handlers or {})},
    )
    app.state.requirements = requirements
    return app


def requirements_of(app: Starlette) -> RouteRequirements:
    """Returns the requirements of an application that ``build_app`` built."""
    requirements: RouteRequirements = app.state.requirements
    return requirements


def _requirement_of(route: BaseRoute) -> Requirement:
    if not isinstance(route, DeclaredRoute | DeclaredMount):
        raise TypeError(f"the route {getattr(route, 'path', route)} declares no requirement")
    return route.requires
