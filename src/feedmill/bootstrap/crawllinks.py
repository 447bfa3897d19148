"""Builds the services that name URLs for the crawler: links, and the requests of administrators."""

import structlog

from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.feeds import build_admission, find_rules_digest
from feedmill.core.crawling.dates import DateLocation, DateRules
from feedmill.core.crawling.linkrules import LinkRules
from feedmill.model.crawling import FetchedPage
from feedmill.services.crawling.crawler import FollowSitemap
from feedmill.services.crawling.linkfollowing import FollowLimits, LinkFollowing
from feedmill.services.crawling.requesting import CrawlRequests
from feedmill.services.crawling.reviewing import QueueReview
from feedmill.settings import Settings
from feedmill.wire.sitemaps.parse import parse_sitemap

log = structlog.get_logger(__name__)


def build_link_following(context: AppContext) -> LinkFollowing | None:
    """Builds the service that adds links to the crawl queue, None if the settings do not want links crawled."""
    settings = context.settings
    if not (settings.crawl.enabled and settings.crawl.follow_links):
        return None
    rules, crawl = build_link_rules(settings), settings.crawl
    limits = FollowLimits(max_documents=settings.limits.max_documents, max_urls=crawl.max_urls, max_depth=crawl.max_depth)
    return LinkFollowing(context.store, rules, utc_now, limits)


def build_sitemap_following(context: AppContext) -> FollowSitemap | None:
    """Builds the function that adds the pages of sitemaps to the crawl queue, None if the settings do not want links crawled."""
    following = build_link_following(context)
    if following is None:
        return None

    def follow(page: FetchedPage) -> list[str]:
        sitemap = parse_sitemap(page.body)
        added = following.follow_sitemap(page.url, [(entry.url, entry.changed_at) for entry in sitemap.pages])
        log.info("sitemap_read", url=page.url, pages=len(sitemap.pages), added=added, sitemaps=len(sitemap.sitemaps), fault=sitemap.fault)
        return [entry.url for entry in sitemap.sitemaps]

    return follow


def build_link_rules(settings: Settings) -> LinkRules:
    """Builds the rules by which links are crawled."""
    urls, crawl = settings.urls, settings.crawl
    return LinkRules(
        follow=urls.follow,
        do_not_follow=urls.do_not_follow,
        start=urls.start,
        allow_private=crawl.allow_private,
        duplicate_hosts={duplicate: entry.host for entry in crawl.duplicate_hosts for duplicate in entry.duplicates},
        session_parameters=crawl.session_parameters,
        max_url_characters=crawl.max_url_characters,
    )


def build_crawl_requests(context: AppContext) -> CrawlRequests:
    """Builds the requests of administrators to the crawler."""
    rules = build_admission(context.settings).rules
    return CrawlRequests(context.store, lambda: rules, context.notifier, utc_now)


def build_queue_review(context: AppContext) -> QueueReview:
    """Builds the comparison of the crawl queue with the settings."""
    settings = context.settings
    return QueueReview(context.store, build_admission(settings).rules, settings.urls.start, find_rules_digest(settings), utc_now)


def build_date_rules(settings: Settings) -> DateRules:
    """Builds the rules by which the dates of documents are found."""
    return DateRules([(rule.pattern, DateLocation(rule.locate), rule.name) for rule in settings.crawl.dates])
