"""The crawl queue in SQL.

Each site has bounds for the urgency and the time of its next entry, so that a lease looks only at sites with due entries, and in each of
them only at the entries that it leases. The bounds may be too low, never too high: a lease that finds nothing makes them exact again.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from feedmill.adapters.store.prepared import PreparedChange, PreparedQuery
from feedmill.adapters.store.schema import crawl_entries, crawl_sites
from feedmill.adapters.store.statements import batches, insert, upsert
from feedmill.adapters.store.values import dumps, from_micros, loads, plain, to_micros
from feedmill.core.crawling.sites import site_of
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlMention, CrawlSite, CrawlState, CrawlUrgency, FetchRecord

START_CHARACTERS: Final = 200
"""How much of a URL is indexed."""
HISTORY: Final = 10
MAX_VALIDATOR_CHARACTERS: Final = 1_000
DEFAULT_RANK: Final = 96
"""The pagerank of an entry without one, as for the licence limit."""
_NO_SITEMAPS: Final = "[]"
_NO_HISTORY: Final = "[]"
MAX_COUNTED: Final = 100_000
"""Up to this number the entries that wait are counted."""

_ENTRY = crawl_entries.c
_SITE = crawl_sites.c
_STATES: Final = {group: [int(state) for state in CrawlState if state.group is group] for group in CrawlGroup}
_SELECT = sa.select(crawl_entries, _SITE.site).join(crawl_sites, _SITE.id == _ENTRY.site_id)
_COLUMNS: Final = (*(column.name for column in crawl_entries.columns), "site")
_BY_DIGEST: Final = PreparedQuery(lambda digests: _SELECT.where(_ENTRY.url_digest.in_(digests)))
_DEPTHS: Final = PreparedQuery(lambda digests: sa.select(_ENTRY.url_digest, _ENTRY.depth).where(_ENTRY.url_digest.in_(digests)))
_SITE_IDS: Final = PreparedQuery(lambda digests: sa.select(_SITE.site, _SITE.id).where(_SITE.site_digest.in_(digests)))
_FIRST_WITH_CHECKSUM: Final = PreparedQuery(
    lambda places: (
        sa.select(_ENTRY.url_start, _ENTRY.url_rest)
        .where(_ENTRY.checksum.in_(places[:1]), _ENTRY.original_digest.is_(None), _ENTRY.site_id.in_(places[1:]))
        .order_by(_ENTRY.added_at, _ENTRY.url_digest)
        .suffix_with("LIMIT 1")
    )
)
"""Of a checksum and the ids of sites."""
# literals, as in the conditions of the indexes
_LEASABLE = (_ENTRY.lease_owner == sa.literal_column("''"), _ENTRY.due_at.is_not(None))
_LEASED = _ENTRY.lease_owner != sa.literal_column("''")

_NO_ENTRIES: Final[dict[str, Any]] = {"urgency": int(CrawlUrgency.SCHEDULED), "due_at": None}
"""The bounds of a site that has no entries to lease."""
_ANY_ENTRIES: Final[dict[str, Any]] = {"urgency": int(CrawlUrgency.IMMEDIATE), "due_at": 0}
"""The lowest bounds, after a change that may let a site's entries be leased earlier; the next lease makes them exact."""


def _select_first_due(urgency: CrawlUrgency) -> sa.ScalarSelect[int]:
    """Returns the statement for the time of the next entry of a site that has an urgency."""
    query = sa.select(_ENTRY.due_at).where(_ENTRY.site_id == _SITE.id, _ENTRY.urgency == int(urgency), *_LEASABLE)
    return query.order_by(_ENTRY.priority, _ENTRY.due_at).limit(1).correlate(crawl_sites).scalar_subquery()


