"""The store's repositories of ACLs and access classes, with their history."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.access import AccessKey, AclVersion, ClassPeriod, PackedClasses, StoredAcl


class Acls(Protocol):
    """ACLs by their URL, which need not be the URL of a document.

    Example::

        with store.reading() as unit:
            access_class = unit.access.acls.find_classes([url]).get(url)
    """

    def find_many(self, urls: Sequence[str]) -> dict[str, StoredAcl]:
        """Finds ACLs by URL."""

    def save_many(self, acls: Sequence[StoredAcl], *, at: datetime) -> None:
        """Inserts or replaces ACLs by URL, and stores a version of each ACL that changed."""

    def remove_many(self, urls: Sequence[str], *, at: datetime, feed_id: int | None = None) -> None:
        """Removes ACLs by URL, and stores when each ended and by which feed, if any."""

    def list_of_source(self, datasource: str, *, limit: int, unseen_by: int | None = None) -> list[StoredAcl]:
        """Lists the ACLs that a source wrote last; with ``unseen_by`` only those that feed did not name."""

    def find_classes(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the access class of each URL's ACL. URLs without an ACL are left out."""

    def list_classes(self, *, after: int, limit: int) -> list[int]:
        """Lists the access classes of the present ACLs, each once, by number above ``after``."""


class AclVersions(Protocol):
    """Every ACL that a URL has had, by the time from which it was in force."""

    def newest_version(self) -> int:
        """Returns the number of the newest version, or 0 if there is none."""

    def list_versions(self, *, after: int, limit: int) -> list[AclVersion]:
        """Lists versions of ACLs by number above ``after``."""

    def find_classes_at(self, urls: Sequence[str], at: datetime) -> dict[str, int]:
        """Finds the access class that each URL's ACL had at a time. URLs without an ACL are left out."""

    def find_last_change(self, urls: Sequence[str], *, after: datetime, until: datetime) -> AclVersion | None:
        """Finds the newest version of any of these URLs' ACLs that was made after a time and up to another."""

    def forget_versions(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Goes through versions older than a time, by number above ``after``: removes those that were no longer in force then.

        Returns the last number of this step, or None if there was none left.
        """


class Classes(Protocol):
    """The access classes: documents with the same access key share one. A number is never used again."""

    def number_many(self, keys: Sequence[AccessKey]) -> dict[AccessKey, int]:
        """Returns the number of each class. A class without a number gets a new one."""

    def newest(self) -> int:
        """Returns the highest number used so far."""

    def get_many(self, numbers: Sequence[int]) -> dict[int, AccessKey]:
        """Returns the access keys of classes. Removed classes are left out."""

    def find_policies(self, numbers: Sequence[int]) -> dict[int, int]:
        """Finds the policies of classes, 0 for none. Removed classes are left out."""

    def iter_packed(self, after: int) -> Iterator[PackedClasses]:
        """Yields all classes with higher numbers, by number, many at a time."""

    def remove_unused(self, *, after: int, limit: int) -> int | None:
        """Goes through classes by number above ``after``: removes those that no document, ACL or version uses.

        Returns the last number of this step, or None if there was none left.
        """


class ClassPeriods(Protocol):
    """Which access class each document was in, and when."""

    def list_of(self, ids: Sequence[int]) -> dict[int, list[ClassPeriod]]:
        """Lists the class periods of documents by id, oldest first. Each period ends where the next begins."""

    def list_held(self, *, after: int, limit: int) -> dict[int, int]:
        """Lists live documents with their current access class, by id above ``after``."""

    def list_moved(self, classes: Sequence[int], since: datetime, *, after: int, limit: int) -> dict[int, int | None]:
        """Lists documents, including deleted ones, that changed their class after ``since`` or are in one of these classes.

        By id above ``after``. The value is the class that a document had all the time, or None if it changed.
        """
