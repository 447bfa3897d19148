"""Query trees taken apart and put together."""

from collections.abc import Iterable

from feedmill.model.query import And, Everything, Node


def parts_of(root: Node) -> tuple[Node, ...]:
    """Returns what must hold, one by one: the parts of an And, else the tree itself."""
    return root.parts if isinstance(root, And) else (root,)


def join_all(nodes: Iterable[Node]) -> Node:
    """Returns the tree of all of several: one flat And, so that what must hold can be told from what may be left out."""
    held = tuple(part for node in nodes for part in parts_of(node) if not isinstance(part, Everything))
    if len(held) > 1:
        return And(held)
    return held[0] if held else Everything()
