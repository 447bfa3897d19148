"""Decides all classes for one asker at once: the rules of ``evaluator``, as tables over numbers.

What a chain above a URL makes of that URL's own local decision is a function of three values, so eight of them can be told apart by three
bits, one for each local decision, set where the end is PERMIT. The function of a root's child is "as it is"; that of any other ACL is
found from its own inheritance type, its own local decision and the function of its parent, so ACLs are gone through level by level, roots
first, each level in one step. A class is permitted where the bit of its local decision is set in the function of its parent. ACLs
whose chain is broken, comes back to itself or is too long stand in no level and keep the function that permits nothing.

``evaluator`` is the reference; tests hold the two equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feedmill.core.evaluator import MAX_CHAIN, combine
from feedmill.model.access import InheritanceType
from feedmill.model.decision import Verdict

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int32]

UNNAMED, PERMITTED, DENIED = 0, 1, 2
"""The local decisions as numbers."""

NOTHING, AS_IT_IS = 0, 1 << PERMITTED
"""The functions of a broken chain and of a root's child."""

RULES = (InheritanceType.CHILD_OVERRIDES, InheritanceType.PARENT_OVERRIDES, InheritanceType.AND_BOTH_PERMIT)
LEAF, NO_ACL = len(RULES), len(RULES) + 1
"""The inheritance types as numbers: places in ``RULES``, then leaf-node, then that of a class without an ACL."""

_VERDICTS = (Verdict.INDETERMINATE, Verdict.PERMIT, Verdict.DENY)
_FUNCTIONS = 8


def rule_number(rule: InheritanceType | None) -> int:
    """Returns the number of an inheritance type."""
    if rule is None:
        return NO_ACL
    return LEAF if rule is InheritanceType.LEAF_NODE else RULES.index(rule)


def _build_table() -> Bytes:
    """Returns the function of an ACL by its type, its local decision and its parent's function, at (type * 3 + local) * 8 + function."""
    table = np.zeros(len(RULES) * len(_VERDICTS) * _FUNCTIONS, np.uint8)
    for place in range(table.size):
        above, own = place % _FUNCTIONS, place // _FUNCTIONS
        rule, parent = RULES[own // len(_VERDICTS)], _VERDICTS[own % len(_VERDICTS)]
        ends = (_VERDICTS.index(combine(rule, parent=parent, child=child)) for child in _VERDICTS)
        table[place] = sum((above >> end & 1) << child for child, end in enumerate(ends))
    return table


_TABLE = _build_table()


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """ACLs from which others inherit and whose chains are equally long. Shape: places of ACLs, their classes, their parents' places."""

    nodes: Numbers
    classes: Numbers
    types: Bytes
    parents: Numbers


def sort_levels(node_classes: Numbers, types: Bytes, parents: Numbers) -> list[Level]:
    """Sorts the ACLs from which others inherit by the length of their chains; those without a sound one are left out.

    Shape: ``node_classes`` gives the class of each ACL, negative for none; place 0 stands for "inherits from nothing". ``types`` and
    ``parents`` are those of classes.
    """
    nodes = np.nonzero(node_classes >= 0)[0].astype(np.int32)
    nodes = nodes[(nodes > 0) & (types[node_classes[nodes]] < LEAF)]
    is_placed = np.zeros(node_classes.size, np.bool_)
    is_placed[0] = True
    levels: list[Level] = []
    # an ACL at the last level may still have a child, whose chain is one longer
    while nodes.size and len(levels) < MAX_CHAIN - 1:
        above = parents[node_classes[nodes]]
        is_ready = is_placed[above]
        ready = nodes[is_ready]
        if not ready.size:
            break
        classes = node_classes[ready]
        levels.append(Level(nodes=ready, classes=classes, types=types[classes], parents=above[is_ready]))
        is_placed[ready] = True
        nodes = nodes[~is_ready]
    return levels


def functions_of(levels: Sequence[Level], local: Bytes, nodes: int) -> Bytes:
    """Returns the function of each ACL from which others inherit. Shape: ``local`` by class; ``nodes`` counts place 0 too."""
    functions = np.zeros(nodes, np.uint8)
    functions[0] = AS_IT_IS
    for level in levels:
        own = level.types * np.uint8(len(_VERDICTS)) + local[level.classes]
        functions[level.nodes] = _TABLE[own.astype(np.intp) * _FUNCTIONS + functions[level.parents]]
    return functions


def permitted(functions: Bytes, local: Bytes, parents: Numbers) -> Bytes:
    """Returns 1 for each class that is permitted, else 0. Shape: ``parents`` gives the place of each class's parent."""
    found: Bytes = (functions[parents] >> local) & np.uint8(1)
    return found
