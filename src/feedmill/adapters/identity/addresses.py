"""Addresses at providers, which may have a query of their own."""


def with_query(address: str, query: str) -> str:
    """Returns an address with a query added to it. Shape: ``query`` is encoded already."""
    return f"{address}{'&' if '?' in address else '?'}{query}"
