"""Decides all access classes for one user at once: the rules of ``evaluator``, as tables over numbers.

The ACL chain above a URL maps the URL's own local decision to a final decision. This map is a function over three values (UNNAMED,
PERMITTED, DENIED). Only a final PERMIT matters, so three bits describe the function: bit N is set if local decision N ends in PERMIT. There
are eight such functions.

- Without a chain above, the local decision stays as it is (``AS_IT_IS``).
- The function of an ACL follows from its inheritance type, its own local decision and its parent's function (``_TABLE``).
- ACLs are therefore processed level by level, roots first. Each level takes a few array operations.
- A class is permitted if the bit of its local decision is set in the function of its parent.
- ACLs whose chain is broken, circular or too long, or has a leaf-node parent, are in no level. They retain the function that permits
  nothing.

``evaluator`` is the reference; tests check that both return the same decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feedmill.core.access.evaluator import MAX_CHAIN, combine
from feedmill.model.access import InheritanceType
from feedmill.model.decision import Verdict

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int32]

UNNAMED, PERMITTED, DENIED = 0, 1, 2
"""The local decisions as numbers. Each number is also the position of the decision's bit in a function."""

NOTHING, AS_IT_IS = 0, 1 << PERMITTED
"""The function of a broken chain (no bit is set) and that of no chain (only the bit of PERMITTED is set)."""

RULES = (InheritanceType.CHILD_OVERRIDES, InheritanceType.PARENT_OVERRIDES, InheritanceType.AND_BOTH_PERMIT)
LEAF, NO_ACL = len(RULES), len(RULES) + 1
"""The inheritance types as numbers: positions in ``RULES``, then leaf-node, then a class without an ACL."""

# in the order of UNNAMED, PERMITTED, DENIED
_VERDICTS = (Verdict.INDETERMINATE, Verdict.PERMIT, Verdict.DENY)
_FUNCTIONS = 8


def rule_number(rule: InheritanceType | None) -> int:
    """Returns the number of an inheritance type."""
    if rule is None:
        return NO_ACL
    return LEAF if rule is InheritanceType.LEAF_NODE else RULES.index(rule)


def _build_table() -> Bytes:
    """Returns the function of each ACL, at (type * 3 + local decision) * 8 + function of its parent."""
    table = np.zeros(len(RULES) * len(_VERDICTS) * _FUNCTIONS, np.uint8)
    for place in range(table.size):
        # The lowest digit of the index (base 8) is the parent's function; the rest is type * 3 + local decision.
        above, own = place % _FUNCTIONS, place // _FUNCTIONS
        # The type and local decision of the ACL. In the combination below it is the parent, and what inherits from it is the child.
        rule, this = RULES[own // len(_VERDICTS)], _VERDICTS[own % len(_VERDICTS)]
        # the combined decision for each of the three decisions that the child may have
        ends = (_VERDICTS.index(combine(rule, parent=this, child=child)) for child in _VERDICTS)
        # Bit ``end`` of ``above`` says whether the combined decision ends in PERMIT; it becomes bit ``child`` of this function.
        table[place] = sum((above >> end & 1) << child for child, end in enumerate(ends))
    return table


_TABLE = _build_table()


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """ACLs that have children and whose chains are equally long.

    Shape: positions of ACLs, their classes, the numbers of their types, and the positions of their parents.
    """

    nodes: Numbers
    classes: Numbers
    types: Bytes
    parents: Numbers


def sort_levels(node_classes: Numbers, types: Bytes, parents: Numbers) -> list[Level]:
    """Sorts the ACLs that have children by the length of their chains. Leaves out those without a sound chain.

    Shape: ``node_classes`` holds the class of each ACL, negative for none; position 0 stands for "inherits from nothing". ``types`` and
    ``parents`` are indexed by class.
    """
    # The positions that have a class. Position 0 is no ACL, and nothing can inherit from a leaf-node or missing ACL (type >= LEAF).
    nodes = np.nonzero(node_classes >= 0)[0].astype(np.int32)
    nodes = nodes[(nodes > 0) & (types[node_classes[nodes]] < LEAF)]
    # Position 0 is placed from the start, so the roots are ready in the first round.
    is_placed = np.zeros(node_classes.size, np.bool_)
    is_placed[0] = True
    levels: list[Level] = []
    # one level fewer than the bound: an ACL at the last level may still have a child, whose chain is one longer
    while nodes.size and len(levels) < MAX_CHAIN - 1:
        # the parent of each remaining ACL, and whether that parent is in a level already
        above = parents[node_classes[nodes]]
        is_ready = is_placed[above]
        ready = nodes[is_ready]
        if not ready.size:
            # No remaining parent will ever have a level: it is missing, leaf-node or in a circle, or inherits from such an ACL.
            break
        classes = node_classes[ready]
        levels.append(Level(nodes=ready, classes=classes, types=types[classes], parents=above[is_ready]))
        is_placed[ready] = True
        # the others wait for the next round
        nodes = nodes[~is_ready]
    return levels


def functions_of(levels: Sequence[Level], local: Bytes, nodes: int) -> Bytes:
    """Returns the function of each ACL that has children.

    Shape: ``local`` is indexed by class; ``nodes`` is the number of positions, with position 0.
    """
    # zero is NOTHING: an ACL in no level permits nothing
    functions = np.zeros(nodes, np.uint8)
    functions[0] = AS_IT_IS
    for level in levels:
        # the upper part of the table index for every ACL of the level: type * 3 + local decision, at most 2 * 3 + 2, so a byte holds it
        own = level.types * np.uint8(len(_VERDICTS)) + local[level.classes]
        # The parent's function is the lowest digit; an earlier level has set it. ``intp`` is numpy's type for indexes.
        functions[level.nodes] = _TABLE[own.astype(np.intp) * _FUNCTIONS + functions[level.parents]]
    return functions


def permitted(functions: Bytes, local: Bytes, parents: Numbers) -> Bytes:
    """Returns 1 for each permitted class, else 0. Shape: ``parents`` holds the position of each class's parent."""
    # shifts the bit of the class's own local decision to the lowest place, and clears all other bits
    found: Bytes = (functions[parents] >> local) & np.uint8(1)
    return found
