"""Works out which documents a user may see, for the length of one request."""

from functools import partial

from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.authorization import Login
from feedmill.model.errors import OutOfTime
from feedmill.model.identity import Identity
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.deadline import Deadline


class AccessFilters:
    """Makes the access filters of requests. May be used from several threads."""

    def __init__(self, permissions: PermissionCache, late: LateBinding | None = None) -> None:
        self._permissions = permissions
        self._late = late

    def find_filter(self, identity: Identity, login: Login | None = None, deadline: Deadline | None = None) -> AccessFilter:
        """Returns the classes that the user may see now, and those that other servers may decide about, for one request only.

        If they are not known at ``until_access`` of the deadline, they are those of anonymous users, and the deadline records that.
        Errors: Denied for a user in too many groups; Busy.
        """
        try:
            access = self._permissions.classes_of(identity, deadline)
            return access if self._late is None else self._late.allow(access, partial(self._permissions.undecided, deadline), login)
        except OutOfTime:
            if deadline is not None:
                deadline.leave_out_secure()
            return ANONYMOUS
