"""Groups: their definitions, and feeds of groups as text."""

from collections.abc import Iterable

from feedmill.model.access import Principal
from feedmill.model.change import PutGroup, SourcePosition
from feedmill.ports import Store
from tests.builders.access import group_principal


def define_group(name: str, *members: Principal, namespace: str = "Default") -> PutGroup:
    return PutGroup(place=SourcePosition(record=1, line=1), group=group_principal(name, namespace=namespace), members=members)


def publish_groups(store: Store, feed_id: int, *definitions: PutGroup, source: str = "src", is_full: bool = False) -> None:
    """Builds a snapshot and publishes it."""
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(feed_id, source, is_full=is_full)
        unit.groups.snapshot_builder.define_many(feed_id, definitions)
    with store.writing() as unit:
        unit.groups.snapshot_builder.publish(feed_id)


def make_membership(
    group: str, users: Iterable[str] = (), *, groups: Iterable[str] = (), scope: str = "GROUP", attributes: str = "", more: str = ""
) -> str:
    """Returns a ``<membership>``; ``attributes`` are more of each user, ``more`` stands behind the members."""
    members = [f'<principal scope="USER" {attributes}>{name}</principal>' for name in users]
    members += [f'<principal scope="GROUP">{name}</principal>' for name in groups]
    return f'<membership><principal scope="{scope}">{group}</principal><members>{"".join(members)}{more}</members></membership>'


def make_groups_feed(*memberships: str, head: str = "") -> bytes:
    return f"{head}<xmlgroups>{''.join(memberships)}</xmlgroups>".encode()
