"""Patterns of whole URLs in which ``*`` means any characters or none; every other character, ``?`` too, means itself."""


def matches_wildcards(pattern: str, url: str) -> bool:
    """Whether a whole URL matches. It takes time that grows with the URL alone, whatever the pattern."""
    first, *middle = pattern.split("*")
    if not middle:
        return url == pattern
    last = middle.pop()
    if len(url) < len(first) + len(last) or not url.startswith(first) or not url.endswith(last):
        return False
    # The earliest place of each part leaves the most text for those behind it.
    at, end = len(first), len(url) - len(last)
    for part in middle:
        found = url.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
