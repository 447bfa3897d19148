"""The documents from which the cases come, as the table names them."""


def guide(section: str) -> str:
    """Returns a section of the manual of feeds."""
    return f'Feeds Protocol Developer\'s Guide, "{section}"'


def search_protocol(place: str) -> str:
    """Returns a place in the manual of searches."""
    return f"Search Protocol Reference, {place}"


def library(file: str) -> str:
    """Returns a file of the library of the adaptors."""
    return f"googlegsa/library, {file}"


def manager(file: str) -> str:
    """Returns a file of the connector manager."""
    return f"googlegsa/manager.v3, {file}"


def security_manager(file: str) -> str:
    """Returns a file of the security manager."""
    return f"googlegsa/secmgr, {file}"


def feed_sender(file: str) -> str:
    """Returns a file of Google's feed sender."""
    return f"googlegsa/gsafeed, {file}"


def toolkit(file: str) -> str:
    """Returns a file of the toolkit of administrators."""
    return f"googlearchive/gsa-admin-toolkit, {file}"
