"""Selects the user for a rule's requests, and the login that may be forwarded."""

from feedmill.model.authorization import AuthorizationRule, Login
from feedmill.model.identity import Identity, Subject


def find_user(rule: AuthorizationRule, current_user: Identity) -> Subject | None:
    """Returns the user in the rule's namespace, None if the identity has no user there."""
    return next((user for user in current_user.users if user.namespace == rule.namespace and user.name), None)


def find_login(rule: AuthorizationRule, login: Login | None) -> Login | None:
    """Returns the login to forward: only if it signed the user in to the rule's namespace and the rule forwards passwords; else None."""
    return login if rule.forwards_password and login is not None and rule.namespace in login.namespaces else None
