"""Frozen dataclasses for values of which every search makes dozens, or every document a few.

A frozen dataclass sets each field by a call of ``object.__setattr__``, so making one takes four times as long as making one that is not
frozen: two microseconds for a document. A light one is frozen for the type checker, which refuses every assignment to a field, and not at
run time. It is compared and hashed as a frozen one is.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as light_dataclass
else:
    from collections.abc import Callable
    from dataclasses import dataclass

    def light_dataclass(*, frozen: bool, **options: bool) -> Callable[[type], type]:
        """Takes the parameters of ``dataclass``. Values are hashed, so ``frozen`` must be true."""
        assert frozen
        return dataclass(unsafe_hash=True, **options)


__all__ = ["light_dataclass"]
