"""Builds the crawler."""

import socket

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions
from feedmill.adapters.crawling.rendering.browser import START_SECONDS
from feedmill.adapters.crawling.rendering.fetcher import RenderingFetcher
from feedmill.adapters.crawling.rendering.options import RenderOptions
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.crawlfetching import build_fetch_options
from feedmill.bootstrap.crawllinks import build_link_rules, build_queue_review, build_sitemap_following
from feedmill.bootstrap.feeds import build_admission
from feedmill.core.crawling.hostload import HostLoads, LoadException
from feedmill.core.crawling.robots import find_agent_name
from feedmill.core.crawling.schedule import FrequencyRules
from feedmill.core.urls.patterns import PatternSet
from feedmill.ports import Fetcher
from feedmill.runtime.roles import CRAWLER
from feedmill.services.crawling.applying import ApplyDependencies, PageApplier, read_head
from feedmill.services.crawling.crawler import CrawlDependencies, Crawler
from feedmill.services.crawling.duplicates import DuplicateFinder
from feedmill.services.crawling.heldsites import AT_ONCE
from feedmill.settings.crawling import Crawl
from feedmill.wire.gsaheaders.parse import parse_headers


def build_crawler(context: AppContext) -> Crawler:
    """Builds the crawler of the settings."""
    settings = context.settings
    crawl, admission = settings.crawl, build_admission(settings)
    options = build_fetch_options(settings)
    agent, rules = find_agent_name(crawl.user_agent), build_link_rules(settings)
    owner = f"{socket.gethostname()}:{context.data.absolute()}"
    applier = PageApplier(
        ApplyDependencies(
            store=context.store,
            blobs=context.blobs,
            clock=utc_now,
            admission=lambda: admission,
            notifier=context.notifier,
            frequency=FrequencyRules(frequently=PatternSet(crawl.frequently), seldom=PatternSet(crawl.seldom)),
            read_headers=lambda page: parse_headers(page.headers, page.url, agent),
            duplicates=DuplicateFinder(rules if crawl.merge_duplicates else None),
            read_head=lambda page: read_head(page, agent),
            owner=owner,
            find_redirected=rules.find_redirected,
            max_redirects=crawl.max_redirects,
            in_flight=context.in_flight(CRAWLER.name),
        )
    )
    exceptions = tuple(
        LoadException(host=each.host, start_hour=each.start_hour, end_hour=each.end_hour, load=each.load) for each in crawl.host_loads
    )
    loads = HostLoads(default=crawl.host_load, exceptions=exceptions)
    return Crawler(
        CrawlDependencies(
            store=context.store,
            clock=utc_now,
            notifier=context.notifier,
            admission=lambda: admission,
            open_fetcher=lambda: _open_fetcher(crawl, options, loads),
            applier=applier,
            owner=owner,
            agent=agent,
            loads=loads,
            find_hour=lambda moment: moment.astimezone().hour,
            force=PatternSet(crawl.force),
            max_bytes=settings.limits.max_document_bytes,
            max_url_characters=crawl.max_url_characters,
            fetch_seconds=crawl.fetch_seconds,
            wait_seconds=_find_wait(crawl),
            find_redirected=rules.find_redirected,
            step=build_queue_review(context).step,
            follow_sitemap=build_sitemap_following(context),
        )
    )


def _open_fetcher(crawl: Crawl, options: FetchOptions, loads: HostLoads) -> Fetcher:
    """Opens the fetcher; where pages are to be rendered, it has browsers."""
    render = crawl.render
    if not render.patterns:
        return HttpFetcher(options)
    return RenderingFetcher(
        RenderOptions(
            patterns=render.patterns,
            fetching=options,
            agent=find_agent_name(crawl.user_agent),
            loads=loads,
            find_hour=lambda: utc_now().astimezone().hour,
            browser=render.browser,
            processes=render.processes,
            seconds=render.seconds,
            max_requests=render.max_requests,
            max_bytes=render.max_bytes,
        )
    )


def _find_wait(crawl: Crawl) -> float:
    """Returns how long a page may wait for a browser, if all other requests of the crawler are pages that take all their time."""
    return AT_ONCE * (crawl.render.seconds + START_SECONDS) / crawl.render.processes if crawl.render.patterns else 0.0
