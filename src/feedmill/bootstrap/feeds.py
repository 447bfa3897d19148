"""Builds the services that apply feeds: feeders with their readers, the admission of documents, sweeps and upkeep."""

from collections.abc import Mapping
from datetime import timedelta

from feedmill.bootstrap.context import AppContext, read_local_time, utc_now
from feedmill.core.documents.admission import build_rules, digest_of_rules
from feedmill.core.documents.submission import Submission
from feedmill.model.change import GroupChange
from feedmill.model.feed import Feed, FeedKind, FeedType
from feedmill.ports.feedformats import FeedFormats, FormatOptions, RegisteredFormat
from feedmill.runtime.roles import FEEDER, QUICK_FEEDER
from feedmill.services.feeds.feedeffect import EffectTools, FeedEffect, find_effect
from feedmill.services.feeds.feeder import Feeder, FeederLane
from feedmill.services.feeds.feeding import Admission, SliceLimits
from feedmill.services.feeds.feedrun import FeedDependencies
from feedmill.services.feeds.reading import ChangeT, FeedReader, Opener, find_format
from feedmill.services.feeds.readprogress import ReadProgress
from feedmill.services.feeds.recordwatch import Caution
from feedmill.services.isolation.attempts import Attempts
from feedmill.services.sweeps.admissionsweep import AdmissionSweep
from feedmill.services.sweeps.policyaclsweep import PolicyAclSweep
from feedmill.services.upkeep import Upkeep, UpkeepLimits
from feedmill.settings import Settings
from feedmill.telemetry import metrics
from feedmill.wire.registry import FORMATS


def build_feeder(context: AppContext, lane: FeederLane, formats: FeedFormats = FORMATS) -> Feeder:
    """Builds a feeder of one lane; ``formats`` are those that it can read."""
    admission = build_admission(context.settings)
    tools = FeedDependencies(
        store=context.store,
        blobs=context.blobs,
        clock=utc_now,
        admission=lambda: admission,
        reader=lambda feed: _build_reader(context, feed, formats.documents),
        groups_reader=lambda feed: _build_reader(context, feed, formats.groups),
        limits=SliceLimits(),
        caution=_build_caution(context, lane.owner),
        on_failed=metrics.FAILURES.add,
    )
    return Feeder(lane, tools, context.notifier, on_applied=_count_records)


def build_admission_sweep(context: AppContext) -> AdmissionSweep:
    """Builds the sweep that checks every document against changed settings."""
    settings = context.settings
    return AdmissionSweep(
        context.store,
        lambda: build_admission(settings),
        lambda: find_rules_digest(settings),
        context.notifier,
        utc_now,
        caution=_build_caution(context, FEEDER.name),
    )


def build_policy_acl_sweep(context: AppContext) -> PolicyAclSweep:
    """Builds the sweep that puts documents into the classes of their policy ACLs."""
    caution = _build_caution(context, QUICK_FEEDER.name)
    return PolicyAclSweep(context.store, lambda: build_admission(context.settings).rules, context.notifier, utc_now, caution=caution)


def build_upkeep(context: AppContext) -> Upkeep:
    """Builds the service that removes what is no longer needed."""
    settings = context.settings
    limits = UpkeepLimits(history=timedelta(days=settings.history.days), archive=timedelta(days=settings.archive.days))
    return Upkeep(store=context.store, files=context.files, blobs=context.blobs, garbage=context.blobs, clock=utc_now, limits=limits)


def build_admission(settings: Settings) -> Admission:
    """Builds the rules by which documents are admitted."""
    return Admission(rules=build_rules(*_admission_values(settings)), max_documents=settings.limits.max_documents)


def find_rules_digest(settings: Settings) -> str:
    """Returns a digest that changes whenever the rules of ``build_admission`` may have changed."""
    return digest_of_rules(*_admission_values(settings), settings.limits.max_documents)


def _admission_values(settings: Settings) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[str, bool]], list[str]]:
    urls, access = settings.urls, settings.crawl.access
    secure = [source.name for source in settings.datasources if source.secure]
    return urls.follow, urls.do_not_follow, [(rule.pattern, rule.make_public) for rule in access], secure


def find_effect_of(context: AppContext, opener: Opener, submission: Submission) -> FeedEffect:
    """Returns what a feed of documents would do to the stored documents. Errors: NotFound from the opener."""
    options = _read_options(context, submission.kind, submission.datasource)
    reader = FeedReader(opener=opener, format=find_format(FORMATS.documents, submission.format).open(options))
    tools = EffectTools(store=context.store, blobs=context.blobs, rules=build_admission(context.settings).rules, clock=utc_now)
    return find_effect(reader, submission.kind, submission.datasource, tools)


def build_groups_reader(context: AppContext, feed: Feed) -> FeedReader[GroupChange]:
    """Builds a reader of a groups feed that has been applied. Errors: BadFeed, for a format that is not known."""
    return _build_reader(context, feed, FORMATS.groups, lambda: context.files.open(feed.repaired_file or feed.file))


def _build_reader(
    context: AppContext, feed: Feed, formats: Mapping[str, RegisteredFormat[ChangeT]], opener: Opener | None = None
) -> FeedReader[ChangeT]:
    """Builds a reader for the format in the feed's row; by default reading counts as progress. Errors: BadFeed, for an unknown format."""
    opened = find_format(formats, feed.format).open(_read_options(context, feed.kind, feed.datasource))
    return FeedReader(opener=opener or _opener_of(context, feed), format=opened, files=context.files)


def _read_options(context: AppContext, kind: FeedKind, datasource: str) -> FormatOptions:
    gate = context.settings.gate
    return FormatOptions(
        feedtype=kind.feedtype or FeedType.INCREMENTAL,
        spool=context.spool,
        require_fqdn=gate.require_fqdn,
        max_inflated_bytes=gate.max_feed_bytes,
        max_inflation=gate.max_inflation,
        profile=context.settings.dataload.find_profile(datasource),
        read_local=read_local_time,
    )


def _opener_of(context: AppContext, feed: Feed) -> Opener:
    """Opens a feed's bytes: its repaired copy where it needed one."""
    progress = ReadProgress(context.store, feed.id)
    return lambda: progress.watch(lambda: context.files.open(feed.repaired_file or feed.file))


def _build_caution(context: AppContext, role: str) -> Caution:
    notes = context.in_flight(role)
    return Caution(attempts=Attempts(context.store, notes, utc_now), notes=notes)


def _count_records(feed: Feed) -> None:
    metrics.count_records(included=feed.included, errors=feed.errors)
