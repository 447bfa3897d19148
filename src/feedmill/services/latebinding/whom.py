"""For whom a rule asks: the user of its namespace, and the login that may go along."""

from feedmill.model.identity import Identity, Subject
from feedmill.model.latebinding import AuthorizationRule, Login


def find_user(rule: AuthorizationRule, current_user: Identity) -> Subject | None:
    """Returns the user of the rule's namespace, None where the asker is nobody there."""
    return next((user for user in current_user.users if user.namespace == rule.namespace and user.name), None)


def find_login(rule: AuthorizationRule, login: Login | None) -> Login | None:
    """Returns the login that may go to where the rule asks: it proved the asker for the rule's namespace, and the rule forwards it."""
    return login if rule.forwards_password and login is not None and rule.namespace in login.namespaces else None
