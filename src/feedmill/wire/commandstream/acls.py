"""Collects the lines of a retrieved document's ACL.

Rules:

1. A namespace holds for the principals after it, until another is named.
2. Names are trimmed. A principal without a name is refused.
3. The principals of one kind are a set, ordered by namespace, domain and name: ``CORP\\ann`` and ``ann@CORP`` are one principal. If letter
   case does not count, names that differ in it are one principal too. Of equal principals the first stays.
4. ``acl-inherit-from`` removes the fragment before it.

Source: googlegsa/library, ``Principal.compareTo``, ``Acl.Builder``.
"""

from collections.abc import Iterable

from feedmill.model.access import InheritanceType
from feedmill.model.errors import BadStream
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.wire.commandstream.commands import get_argument
from feedmill.wire.commandstream.javavalues import trim
from feedmill.wire.commandstream.schema import Command, NamedPrincipal, Operation, RetrievedAcl
from feedmill.wire.tokens import shorten

PRINCIPALS = (Operation.ACL_PERMIT_USER, Operation.ACL_DENY_USER, Operation.ACL_PERMIT_GROUP, Operation.ACL_DENY_GROUP)
OPERATIONS = frozenset(
    (
        *PRINCIPALS,
        Operation.ACL,
        Operation.NAMESPACE,
        Operation.ACL_INHERIT_FROM,
        Operation.ACL_INHERIT_FRAGMENT,
        Operation.ACL_INHERITANCE_TYPE,
        Operation.ACL_CASE_SENSITIVE,
        Operation.ACL_CASE_INSENSITIVE,
    )
)
FLAGS = frozenset((Operation.ACL, Operation.ACL_CASE_SENSITIVE, Operation.ACL_CASE_INSENSITIVE))
_INHERITANCE_TYPES = {each.value: each for each in InheritanceType}


class AclLines:
    """The lines so far. ``is_sent``: there was ``acl``."""

    def __init__(self) -> None:
        self.is_sent = False
        self.has_lines = False
        self._namespace: str | None = DEFAULT_NAMESPACE
        self._principals: dict[Operation, list[NamedPrincipal]] = {operation: [] for operation in PRINCIPALS}
        self._inherit_from: str | None = None
        self._inherit_fragment: str | None = None
        self._inheritance_type = InheritanceType.LEAF_NODE
        self._case_sensitive = True

    def add_command(self, command: Command) -> None:
        """Takes one of ``OPERATIONS``. Errors: BadStream."""
        operation = command.operation
        if operation is Operation.ACL:
            self.is_sent = True
            return
        self.has_lines = True
        if operation is Operation.NAMESPACE:
            self._namespace = command.argument
        elif operation in self._principals:
            self._principals[operation].append(self._read_principal(command))
        elif operation is Operation.ACL_INHERIT_FROM:
            self._inherit_from, self._inherit_fragment = get_argument(command), None
        elif operation is Operation.ACL_INHERIT_FRAGMENT:
            if self._inherit_from is None:
                raise BadStream("acl-inherit-fragment cannot preceed acl-inherit-from")
            self._inherit_fragment = command.argument
        elif operation is Operation.ACL_INHERITANCE_TYPE:
            self._inheritance_type = _read_inheritance_type(command)
        else:
            self._case_sensitive = operation is Operation.ACL_CASE_SENSITIVE

    def build_acl(self) -> RetrievedAcl:
        """Returns the ACL of all lines so far."""
        permit_users, deny_users, permit_groups, deny_groups = (
            order_principals(self._principals[operation], case_sensitive=self._case_sensitive) for operation in PRINCIPALS
        )
        return RetrievedAcl(
            permit_users=permit_users,
            deny_users=deny_users,
            permit_groups=permit_groups,
            deny_groups=deny_groups,
            inherit_from=self._inherit_from,
            inherit_fragment=self._inherit_fragment,
            inheritance_type=self._inheritance_type,
            case_sensitive=self._case_sensitive,
        )

    def _read_principal(self, command: Command) -> NamedPrincipal:
        name = trim(get_argument(command))
        if self._namespace is None:
            raise BadStream(f"'namespace' before '{command.operation.value}' has no argument")
        if not name:
            raise BadStream("name cannot be empty")
        return NamedPrincipal(self._namespace, name)


def _read_inheritance_type(command: Command) -> InheritanceType:
    found = _INHERITANCE_TYPES.get(command.argument or "")
    if found is None:
        raise BadStream(f"invalid acl-inheritance-type: {'null' if command.argument is None else shorten(command.argument)}")
    return found


def order_principals(principals: Iterable[NamedPrincipal], *, case_sensitive: bool) -> tuple[NamedPrincipal, ...]:
    """Returns principals in the library's order, each once (rule 3)."""
    ordered = _unite((_key_of(principal), principal) for principal in principals)
    if not case_sensitive:
        ordered = _unite((_key_of(NamedPrincipal(each.namespace.lower(), each.name.lower())), each) for each in ordered)
    return tuple(ordered)


_Key = tuple[bytes, bytes, bytes]


def _unite(keyed: Iterable[tuple[_Key, NamedPrincipal]]) -> list[NamedPrincipal]:
    first: dict[_Key, NamedPrincipal] = {}
    for key, principal in keyed:
        first.setdefault(key, principal)
    return [first[key] for key in sorted(first)]


def _key_of(principal: NamedPrincipal) -> _Key:
    """Returns what the library compares: namespace, domain and name, each by its UTF-16 code units."""
    name, domain = principal.name, ""
    mark = min((at for at in map(name.find, "\\/@") if at >= 0), default=-1)
    if mark >= 0:
        before, after = name[:mark], name[mark + 1 :]
        name, domain = (before, after) if name[mark] == "@" else (after, before)
    return principal.namespace.encode("utf-16-be"), domain.encode("utf-16-be"), name.encode("utf-16-be")
