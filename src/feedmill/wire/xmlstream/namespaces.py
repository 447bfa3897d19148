"""Names elements without their prefixes, for texts in which prefixes may have any name, or no declaration."""

from collections.abc import Mapping


class _Scope:
    """The declarations in force inside an element. ``names`` are the names of elements that were resolved by them before."""

    __slots__ = ("names", "uris")

    def __init__(self, uris: Mapping[str, str]) -> None:
        self.uris = uris
        self.names: dict[str, str] = {}


class NamespaceScopes:
    """The namespaces in force at the place of a reading. ``enter`` each element, then ``leave`` it."""

    def __init__(self, known: tuple[str, ...]) -> None:
        """Shape: ``known`` are beginnings of namespaces, in lower case."""
        self._known = known
        self._scopes = [_Scope({})]

    def enter(self, name: str, attributes: Mapping[str, str]) -> str:
        """Returns the local name of an element if its namespace is known or its prefix has no declaration, else ``{namespace}name``."""
        scope = self._scopes[-1]
        for key in attributes:
            if key.startswith("xmlns"):
                scope = _declare(scope, attributes)
                break
        self._scopes.append(scope)
        # the reader limits how many different names a text may have
        found = scope.names.get(name)
        if found is None:
            found = scope.names[name] = self._resolve(name, scope)
        return found

    def leave(self) -> None:
        """Ends the scope of the element entered last."""
        self._scopes.pop()

    def _resolve(self, name: str, scope: _Scope) -> str:
        prefix, _, local = name.rpartition(":")
        namespace = scope.uris.get(prefix, "")
        return local if not namespace or namespace.startswith(self._known) else f"{{{namespace}}}{local}"


def _declare(scope: _Scope, attributes: Mapping[str, str]) -> _Scope:
    """Returns the scope inside an element that may declare prefixes."""
    declared = {key[6:]: uri.strip().lower() for key, uri in attributes.items() if key == "xmlns" or key.startswith("xmlns:")}
    return _Scope({**scope.uris, **declared}) if declared else scope
