"""Whether a document is secure: shown to nobody until somebody is permitted. Fails closed.

In this order, the first that says anything decides:

1. an ACL stands for the URL: secure, whatever else is said;
2. the data source is declared secure: secure;
3. a crawler access rule matches the URL: secure unless the rule makes what it fetches public, whatever the authmethod;
4. the record's authmethod is other than none: secure;
5. the page's own meta tags hold ``google:acl*`` entries, which permit nobody but say that it is guarded: secure;
6. else public.

Source: Feeds Protocol Developer's Guide, "Including Protected Documents in Search Results" and "Legacy Metadata Format"; interfaces,
``[[datasources]]`` and ``[[crawl.access]]``.
"""

from feedmill.model.access import ACL_NAME_PREFIX, AccessClass
from feedmill.model.document import AuthMethod, Document


def is_secure(*, has_acl: bool, authmethod: AuthMethod | None, source_secure: bool, make_public: bool | None) -> bool:
    """Decides by the order above. Shape: ``make_public`` is None where no crawler access rule matches."""
    if has_acl or source_secure:
        return True
    if make_public is not None:
        return not make_public
    return authmethod not in (None, AuthMethod.NONE)


def class_of(document: Document) -> AccessClass:
    """Gives the class of a document: everybody's or nobody's."""
    return AccessClass.CLOSED if document.secure or _guards_itself(document) else AccessClass.PUBLIC


def _guards_itself(document: Document) -> bool:
    own = document.text.metadata if document.text is not None else ()
    return any(name.lower().startswith(ACL_NAME_PREFIX) for name, _ in own)
