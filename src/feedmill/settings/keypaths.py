"""Where a setting stands: the names of its tables and its own, with places in lists; and what is wrong with one."""

KeyPath = tuple[str | int, ...]

Fault = tuple[KeyPath, str]
"""The path of a key, and what is wrong with it."""


def dotted(path: KeyPath) -> str:
    """Writes a path as people read it: parts with dots, places in lists in brackets from 1."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
