"""Computes and caches what a user may see: their groups, and the classes that the ACLs permit them.

Classes, ACLs and groups are held in memory and refreshed from the store before access filters are returned, so each committed transaction
counts for the next one. The principal keys of a user are those of the last refresh (``principal_keys_of``). The result for a user is
cached until ACLs or groups change, up to a bound of memory.

A call with a deadline returns at once if the answer is cached and the store has not changed since. Otherwise a separate thread reads and
computes it. The call gives up on that thread when its time is over; the next call uses the thread's result.

``AccessFilters`` adds to the user the ACL tokens that other servers list, and to the result what late binding may decide, for the length of
one request.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog
from cachetools import LRUCache

from feedmill.core.access.principals import PrincipalKeys, principal_keys_of
from feedmill.core.access.setevaluator import Bytes
from feedmill.model.access import ANONYMOUS, AccessFilter, ClassMap
from feedmill.model.authorization import Login
from feedmill.model.errors import FeedmillError, OutOfTime
from feedmill.model.identity import Identity
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism
from feedmill.ports import Store, UnitOfWork
from feedmill.services.access.classtable import ClassTable
from feedmill.services.access.grouptable import GroupTable, Membership
from feedmill.services.access.policykeeping import read_closed
from feedmill.services.access.policytable import PolicyTable
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.authorization.usertokens import UserTokens
from feedmill.services.deadline import Deadline

CACHE_BYTES = 128_000_000
BYTES_OF_A_GROUP = 1_000
VERSIONS_AT_ONCE = 10_000
REFRESH_SECONDS = 1.0
SOON_SECONDS = 0.02
"""How long a request waits for the lock before it passes its work to the thread."""

_Found = TypeVar("_Found")

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _CachedPermissions:
    """The cached results for one user. ``classes`` and ``principal_keys`` are None until they are needed."""

    membership: Membership
    classes: AccessFilter | None = None
    #: The revision of the classes, ACLs and policies from which ``classes`` were computed; they hold only while it is the current one.
    revision: int = -1
    principal_keys: PrincipalKeys | None = None

    @property
    def size_bytes(self) -> int:
        permitted = self.classes.permitted if self.classes is not None else None
        table = len(permitted.table) if isinstance(permitted, ClassMap) else 0
        return table + (len(self.membership.reached) + 1) * BYTES_OF_A_GROUP


class PermissionCache:
    """Returns what users may see. May be used from several threads; one at a time computes a result."""

    def __init__(self, store: Store, *, cache_bytes: int = CACHE_BYTES, order: Sequence[EarlyMechanism] = EARLY_ORDER) -> None:
        self.order = tuple(order)
        self._store = store
        # Lock order: a reading transaction (``ResultTrimmer.decide_each``), this lock, then the preloader's lock (``GroupTable.refresh``).
        # ``read_ahead`` and ``prepare_merge`` run without this lock.
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "access")
        self._classes = ClassTable()
        self._groups = GroupTable()
        self._policies = PolicyTable(order)
        self._policy_generation = 0
        self._unsaid: Bytes | None = None
        self._version = 0
        self._generation = -1
        # a user whose results alone exceed the bound counts as the whole bound, and so stays the only one
        self._known: LRUCache[Identity, _CachedPermissions] = LRUCache(
            cache_bytes, getsizeof=lambda known: min(known.size_bytes, cache_bytes)
        )
        self._undecided: ClassMap | None = None
        self._revision = 0

    def classes_of(self, identity: Identity, deadline: Deadline | None = None) -> AccessFilter:
        """Returns the classes that the user may see now.

        Errors: Denied for a user who is in too many groups; Busy; OutOfTime at ``until_access`` of the deadline.
        """
        # The public class needs neither the lock nor the store.
        if not identity.users and not identity.groups:
            return ANONYMOUS

        def find() -> AccessFilter:
            return self._use(identity, self._find_classes)

        def is_known() -> bool:
            known = self._known.get(identity)
            return known is not None and known.revision == self._revision and self._is_current()

        return self._find_in_time(find, is_known, deadline)

    def undecided(self, deadline: Deadline | None = None) -> ClassMap:
        """Returns the classes that neither ACLs nor policies decide for any user, as they are now. Errors: Busy; OutOfTime."""

        def find() -> ClassMap:
            if self._undecided is None:
                self._undecided = self._policies.undecided(self._find_unsaid(), self._classes.policy_numbers)
            return self._undecided

        return self._find_in_time(find, lambda: self._undecided is not None and self._is_current(), deadline)

    def principal_keys_of(self, identity: Identity, deadline: Deadline | None = None) -> PrincipalKeys:
        """Returns the principal keys of the user, with the groups as they were when classes were last requested.

        Errors: as above, OutOfTime at the end of the deadline.
        """

        def find() -> PrincipalKeys:
            return self._use(identity, self._find_principal_keys)

        until = deadline.until if deadline is not None else None
        return self._find_in_time(find, lambda: identity in self._known, deadline, until, refresh=self._refresh_once)

    def _find_in_time(
        self,
        find: Callable[[], _Found],
        is_known: Callable[[], bool],
        deadline: Deadline | None,
        until: float | None = None,
        *,
        refresh: Callable[[], None] | None = None,
    ) -> _Found:
        """Calls ``find`` under the lock and returns its result. ``is_known`` says whether what is cached holds now; if not, or without a
        deadline, ``refresh`` is called before ``find``.

        Shape: ``until`` as in ``Deadline.wait_for``; ``until_access`` if it is None. ``refresh`` reads the store if it is None.
        """

        def refresh_and_find() -> _Found:
            with self._lock:
                (refresh or self._refresh)()
                return find()

        if deadline is None:
            return refresh_and_find()
        # Fast path: computes in this thread if the lock is free soon and the answer is cached. Else the one thread of the pool takes the
        # lock.
        if self._lock.acquire(timeout=min(SOON_SECONDS, deadline.left_seconds)):
            try:
                if is_known():
                    return find()
            finally:
                self._lock.release()
        return deadline.wait_for(self._thread.submit(refresh_and_find), deadline.until_access if until is None else until)

    def load(self) -> None:
        """Reads all that the store has, so that the first call need not wait for it. Errors: Busy."""
        with self._lock:
            self._refresh()
            self._find_unsaid()

    def refresh_regularly(self, is_over: threading.Event, every_seconds: float = REFRESH_SECONDS) -> None:
        """Follows the store until ``is_over`` is set, so that no call waits for changes that were committed long before it."""
        is_done = False
        while not is_done:
            try:
                self.read_ahead(is_over)
                self.load()
                # ``prepare_merge`` does the work without the lock. Only ``put``, which is fast, needs it.
                if (put := self._groups.prepare_merge()) is not None:
                    with self._lock:
                        put()
            except FeedmillError as exc:
                # the next call meets the same error if it persists
                log.warning("directory_waits", reason=str(exc))
            is_done = is_over.wait(every_seconds)

    def read_ahead(self, is_over: threading.Event) -> None:
        """Reads group snapshots that are not yet published, in pieces, while other calls are answered. Errors: Busy."""
        has_more = True
        while has_more and not is_over.is_set():
            # A new read snapshot for each piece: one that stays open would keep the database from reusing its log.
            with self._store.reading() as unit:
                has_more = self._groups.read_ahead(unit.groups.snapshots)

    def _use(self, identity: Identity, find: Callable[[_CachedPermissions, Identity], _Found]) -> _Found:
        known = self._known.get(identity) or _CachedPermissions(self._groups.resolve(identity))
        found = find(known, identity)
        self._known[identity] = known  # also when it was cached, because ``find`` may have changed its size
        return found

    def _find_classes(self, known: _CachedPermissions, identity: Identity) -> AccessFilter:
        if known.classes is None or known.revision != self._revision:
            by_acl = self._classes.permitted(known.membership.keys)
            permitted = self._policies.combine(by_acl, self._find_unsaid(), self._classes.policy_numbers, known.membership.keys)
            known.classes = AccessFilter(permitted=permitted, current_user=identity)
            known.revision = self._revision
        return known.classes

    def _find_unsaid(self) -> Bytes:
        if self._unsaid is None:
            self._unsaid = self._classes.unsaid()
        return self._unsaid

    def _find_principal_keys(self, known: _CachedPermissions, _identity: Identity) -> PrincipalKeys:
        if known.principal_keys is None:
            known.principal_keys = principal_keys_of(known.membership.build_identity())
        return known.principal_keys

    # --- reading changes ---

    def _is_current(self) -> bool:
        """Whether everything in the store has been read."""
        with self._store.reading() as unit:
            return (
                unit.groups.snapshots.generation() == self._generation
                and unit.access.policies.generation() == self._policy_generation
                and unit.access.classes.newest() <= self._classes.newest
                and unit.access.acl_versions.newest_version() <= self._version
            )

    def _refresh_once(self) -> None:
        """Reads the store if that has not been done yet."""
        if self._generation < 0:
            self._refresh()

    def _refresh(self) -> None:
        # One read snapshot for groups, policies and classes, so that they are of the same moment.
        with self._store.reading() as unit:
            generation = unit.groups.snapshots.generation()
            if generation != self._generation:
                self._groups.refresh(unit.groups.snapshots)
                self._generation = generation
                # Not only the classes: with the memberships, the keys of every user may have changed.
                self._known.clear()
                log.info("groups_read", generation=generation)
            policies = unit.access.policies.generation()
            if policies != self._policy_generation:
                self._policies.set(unit.access.policies.current().policies, read_closed(unit))
                self._policy_generation = policies
                self._forget_classes()
            newest, version = unit.access.classes.newest(), unit.access.acl_versions.newest_version()
            if newest > self._classes.newest or version > self._version:
                self._read_classes(unit, version)
                # The newest class may have been removed again, so it is not always among those that were read.
                self._classes.reach(newest)
                self._forget_classes()

    def _read_classes(self, unit: UnitOfWork, version: int) -> None:
        """Adds new classes, then sets the classes of the ACLs from which others inherit."""
        # Before ``set_acls``, which ignores URLs from which no known class inherits.
        fresh = self._classes.add_classes(unit.access.classes.iter_packed(self._classes.newest))
        self._classes.set_acls(unit.access.acls.find_classes(fresh))
        after, self._version = self._version, version
        # The first time, ``find_classes`` has read the current ACL of every URL. Versions would only repeat that.
        if after:
            while versions := unit.access.acl_versions.list_versions(after=after, limit=VERSIONS_AT_ONCE):
                self._classes.set_acls({each.url: each.access_class for each in versions})
                after = versions[-1].number

    def _forget_classes(self) -> None:
        """Makes all computed classes outdated; those of a user are computed again when they are needed."""
        self._undecided = self._unsaid = None
        self._revision += 1


class AccessFilters:
    """Makes the access filters of requests. May be used from several threads."""

    def __init__(self, permissions: PermissionCache, late: LateBinding | None = None, tokens: UserTokens | None = None) -> None:
        self._permissions = permissions
        self._late = late
        self._tokens = tokens

    def find_filter(self, identity: Identity, login: Login | None = None, deadline: Deadline | None = None) -> AccessFilter:
        """Returns the classes that the user may see now, and those that other servers may decide about, for one request only.

        If they are not known at ``until_access`` of the deadline, they are those of anonymous users, and the deadline records that.
        Errors: Denied for a user in too many groups; Busy.
        """
        if self._tokens is not None:
            identity = self._tokens.add(identity, login, deadline)
        try:
            access = self._permissions.classes_of(identity, deadline)
            return access if self._late is None else self._late.allow(access, partial(self._permissions.undecided, deadline), login)
        except OutOfTime:
            if deadline is not None:
                deadline.leave_out_secure()
            return ANONYMOUS