# Made once: a lease runs the first of them for every site, and making a statement takes longer than running it.
_DUE_OF_SITE: Final = (
    _SELECT.where(
        _ENTRY.site_id == sa.bindparam("site_"),
        _ENTRY.urgency == sa.bindparam("urgency_"),
        _ENTRY.due_at <= sa.bindparam("moment_"),
        *_LEASABLE,
    )
    .order_by(_ENTRY.priority, _ENTRY.due_at)
    .limit(sa.bindparam("limit_", type_=sa.Integer))
)
_FIRST_OF_SITES: Final = sa.select(_SITE.id, *(_select_first_due(urgency).label(f"due_{urgency.name}") for urgency in CrawlUrgency))
_SET_BOUNDS: Final = (
    sa.update(crawl_sites)
    .where(_SITE.id == sa.bindparam("id_"))
    .values(urgency=sa.bindparam("urgency_", type_=sa.Integer), due_at=sa.bindparam("due_", type_=sa.BigInteger))
)

_NEW_URGENCY, _NEW_DUE = sa.bindparam("urgency_", type_=sa.Integer), sa.bindparam("due_", type_=sa.BigInteger)
_IS_UNBOUNDED = _SITE.due_at.is_(None)
_LOWER_BOUNDS: Final = (
    sa.update(crawl_sites)
    .where(_SITE.id == sa.bindparam("id_"))
    .values(
        urgency=sa.case((sa.or_(_IS_UNBOUNDED, _SITE.urgency > _NEW_URGENCY), _NEW_URGENCY), else_=_SITE.urgency),
        due_at=sa.case((sa.or_(_IS_UNBOUNDED, _SITE.due_at > _NEW_DUE), _NEW_DUE), else_=_SITE.due_at),
    )
)
_DUE_SITES: Final = (
    sa.select(_SITE.id, _SITE.site, _SITE.retry_at, _SITE.urgency)
    .where(
        _SITE.urgency == sa.bindparam("urgency_"),
        _SITE.due_at <= sa.bindparam("moment_"),
        _SITE.free_at <= sa.bindparam("moment_"),
        sa.or_(
            _SITE.lease_owner == sa.literal_column("''"),
            _SITE.lease_owner == sa.bindparam("owner_"),
            _SITE.lease_expires_at <= sa.bindparam("moment_"),
        ),
    )
    .order_by(_SITE.due_at, _SITE.id)
    .limit(sa.bindparam("limit_", type_=sa.Integer))
)
_INSERT: Final = PreparedChange(lambda _: sa.insert(crawl_entries), [column.name for column in crawl_entries.columns])


@cache
def _build_update(columns: tuple[str, ...]) -> PreparedChange:
    """Builds the statement that changes some columns of an entry."""
    statement = sa.update(crawl_entries).where(_ENTRY.url_digest == sa.bindparam("digest_"))
    change = statement.values({name: sa.bindparam(f"{name}_") for name in columns})
    return PreparedChange(lambda _: change, ["digest_", *(f"{name}_" for name in columns)])


