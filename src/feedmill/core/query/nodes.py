"""Splits and joins query trees."""

from collections.abc import Iterable

from feedmill.model.query import And, MatchAll, Node


def parts_of(root: Node) -> tuple[Node, ...]:
    """Returns the parts that must all hold: the parts of an And, else the tree itself."""
    return root.parts if isinstance(root, And) else (root,)


def join_all(nodes: Iterable[Node]) -> Node:
    """Returns the conjunction of several trees as one flat And, so that mandatory and optional parts can be distinguished."""
    held = tuple(part for node in nodes for part in parts_of(node) if not isinstance(part, MatchAll))
    if len(held) > 1:
        return And(held)
    return held[0] if held else MatchAll()
