"""Puts the house together: the only place that names concrete adapters.

``open_house`` gives the services that a role, a command or a test works with.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from feedmill import __version__, metrics
from feedmill.adapters.auditlog import FolderAuditLog
from feedmill.adapters.authorize.http import HttpCaller
from feedmill.adapters.bell import SocketBell
from feedmill.adapters.blobs.packed import PackedBlobs
from feedmill.adapters.clicklog import FolderClickLog
from feedmill.adapters.clustering import find_clusters
from feedmill.adapters.extract.pool import ExtractorPool
from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.identity.argon2 import Argon2Hasher
from feedmill.adapters.index.entrybuilder import ProcessEntryBuilder
from feedmill.adapters.index.schema import SCHEMA_VERSION
from feedmill.adapters.index.tantivy import TantivyIndex, can_serve
from feedmill.adapters.index.writer import TantivyWriter
from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.spool import FolderSpool
from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.admission import build_rules, digest_of_rules
from feedmill.model.extraction import ExtractionLimits
from feedmill.model.feed import Feed
from feedmill.model.latebinding import AuthorizationRule, Mechanism
from feedmill.model.policyacl import Early
from feedmill.model.ranking import Ranking
from feedmill.services.access.accesschanges import AccessChanges
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.directory import AccessDirectory
from feedmill.services.access.explaining import Explaining
from feedmill.services.access.policykeeping import adopt_of_settings
from feedmill.services.auditing import Auditing
from feedmill.services.feeds.feeder import Feeder, FeederLane
from feedmill.services.feeds.feeding import Admission, SliceLimits
from feedmill.services.feeds.feedrun import Tools
from feedmill.services.feeds.intake import Intake
from feedmill.services.feeds.reading import FeedReader, GroupsReader, Opener
from feedmill.services.feeds.readprogress import ReadProgress
from feedmill.services.feeds.recordwatch import Caution
from feedmill.services.indexing.extracting import Extracting
from feedmill.services.indexing.indexer import IndexFolders, Indexing, IndexTools
from feedmill.services.isolation.attempts import Attempts
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.services.latebinding.asking import Asking
from feedmill.services.latebinding.binding import LateBinding
from feedmill.services.latebinding.connectorasking import ConnectorAsking
from feedmill.services.latebinding.denyasking import DenyAsking
from feedmill.services.latebinding.headasking import HeadAsking
from feedmill.services.latebinding.restingnote import RestingNote
from feedmill.services.latebinding.samlasking import SamlAsking
from feedmill.services.queues import QueueWatch
from feedmill.services.searching.clustering import FindClusters
from feedmill.services.searching.searcher import Searcher
from feedmill.services.servingdesk import ServingDesk
from feedmill.services.signin.accounts import AccountKeeping, TokenKeeping
from feedmill.services.signin.handovers import Handovers
from feedmill.services.signin.passwordcheck import CheckTools, PasswordCheck
from feedmill.services.signin.provedpasswords import ProvedPasswords
from feedmill.services.signin.pushcheck import PushCheck
from feedmill.services.signin.sessions import SessionKeeping, SessionLimits
from feedmill.services.signin.signing import Signing
from feedmill.services.signin.throttle import Bounds, Throttle
from feedmill.services.signin.tokencheck import TokenCheck
from feedmill.services.sweeps.admissionsweep import AdmissionSweep
from feedmill.services.sweeps.policyaclsweep import PolicyAclSweep
from feedmill.services.upkeep import Upkeep, UpkeepLimits
from feedmill.settings import Settings
from feedmill.settings.authorization import early_order, limits_of, rules_of
from feedmill.settings.policyacls import policies_of
from feedmill.settings.serving import merge_kept, serving_of
from feedmill.signinproviders import make_directories

QUICK_WORKERS = 2
QUICK_SECONDS = 0.5
RESERVE_BYTES = 64_000_000
"""Feeds are refused where less is free."""
CONTENT_RESERVE_BYTES = RESERVE_BYTES // 2
"""Contents of feeds that were taken wait where less is free: the store and the index work on."""


def utc_now() -> datetime:
    """Gives the time now."""
    return datetime.now(UTC)


def open_store(data: Path, settings: Settings) -> SqlStore:
    """Opens the store that the settings name."""
    return open_postgres(settings.store.url) if settings.store.url else open_sqlite(data / "store.sqlite")


def open_auditing(data: Path, settings: Settings) -> Auditing:
    """Opens the audit log of a data folder."""
    days = settings.audit.days
    return Auditing(FolderAuditLog(data / "audit", timedelta(days=days) if days else None), utc_now)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What is shared by everything that works on one data folder in one process."""

    data: Path
    settings: Settings
    store: SqlStore
    blobs: PackedBlobs
    files: FolderFeedFiles
    bell: SocketBell
    spool: FolderSpool

    def in_flight(self, role: str) -> MappedInFlight:
        """Opens the note of the item that a role works on."""
        return MappedInFlight(self.data / "inflight", role)

    def failure_recorder(self) -> FailureRecorder:
        """Makes what records failures of documents."""
        return FailureRecorder(utc_now, __version__, metrics.count_failure)

    def intake(self) -> Intake:
        """Makes what takes feeds in."""
        return Intake(store=self.store, files=self.files, bell=self.bell, clock=utc_now)

    def searcher(self) -> Searcher:
        """Makes what answers searches."""
        ranking = Ranking(**self.settings.ranking.model_dump())
        return Searcher(
            self.store,
            lambda folder: TantivyIndex(self.data / "index" / folder, ranking),
            self.blobs,
            desk=self.desk(),
            directory=AccessDirectory(self.store, order=self.early_order),
            late=self._late_binding() if self.settings.authorization else None,
        )

    @property
    def early_order(self) -> tuple[Early, ...]:
        """The mechanisms that decide without asking anybody, in order."""
        return early_order(self.settings.mechanisms)

    def _late_binding(self) -> LateBinding:
        caller = HttpCaller()
        make: dict[Mechanism, Callable[[AuthorizationRule], Asking]] = {
            Mechanism.SAML: lambda rule: SamlAsking(rule, caller, utc_now),
            Mechanism.CONNECTOR: lambda rule: ConnectorAsking(rule, caller),
            Mechanism.HEAD: lambda rule: HeadAsking(rule, caller, time.monotonic),
            Mechanism.DENY: DenyAsking,
        }
        rules = rules_of(self.settings.authorization, self.settings.mechanisms)
        askings = [make[rule.mechanism](rule) for rule in rules]
        limits = limits_of(self.settings.late_binding, self.settings.mechanisms)
        return LateBinding(askings, time.monotonic, limits, counts=metrics.LateMetrics(), tell=self.resting_note())

    def resting_note(self) -> RestingNote:
        """Makes what notes which servers are left alone."""
        return RestingNote(self.store, utc_now)

    def desk(self) -> ServingDesk:
        """Makes what knows the settings of serving that hold now."""
        return ServingDesk(lambda kept: serving_of(merge_kept(self.settings, kept)))

    def clicks(self) -> FolderClickLog:
        """Makes what keeps clicks."""
        return FolderClickLog(self.data / "clicks", self.settings.search.click_days)

    @property
    def find_clusters(self) -> FindClusters:
        """Finds groups of results that are alike."""
        return find_clusters

    def queue_watch(self, started_at: Callable[[], datetime | None]) -> QueueWatch:
        """Makes what finds queues that do not move; ``started_at`` says since when something could have moved."""
        return QueueWatch(store=self.store, clock=utc_now, stuck_seconds=self.settings.limits.stuck_seconds, started_at=started_at)

    def admission(self) -> Admission:
        """Gives what the settings say of every document."""
        return Admission(rules=build_rules(*self._admission_values()), max_documents=self.settings.limits.max_documents)

    def admission_digest(self) -> str:
        """Gives a digest that changes with what the settings say of documents."""
        return digest_of_rules(*self._admission_values(), self.settings.limits.max_documents)

    def _admission_values(self) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[str, bool]], list[str]]:
        urls, access = self.settings.urls, self.settings.crawl.access
        secure = [source.name for source in self.settings.datasources if source.secure]
        return urls.follow, urls.do_not_follow, [(rule.pattern, rule.make_public) for rule in access], secure

    def reader(self, feed: Feed) -> FeedReader:
        """Opens a reader on a feed's bytes: on its repaired copy where it needed one."""
        return FeedReader(
            opener=self._opener(feed),
            kind=feed.kind,
            files=self.files,
            require_fqdn=self.settings.gate.require_fqdn,
            max_inflated_bytes=self.settings.gate.max_feed_bytes,
            max_inflation=self.settings.gate.max_inflation,
            spool=self.spool.open,
        )

    def groups_reader(self, feed: Feed) -> GroupsReader:
        """Opens a reader on a groups feed's bytes, as above."""
        return GroupsReader(opener=self._opener(feed), files=self.files)

    def _opener(self, feed: Feed) -> Opener:
        progress = ReadProgress(self.store, feed.id)
        return lambda: progress.watch(lambda: self.files.open(feed.repaired_file or feed.file))

    def feeder(self, lane: FeederLane) -> Feeder:
        """Makes a feeder of one lane."""
        admission = self.admission()
        tools = Tools(
            store=self.store,
            blobs=self.blobs,
            clock=utc_now,
            admission=lambda: admission,
            reader=self.reader,
            groups_reader=self.groups_reader,
            limits=SliceLimits(),
            caution=self._caution(lane.owner),
            on_failed=metrics.count_failure,
        )
        return Feeder(lane, tools, self.bell, on_applied=_count_records)

    def _caution(self, role: str) -> Caution:
        notes = self.in_flight(role)
        return Caution(attempts=Attempts(self.store, notes, utc_now), notes=notes)

    def extracting(self) -> Extracting:
        """Makes the extractor's service with its worker processes."""
        settings = self.settings.extraction
        limits = ExtractionLimits(
            max_document_bytes=self.settings.limits.max_document_bytes, seconds=settings.seconds, memory_bytes=settings.memory_bytes
        )
        pool = ExtractorPool(
            limits, bulk_workers=settings.workers or os.cpu_count() or 2, quick_workers=QUICK_WORKERS, quick_seconds=QUICK_SECONDS
        )
        return Extracting(
            self.store,
            self.blobs,
            pool,
            self.bell,
            utc_now,
            on_extracted=metrics.count_extraction,
            in_flight=self.in_flight("extractor"),
            recorder=self.failure_recorder(),
        )

    def indexing(self) -> Indexing:
        """Makes the indexer."""
        root = self.data / "index"
        folders = IndexFolders(
            list=lambda: os.listdir(root) if root.exists() else [],
            open=lambda name: TantivyWriter(root / name),
            read=lambda name: TantivyIndex(root / name),
            remove=lambda name: shutil.rmtree(root / name, ignore_errors=True),
            can_serve=lambda name: can_serve(root / name),
        )
        return Indexing(
            IndexTools(
                store=self.store,
                blobs=self.blobs,
                bell=self.bell,
                clock=utc_now,
                desk=self.desk(),
                in_flight=self.in_flight("indexer"),
                builder=ProcessEntryBuilder(root / "apart", (sys.executable, "-m", "feedmill.cli.entrybuilding")),
                recorder=self.failure_recorder(),
            ),
            folders,
            schema=str(SCHEMA_VERSION),
            on_committed=metrics.count_commit,
        )

    def admission_sweep(self) -> AdmissionSweep:
        """Makes the sweep that holds every document against changed settings."""
        return AdmissionSweep(self.store, self.admission, self.admission_digest, self.bell, utc_now)

    def adopt_policies(self) -> None:
        """Puts the policy ACLs of file and API in force."""
        adopt_of_settings(self.store, lambda unit: policies_of(merge_kept(self.settings, unit.kept_settings.list()).policy_acls))

    def policy_acl_sweep(self) -> PolicyAclSweep:
        """Makes the sweep that puts documents into the classes of their policy ACLs."""
        return PolicyAclSweep(self.store, lambda: self.admission().rules, self.bell, utc_now)

    def upkeep(self) -> Upkeep:
        """Makes the service that forgets what is no longer needed."""
        limits = UpkeepLimits(history=timedelta(days=self.settings.history.days))
        return Upkeep(store=self.store, files=self.files, blobs=self.blobs, garbage=self.blobs, clock=utc_now, limits=limits)

    def access_changes(self) -> AccessChanges:
        """Makes what lists what changed for somebody."""
        return AccessChanges(self.store, utc_now, timedelta(days=self.settings.history.days), order=self.early_order)

    def access_review(self) -> AccessReview:
        """Makes what lists what stands out."""
        return AccessReview(self.store, self.early_order)

    def explaining(self) -> Explaining:
        """Makes what decides who may see what, and who could."""
        history, confirms = timedelta(days=self.settings.history.days), self.settings.mechanisms.confirm_permits
        return Explaining(self.store, utc_now, history, self.early_order, confirms=confirms)

    def auditing(self) -> Auditing:
        """Opens the audit log."""
        return open_auditing(self.data, self.settings)

    def signing(self) -> Signing:
        """Makes the services of signing in."""
        settings, hasher, auditing = self.settings.signin, Argon2Hasher(), self.auditing()
        bounds = Bounds(by_both=settings.max_failures, window_seconds=settings.failure_minutes * 60.0)
        tools = CheckTools(
            store=self.store,
            hasher=hasher,
            throttle=Throttle(bounds, time.monotonic),
            clock=utc_now,
            record=auditing.record,
            directories=make_directories(settings),
        )
        check = PasswordCheck(tools)
        limits = SessionLimits(idle=timedelta(minutes=settings.idle_minutes), whole=timedelta(minutes=settings.session_minutes))
        return Signing(
            check=check,
            proved=ProvedPasswords(check, self.store, time.monotonic),
            sessions=SessionKeeping(self.store, utc_now, limits),
            token_check=TokenCheck(self.store, utc_now),
            accounts=AccountKeeping(self.store, hasher, utc_now),
            tokens=TokenKeeping(self.store, utc_now),
            auditing=auditing,
            handovers=Handovers(self.store, utc_now),
            clock=utc_now,
        )

    def push_check(self, admin_token: str) -> PushCheck:
        """Makes the check of the feed port's tokens."""
        return PushCheck(self.store, utc_now, admin_token)

    def close(self) -> None:
        """Closes files and connections."""
        self.blobs.close()
        self.store.close()


def _count_records(feed: Feed) -> None:
    metrics.count_records(included=feed.included, errors=feed.errors)


@contextmanager
def open_house(data: Path, settings: Settings, role: str = "command") -> Iterator[House]:
    """Opens a data folder whose store is migrated."""
    house = House(
        data=data,
        settings=settings,
        store=open_store(data, settings),
        blobs=PackedBlobs(data / "blobs", role=role, reserve_bytes=CONTENT_RESERVE_BYTES),
        files=FolderFeedFiles(data / "feeds", reserve_bytes=RESERVE_BYTES),
        bell=SocketBell(data, role),
        spool=FolderSpool(data / "spool", reserve_bytes=CONTENT_RESERVE_BYTES),
    )
    try:
        yield house
    finally:
        house.close()
