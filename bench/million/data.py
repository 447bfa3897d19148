"""What is fed: documents, their ACLs and the folders above, groups, and who asks."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tests.builders.feedxml import make_record
from tests.corpus import Corpus, vocabulary

HOST = "http://million.example.com"
SHARES = (95, 50, 10, 1)
GROUPS = (10, 100, 1_000, 5_000)
OWN_GROUPS = (1_000,)
TWINS = 5
ROOTS, AREAS, FOLDERS = 2, 200, 5_000
RANKS = (10, 15, 22, 30, 45, 60, 90, 140, 200, 300, 450, 600, 1_000, 2_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a folder holds. ``acls`` is 0 where each document has an ACL of its own."""

    documents: int
    acls: int

    @property
    def groups(self) -> tuple[int, ...]:
        """In how many groups the users are."""
        return GROUPS if self.acls else OWN_GROUPS

    def acl_of(self, number: int) -> int:
        """Returns the number of a document's ACL."""
        return number % self.acls if self.acls else number

    def keep(self, data: Path) -> None:
        """Writes beside a data folder what it holds."""
        data.with_suffix(".shape").write_text(json.dumps(asdict(self)))


def read_shape(data: Path) -> Shape:
    """Reads what a data folder holds."""
    return Shape(**json.loads(data.with_suffix(".shape").read_text()))


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentUser:
    """One of the users. ``twin`` distinguishes those who are in the same groups."""

    groups: int
    share: int
    twin: int = 0

    @property
    def name(self) -> str:
        """The name to sign in with."""
        return f"in{self.groups}sees{self.share}twin{self.twin}"

    def sees(self, acl: int) -> bool:
        """Whether documents of an ACL are shown to this user."""
        return place_of(acl) < self.share / 100

    def group_for(self, acl: int) -> str:
        """Returns the group of this user that an ACL names, if the user sees it."""
        return f"of{self.groups}at{self.share}no{zlib.crc32(b'group %d' % acl) % self.groups}"


def place_of(acl: int) -> float:
    """Returns where between 0 and 1 an ACL lies; who sees a share sees what lies below it."""
    return zlib.crc32(b"place %d" % acl) / 2**32


def current_users(shape: Shape) -> list[CurrentUser]:
    """Returns the users, the first twins."""
    return [CurrentUser(groups=count, share=share) for count in shape.groups for share in SHARES]


def folder_acls() -> Iterator[str]:
    """Returns the ACLs above those of documents: three levels, which say nothing of the users."""
    for level, count, above, parents in (("root", ROOTS, "", 1), ("area", AREAS, "root", ROOTS), ("folder", FOLDERS, "area", AREAS)):
        for number in range(count):
            parent = f' inherit-from="{HOST}/{above}/{number % parents}"' if above else ""
            entry = f'<principal scope="group" access="permit">{level}{number}</principal>'
            yield f'<acl url="{HOST}/{level}/{number}" inheritance-type="child-overrides"{parent}>{entry}</acl>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a document says."""

    number: int
    title: str
    text: str
    department: str

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Its metadata."""
        return (("department", self.department),)

    @property
    def html(self) -> str:
        """Its content."""
        return f"<title>{self.title}</title><p>{self.text}</p>"


def url_of(number: int) -> str:
    """Returns the URL of a document."""
    return f"{HOST}/doc/{number}"


def make_page(number: int) -> Page:
    """Returns a document; the same number is always the same text."""
    corpus, place = known_corpus(), zlib.crc32(b"text %d" % number)
    return Page(
        number=number,
        title=corpus.text_at(place >> 8, 4),
        text=corpus.text_at(place, 20),
        department=f"department {zlib.crc32(b'%d' % number) % 50}",
    )


@cache
def known_corpus() -> Corpus:
    """Returns the words that texts are made of."""
    return Corpus()


def records(shape: Shape, first: int, last: int) -> list[str]:
    """Returns the records of documents."""
    known = current_users(shape)
    return [
        make_record(url_of(page.number), page.html, page.metadata, acl=acl_xml(shape.acl_of(page.number), known))
        for page in map(make_page, range(first, last))
    ]


def acl_xml(number: int, known: list[CurrentUser]) -> str:
    """Returns an ACL: its owner, and a group of each user who sees it."""
    owner, folder = owner_and_folder(number)
    names = [current_user.group_for(number) for current_user in known if current_user.sees(number)]
    entries = "".join(f'<principal scope="group" access="permit">{name}</principal>' for name in names)
    return f'<acl inherit-from="{folder}"><principal scope="user" access="permit">{owner}</principal>{entries}</acl>'


def owner_and_folder(acl: int) -> tuple[str, str]:
    """Returns who is named by an ACL alone, and the URL from which it inherits."""
    return f"owner{acl}", f"{HOST}/folder/{acl % FOLDERS}"


def groups_feed(shape: Shape) -> bytes:
    """Returns the memberships of all users and their twins."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?><xmlgroups>']
    for current_user in current_users(shape):
        twins = (CurrentUser(groups=current_user.groups, share=current_user.share, twin=twin) for twin in range(TWINS))
        members = "".join(f'<principal scope="USER">{twin.name}</principal>' for twin in twins)
        for number in range(current_user.groups):
            group = f"of{current_user.groups}at{current_user.share}no{number}"
            parts.append(f'<membership><principal scope="GROUP">{group}</principal><members>{members}</members></membership>')
    return "".join([*parts, "</xmlgroups>"]).encode()


def queries() -> list[str]:
    """Returns the queries: words from frequent to rare, alone and by two."""
    words = vocabulary()
    single = [words[rank] for rank in RANKS]
    return [*single, *(f"{left} {right}" for left, right in zip(single[:-3], single[3:], strict=True))]