class SqlCrawlQueue:
    """Implements ``ports.CrawlQueue``, ``ports.CrawlUrls`` and ``ports.CrawlReports``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    # --- adding ---

    def add_many(self, mentions: Sequence[CrawlMention], now: datetime) -> int:
        """Makes URLs known, or due again if the mention asks for it."""
        merged: dict[str, CrawlMention] = {}
        for mention in mentions:
            if plain(mention.url) == mention.url:
                earlier = merged.get(mention.url)
                merged[mention.url] = mention if earlier is None else _merge(earlier, mention)
        known = self._find_rows(list(merged))
        new = [mention for url, mention in merged.items() if url not in known]
        sites = self._number_sites({site_of(mention.url) for mention in new})
        rows = [_row_of_new(mention, sites[site_of(mention.url)], now) for mention in new]
        if rows:
            _INSERT.run(self._connection, rows)
        # an entry may be more urgent, or due earlier, than all others of its site
        self._advance_bounds((row["site_id"], row["urgency"], row["due_at"]) for row in rows)
        again = [row for url, mention in merged.items() if url in known and (row := _mentioned(known[url], mention, now)) is not None]
        self._update_rows(
            again, ("urgency", "priority", "due_at", "is_renewed", "pagerank", "depth", "is_once", "referrer", "interval_seconds")
        )
        self._advance_bounds((row["site_id"], row["urgency"], row["due_at"]) for row in again if row["due_at"] is not None)
        return len(new)

    def _number_sites(self, names: set[str]) -> dict[str, int]:
        """Returns the ids of sites; new ones get a row."""
        found = self._find_site_ids(names)
        new = [name for name in names if name not in found]
        if new:
            rows = [_row_of_site(CrawlSite(site=name)) | _NO_ENTRIES for name in new]
            self._connection.execute(insert(self._connection, crawl_sites).on_conflict_do_nothing(index_elements=["site_digest"]), rows)
            found |= self._find_site_ids(new)
        return found

    def _find_site_ids(self, names: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for batch in batches([digest_of_url(name) for name in names]):
            found |= {site: int(site_id) for site, site_id in _SITE_IDS.run(self._connection, batch)}
        return found

    def _update_rows(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
        if rows:
            given = [{f"{name}_": row[name] for name in columns} | {"digest_": row["url_digest"]} for row in rows]
            _build_update(tuple(columns)).run(self._connection, given)

    def _advance_bounds(self, entries: Iterable[tuple[int, int, int]]) -> None:
        """Lowers the bounds of sites for entries that can be leased."""
        lowest: dict[int, tuple[int, int]] = {}
        for site_id, urgency, due_at in entries:
            earlier = lowest.get(site_id, (urgency, due_at))
            lowest[site_id] = (min(urgency, earlier[0]), min(due_at, earlier[1]))
        if lowest:
            given = [{"id_": site_id, "urgency_": urgency, "due_": due} for site_id, (urgency, due) in lowest.items()]
            self._connection.execute(_LOWER_BOUNDS, given)

    # --- reading and storing ---

    def find_many(self, urls: Sequence[str]) -> dict[str, CrawlEntry]:
        """Finds entries by URL."""
        return {url: _entry_from_row(row) for url, row in self._find_rows(urls).items()}

    def find_depths(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the depths of known URLs."""
        by_digest = {digest_of_url(url): url for url in urls}
        found: dict[str, int] = {}
        for batch in batches(list(by_digest)):
            found.update((by_digest[bytes(digest)], depth) for digest, depth in _DEPTHS.run(self._connection, batch))
        return found

    def _find_rows(self, urls: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = {}
        for batch in batches([digest_of_url(url) for url in urls]):
            for values in _BY_DIGEST.run(self._connection, batch):
                row = dict(zip(_COLUMNS, values, strict=True))
                row["is_once"], row["is_renewed"] = bool(row["is_once"]), bool(row["is_renewed"])
                found[row["url_start"] + row["url_rest"]] = row
        return found

    def save_many(self, entries: Sequence[CrawlEntry]) -> None:
        """Stores entries and ends their leases."""
        stored = self._find_rows([entry.url for entry in entries])
        rows = []
        for entry in entries:
            row = stored.get(entry.url)
            if row is None or row["lease_owner"] not in ("", entry.lease_owner):
                continue
            changed = _row_of_entry(entry) | {"site_id": row["site_id"]}
            if row["is_renewed"]:
                # a feed named the URL while it was fetched: what it asks for is still to be done
                changed |= {name: row[name] for name in ("urgency", "priority", "due_at", "pagerank", "is_once", "interval_seconds")}
            rows.append(changed)
        self._update_rows(rows, _SAVED)
        self._advance_bounds((row["site_id"], row["urgency"], row["due_at"]) for row in rows if row["due_at"] is not None)

    def remove_many(self, urls: Sequence[str]) -> None:
        """Removes entries."""
        for batch in batches([digest_of_url(url) for url in urls]):
            self._connection.execute(sa.delete(crawl_entries).where(_ENTRY.url_digest.in_(batch)))

    def find_by_checksum(self, checksums: Sequence[bytes], sites: Sequence[str]) -> dict[bytes, str]:
        """Finds the first URL of some sites with each checksum."""
        found: dict[bytes, str] = {}
        ids = list(self._find_site_ids(sites).values())
        for checksum in dict.fromkeys(checksums) if ids else ():
            for start, rest in _FIRST_WITH_CHECKSUM.run(self._connection, [checksum, *ids]):
                found[checksum] = start + rest
        return found

    # --- leasing ---

    def lease_due(
        self, owner: str, now: datetime, until: datetime, *, capacity: Mapping[str, int], default_capacity: int, limit: int
    ) -> list[CrawlEntry]:
        """Leases due entries, the most urgent first."""
        moment = to_micros(now)
        self._end_leases(_ENTRY.lease_expires_at <= moment)
        leased: list[sa.RowMapping] = []
        looked_at: list[sa.Row[int, str, int, int]] = []
        # sites without capacity may be at the front of the order
        full = sum(count <= 0 for count in capacity.values())
        for site in self._list_due_sites(owner, moment, limit + full, only=None if default_capacity > 0 else capacity):
            if len(leased) >= limit:
                break
            free = min(capacity.get(site.site, default_capacity), limit - len(leased))
            if free > 0:
                leased += self._list_due(site, moment, free)
                looked_at.append(site)
        self._lease(leased, {"lease_owner": owner, "lease_expires_at": to_micros(until)})
        self._correct_bounds({site.id: site.retry_at for site in looked_at}, moment)
        leased.sort(key=lambda row: (row["urgency"], row["priority"], row["due_at"]))
        return [_entry_from_row({**row, "lease_owner": owner, "lease_expires_at": to_micros(until)}) for row in leased]

    def _list_due_sites(self, owner: str, moment: int, limit: int, *, only: Iterable[str] | None) -> list[sa.Row[int, str, int, int]]:
        """Lists the sites that may have due entries and that no other process crawls, the most urgent first."""
        query = _DUE_SITES if only is None else _DUE_SITES.where(_SITE.site_digest.in_([digest_of_url(name) for name in only]))
        found: list[sa.Row[int, str, int, int]] = []
        for urgency in CrawlUrgency:
            if len(found) < limit:
                given = {"urgency_": int(urgency), "moment_": moment, "owner_": owner, "limit_": limit - len(found)}
                found += self._connection.execute(query, given).all()
        return found

    def _list_due(self, site: sa.Row[int, str, int, int], moment: int, limit: int) -> list[sa.RowMapping]:
        """Lists due entries of a site; of a site that is held back only immediate ones."""
        found: list[sa.RowMapping] = []
        most = CrawlUrgency.IMMEDIATE if site.retry_at > moment else CrawlUrgency.SCHEDULED
        for urgency in CrawlUrgency:
            # no entry is more urgent than the bound of its site
            if site.urgency <= urgency <= most and len(found) < limit:
                given = {"site_": site.id, "urgency_": int(urgency), "moment_": moment, "limit_": limit - len(found)}
                found += self._connection.execute(_DUE_OF_SITE, given).mappings().all()
        return found

    def _lease(self, rows: Sequence[sa.RowMapping], lease: Mapping[str, Any]) -> None:
        """Leases entries, and their sites."""
        for batch in batches([row["url_digest"] for row in rows]):
            self._connection.execute(sa.update(crawl_entries).where(_ENTRY.url_digest.in_(batch)).values(**lease, is_renewed=False))
        for sites in batches(list({row["site_id"] for row in rows})):
            self._connection.execute(sa.update(crawl_sites).where(_SITE.id.in_(sites)).values(lease))

    def _correct_bounds(self, sites: Mapping[int, int], moment: int) -> None:
        """Makes the bounds of sites exact. Shape: the time until which a site is held back, by its id."""
        rows: list[dict[str, Any]] = []
        for batch in batches(list(sites)):
            for site_id, *due_times in self._connection.execute(_FIRST_OF_SITES.where(_SITE.id.in_(batch))):
                bounds = _NO_ENTRIES
                for urgency, due_at in zip(CrawlUrgency, due_times, strict=True):
                    if due_at is not None:
                        is_waiting = sites[site_id] > moment and urgency is not CrawlUrgency.IMMEDIATE
                        # a site that is held back has only its immediate entries until then
                        bounds = {"urgency": int(urgency), "due_at": max(due_at, sites[site_id]) if is_waiting else due_at}
                        break
                rows.append({"id_": site_id, "urgency_": bounds["urgency"], "due_": bounds["due_at"]})
        if rows:
            self._connection.execute(_SET_BOUNDS, rows)

    def release(self, owner: str) -> int:
        """Ends all leases of a process that ended."""
        ended = self._end_leases(_ENTRY.lease_owner == owner)
        held = sa.update(crawl_sites).where(_SITE.lease_owner == owner)
        self._connection.execute(held.values(lease_owner="", lease_expires_at=None))
        return ended

    def _end_leases(self, condition: sa.ColumnElement[bool]) -> int:
        leased = sa.and_(_LEASED, condition)
        # not DISTINCT: SQLite would go through all entries by site instead of the few that are leased
        sites = list(set(self._connection.execute(sa.select(_ENTRY.site_id).where(leased)).scalars()))
        if not sites:
            return 0
        ended = self._connection.execute(sa.update(crawl_entries).where(leased).values(lease_owner="", lease_expires_at=None)).rowcount
        for batch in batches(sites):
            values = {"lease_owner": "", "lease_expires_at": None, **_ANY_ENTRIES}
            self._connection.execute(sa.update(crawl_sites).where(_SITE.id.in_(batch)).values(values))
        return ended

    # --- reports ---

    def list_entries(self, *, prefix: str = "", group: CrawlGroup | None = None, after: str = "", limit: int = 100) -> list[CrawlEntry]:
        """Lists entries by URL."""
        query = _SELECT.order_by(_ENTRY.url_start, _ENTRY.url_rest).limit(limit)
        if prefix:
            start, rest = _split(plain(prefix))
            # the highest character, which no URL has, ends the range
            query = query.where(_ENTRY.url_start >= start, _ENTRY.url_start <= start + "\U0010ffff")
            if rest:
                query = query.where(_ENTRY.url_rest >= rest, _ENTRY.url_rest <= rest + "\U0010ffff")
        if after:
            start, rest = _split(plain(after))
            query = query.where(_ENTRY.url_start >= start, sa.or_(_ENTRY.url_start > start, _ENTRY.url_rest > rest))
        if group is not None:
            query = query.where(_ENTRY.state.in_(_STATES[group]))
        return [_entry_from_row(row) for row in self._connection.execute(query).mappings()]

    def list_duplicates(self, urls: Sequence[str], limit: int) -> list[str]:
        """Lists URLs that are duplicates of any of these."""
        found: list[str] = []
        for batch in batches([digest_of_url(url) for url in urls]):
            query = sa.select(_ENTRY.url_start, _ENTRY.url_rest).where(_ENTRY.original_digest.in_(batch)).limit(limit - len(found))
            found += [row.url_start + row.url_rest for row in self._connection.execute(query)]
        return found

    def count_by_site(self) -> dict[str, dict[CrawlGroup, int]]:
        """Counts the entries of each site by group."""
        query = sa.select(_ENTRY.site_id, _ENTRY.state, sa.func.count().label("entries")).group_by(_ENTRY.site_id, _ENTRY.state)
        counted: dict[int, dict[CrawlGroup, int]] = {}
        for row in self._connection.execute(query):
            group = CrawlState(row.state).group
            counts = counted.setdefault(row.site_id, dict.fromkeys(CrawlGroup, 0))
            counts[group] += int(row.entries)
        names = self._connection.execute(sa.select(_SITE.id, _SITE.site).order_by(_SITE.site))
        return {row.site: counted[row.id] for row in names if row.id in counted}

    def count_waiting(self, now: datetime) -> tuple[int, datetime | None]:
        """Counts the entries that are due, up to 100,000, and returns when the oldest of them became due."""
        due = sa.select(_ENTRY.due_at).where(*_LEASABLE, _ENTRY.due_at <= to_micros(now)).order_by(_ENTRY.due_at).limit(MAX_COUNTED)
        found = due.subquery()
        count, oldest = self._connection.execute(sa.select(sa.func.count(), sa.func.min(found.c.due_at))).one()
        return int(count), from_micros(oldest)


class SqlCrawlSites:
    """Implements ``ports.CrawlSites``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find_many(self, sites: Sequence[str]) -> dict[str, CrawlSite]:
        """Finds sites by name."""
        found = {}
        for batch in batches([digest_of_url(name) for name in sites]):
            for row in self._connection.execute(sa.select(crawl_sites).where(_SITE.site_digest.in_(batch))).mappings():
                found[row["site"]] = _site_from_row(row)
        return found

    def save_many(self, sites: Sequence[CrawlSite]) -> None:
        """Stores sites."""
        if sites:
            statement = upsert(self._connection, crawl_sites, ["site_digest"], keep=("id", "site", "lease_owner", "lease_expires_at"))
            self._connection.execute(statement, [_row_of_site(site) | _ANY_ENTRIES for site in sites])

    def lease_with_sitemaps(self, owner: str, now: datetime, until: datetime, limit: int) -> list[CrawlSite]:
        """Leases sites with sitemaps left to be read."""
        is_free = sa.or_(_SITE.lease_owner.in_(["", owner]), _SITE.lease_expires_at <= to_micros(now))
        query = sa.select(crawl_sites).where(_SITE.sitemaps != _NO_SITEMAPS, is_free).order_by(_SITE.id).limit(limit)
        rows = self._connection.execute(query).mappings().all()
        for batch in batches([row["id"] for row in rows]):
            lease = {"lease_owner": owner, "lease_expires_at": to_micros(until)}
            self._connection.execute(sa.update(crawl_sites).where(_SITE.id.in_(batch)).values(lease))
        return [_site_from_row(row) for row in rows]

    def lease(self, owner: str, site: str, now: datetime, until: datetime) -> CrawlSite | None:
        """Leases a site, None if another owner has it."""
        new = insert(self._connection, crawl_sites).on_conflict_do_nothing(index_elements=["site_digest"])
        self._connection.execute(new, [_row_of_site(CrawlSite(site=site)) | _NO_ENTRIES])
        is_free = sa.or_(_SITE.lease_owner.in_(["", owner]), _SITE.lease_expires_at <= to_micros(now))
        taken = sa.update(crawl_sites).where(_SITE.site_digest == digest_of_url(site), is_free)
        count = self._connection.execute(taken.values(lease_owner=owner, lease_expires_at=to_micros(until))).rowcount
        return self.find_many([site])[site] if count else None

    def list_failing(self, limit: int) -> list[CrawlSite]:
        """Lists the sites whose servers fail, the longest failing first."""
        query = sa.select(crawl_sites).where(_SITE.failures > 0).order_by(_SITE.failed_at, _SITE.site).limit(limit)
        return [_site_from_row(row) for row in self._connection.execute(query).mappings()]

    def list_leased(self, owner: str) -> list[CrawlSite]:
        """Lists the sites that a process has leased."""
        query = sa.select(crawl_sites).where(_SITE.lease_owner == owner).order_by(_SITE.site)
        return [_site_from_row(row) for row in self._connection.execute(query).mappings()]


# --- mentions -------------------------------------------------------------------------------------------------------------------


def _merge(first: CrawlMention, second: CrawlMention) -> CrawlMention:
    """Returns one mention that asks for what two mentions of a URL ask for."""
    stronger = second if second.is_request or not first.is_request else first
    hints = [hint for hint in (first.changed_at, second.changed_at) if hint is not None]
    return CrawlMention(
        url=first.url,
        referrer=first.referrer or second.referrer,
        is_request=stronger.is_request,
        is_immediate=first.is_immediate or second.is_immediate,
        is_once=stronger.is_once,
        pagerank=second.pagerank if second.pagerank is not None else first.pagerank,
        depth=min(first.depth, second.depth),
        changed_at=max(hints, default=None),
    )


def _row_of_new(mention: CrawlMention, site_id: int, now: datetime) -> dict[str, Any]:
    entry = CrawlEntry(
        url=mention.url,
        site="",
        urgency=CrawlUrgency.IMMEDIATE if mention.is_immediate else CrawlUrgency.NEW,
        pagerank=mention.pagerank,
        depth=mention.depth,
        is_once=mention.is_once,
        referrer=mention.referrer,
        added_at=now,
        due_at=now,
    )
    return _row_of_entry(entry) | {"site_id": site_id}


def _mentioned(row: Mapping[str, Any], mention: CrawlMention, now: datetime) -> dict[str, Any] | None:
    """Returns the row of a known URL after a mention, None if the mention changes nothing."""
    changed = dict(row)
    changed["depth"] = min(row["depth"], mention.depth)
    changed["referrer"] = row["referrer"] or _plain_referrer(mention.referrer)
    if mention.is_request:
        if mention.pagerank is not None:
            changed["pagerank"] = mention.pagerank
        # Feeds Protocol Developer's Guide: a URL to be crawled once is crawled again only by crawl-immediately.
        changed["is_once"] = mention.is_once
        is_done = mention.is_once and row["crawled_at"] is not None and not mention.is_immediate
        if not is_done:
            is_renewed = bool(row["lease_owner"])
            urgency = CrawlUrgency.IMMEDIATE if mention.is_immediate else CrawlUrgency.NEW
            # an entry that is due already is not put behind others that became due later
            waits_already = row["due_at"] is not None and row["due_at"] <= to_micros(now) and (not is_renewed or row["is_renewed"])
            changed["urgency"] = min(row["urgency"], int(urgency)) if waits_already else int(urgency)
            changed["due_at"] = row["due_at"] if waits_already else to_micros(now)
            changed["is_renewed"] = is_renewed
            changed["interval_seconds"] = 0
    elif _is_changed_since(row, mention, now) and not row["lease_owner"]:
        changed["due_at"] = min(row["due_at"], to_micros(now))
    changed["priority"] = _priority(changed["urgency"], changed["pagerank"])
    return None if changed == dict(row) else changed


def _is_changed_since(row: Mapping[str, Any], mention: CrawlMention, now: datetime) -> bool:
    """Returns whether a mention says that a URL which is crawled again by its schedule has changed since it was crawled."""
    if mention.changed_at is None or row["crawled_at"] is None or row["due_at"] is None:
        return False
    # a time in the future would be news for ever
    return bool(row["crawled_at"] < to_micros(mention.changed_at) <= to_micros(now))


def _priority(urgency: int, pagerank: int | None) -> int:
    """Returns the order of an entry among those of its urgency: a higher pagerank comes first."""
    return 0 if urgency == CrawlUrgency.SCHEDULED else -(DEFAULT_RANK if pagerank is None else pagerank)


# --- rows -----------------------------------------------------------------------------------------------------------------------

_SAME: Final = ("depth", "is_once", "interval_seconds", "failures", "pagerank")
"""The columns of an entry that hold its values as they are."""
_TIMES: Final = ("due_at", "changed_at", "crawled_at", "failed_at")
_SAVED: Final = (
    *_SAME,
    *_TIMES,
    *(
        "urgency",
        "priority",
        "referrer",
        "state",
        "etag",
        "modified",
        "checksum",
        "history",
        "duplicate_of",
        "original_digest",
        "lease_owner",
        "lease_expires_at",
        "is_renewed",
    ),
)


def _split(url: str) -> tuple[str, str]:
    return url[:START_CHARACTERS], url[START_CHARACTERS:]


def _plain_referrer(url: str) -> str:
    return plain(url)[:2_000]


def _row_of_entry(entry: CrawlEntry) -> dict[str, Any]:
    """Returns the columns of an entry without a lease."""
    start, rest = _split(entry.url)
    return {
        **{name: getattr(entry, name) for name in _SAME},
        **{name: to_micros(getattr(entry, name)) for name in (*_TIMES, "added_at")},
        "url_digest": digest_of_url(entry.url),
        "url_start": start,
        "url_rest": rest,
        "urgency": int(entry.urgency),
        "priority": _priority(entry.urgency, entry.pagerank),
        "referrer": _plain_referrer(entry.referrer),
        "state": int(entry.state),
        "etag": _validator(entry.etag),
        "modified": _validator(entry.modified),
        "checksum": entry.checksum or None,
        "history": dumps([_record_to_list(record) for record in entry.history[-HISTORY:]]),
        "duplicate_of": plain(entry.duplicate_of),
        "original_digest": digest_of_url(entry.duplicate_of) if entry.duplicate_of else None,
        "lease_owner": "",
        "lease_expires_at": None,
        "is_renewed": False,
    }


def _validator(text: str) -> str:
    """Returns a validator as it is, or none: a part of one would be another."""
    return text if len(text) <= MAX_VALIDATOR_CHARACTERS and plain(text) == text else ""


def _entry_from_row(row: sa.RowMapping | Mapping[str, Any]) -> CrawlEntry:
    times = (*_TIMES, "added_at", "lease_expires_at")
    return CrawlEntry(
        **{name: row[name] for name in (*_SAME, "site", "referrer", "etag", "modified", "duplicate_of", "lease_owner")},
        **{name: from_micros(row[name]) for name in times},
        url=row["url_start"] + row["url_rest"],
        urgency=CrawlUrgency(row["urgency"]),
        state=CrawlState(row["state"]),
        checksum=bytes(row["checksum"] or b""),
        history=tuple(_record_from_list(stored) for stored in loads(row["history"])) if row["history"] != _NO_HISTORY else (),
    )


def _record_to_list(record: FetchRecord) -> list[object]:
    stored = [
        to_micros(record.at),
        int(record.state),
        record.http_status,
        record.size_bytes,
        round(record.seconds, 3),
        plain(record.reason),
    ]
    return [*stored, plain(record.redirected_to)] if record.redirected_to else stored


def _record_from_list(stored: list[Any]) -> FetchRecord:
    at, state, http_status, size_bytes, seconds, reason, *redirected_to = stored
    return FetchRecord(
        at=from_micros(at),
        state=CrawlState(state),
        http_status=http_status,
        size_bytes=size_bytes,
        seconds=seconds,
        reason=reason,
        redirected_to=redirected_to[0] if redirected_to else "",
    )


def _row_of_site(site: CrawlSite) -> dict[str, Any]:
    return {
        "site": site.site,
        "site_digest": digest_of_url(site.site),
        "free_at": to_micros(site.free_at) or 0,
        "retry_at": to_micros(site.retry_at) or 0,
        "failures": site.failures,
        "failed_at": to_micros(site.failed_at),
        "reason": plain(site.reason),
        "robots": site.robots,
        "robots_state": int(site.robots_state),
        "robots_at": to_micros(site.robots_at),
        "sitemaps": dumps([plain(url) for url in site.sitemaps]),
        "lease_owner": "",
        "lease_expires_at": None,
    }


def _site_from_row(row: sa.RowMapping) -> CrawlSite:
    return CrawlSite(
        site=row["site"],
        free_at=from_micros(row["free_at"] or None),
        retry_at=from_micros(row["retry_at"] or None),
        failures=row["failures"],
        failed_at=from_micros(row["failed_at"]),
        reason=row["reason"],
        robots=bytes(row["robots"]),
        robots_state=CrawlState(row["robots_state"]),
        robots_at=from_micros(row["robots_at"]),
        sitemaps=tuple(loads(row["sitemaps"])),
    )
