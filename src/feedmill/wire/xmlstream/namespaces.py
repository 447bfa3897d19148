"""Names elements without their prefixes, for texts in which prefixes may have any name, or no declaration."""

from collections.abc import Mapping


class NamespaceScopes:
    """The namespaces in force at the place of a reading. ``enter`` each element, then ``leave`` it."""

    def __init__(self, known: tuple[str, ...]) -> None:
        """Shape: ``known`` are beginnings of namespaces, in lower case."""
        self._known = known
        self._scopes: list[Mapping[str, str]] = [{}]

    def enter(self, name: str, attributes: Mapping[str, str]) -> str:
        """Returns the local name of an element if its namespace is known or its prefix has no declaration, else ``{namespace}name``."""
        scope = self._scopes[-1]
        declared = {key[6:]: uri.strip().lower() for key, uri in attributes.items() if key == "xmlns" or key.startswith("xmlns:")}
        if declared:
            scope = {**scope, **declared}
        self._scopes.append(scope)
        prefix, _, local = name.rpartition(":")
        namespace = scope.get(prefix, "")
        return local if not namespace or namespace.startswith(self._known) else f"{{{namespace}}}{local}"

    def leave(self) -> None:
        """Ends the scope of the element entered last."""
        self._scopes.pop()
