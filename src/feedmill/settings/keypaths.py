"""The path of a setting: the names of its tables and its own, with positions in lists; and a fault of a setting."""

KeyPath = tuple[str | int, ...]

Fault = tuple[KeyPath, str]
"""The path of a key, and its fault."""


def dotted(path: KeyPath) -> str:
    """Returns a path as people read it: parts with dots, positions in lists in brackets from 1."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
