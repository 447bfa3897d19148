"""What holds for every test run.

With FEEDMILL_NO_SKIPS set, a skipped test fails the run; only tests that want the sample collection, a Keycloak, or namespaces that the
machine does not permit may be skipped then, since no package brings them. ``make test-keycloak`` runs the latter.

Without FEEDMILL_THOROUGH, tests with the mark ``thorough`` are left out, and listed at the end.
"""

import gc
import importlib
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.thorough import IS_THOROUGH, count_cases, count_examples

LONGEST = (
    "test_rendering.py",
    "test_faults_disk.py",
    "test_extractor_pool.py",
    "test_slow_clients.py",
    "test_faults_steps.py",
    "test_crawler.py",
    "test_crawling.py",
    "test_hostile_requests.py",
    "test_faults_hostile.py",
    "test_web_processes.py",
    "test_typing_browser.py",
    "test_semantic_search.py",
    "test_search_page_browser.py",
    "test_search_box_browser.py",
    "test_faults_stop.py",
    "test_adaptor_source.py",
    "test_database_source.py",
    "test_pulling.py",
    "test_site.py",
    "test_store.py",
    "test_directory.py",
    "test_faults_kill.py",
    "test_faults_clients.py",
    "test_migrations.py",
    "test_dataload.py",
    "test_promises_reload.py",
    "test_conformance.py",
    "test_regex_growth.py",
    "test_ldap_hostile.py",
    "test_fetcher.py",
    "test_faults_table.py",
    "test_faults_large.py",
    "test_promises_settings.py",
    "test_pull_sources.py",
    "test_access_changes.py",
    "test_openid_hostile.py",
    "test_sign_in_browser.py",
    "test_branded_page_browser.py",
    "test_cached_copy_browser.py",
    "test_indexing.py",
)
"""The files that take longest, the longest first."""

WORKER_BYTES = 1_500_000_000
"""The memory that a worker of a run may take with its servers and browsers."""

LEFT_OUT = pytest.StashKey[list[str]]()
"""The names of the tests that this run leaves out since it is not thorough."""

SAMPLES = "FEEDMILL_SAMPLES"
KEYCLOAK = "FEEDMILL_KEYCLOAK"
NAMESPACES = "permits no namespaces"

# no test is timed: what a machine does beside it is not its fault; and the same tree tests the same examples everywhere, while
# ``make explore`` looks for new ones
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("explore"), derandomize=True, max_examples=count_examples())
settings.load_profile("same")


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Undoes what a test did to the log of this process: a command run in it would silence what the next test listens for."""
    root = logging.getLogger()
    configuration, handlers, level = structlog.get_config(), root.handlers[:], root.level
    yield
    structlog.configure(**configuration)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def pytest_collection(session: pytest.Session) -> None:
    """Lets each worker import its own share of the files first.

    All workers collect all files in the same order. Without bytecode, as in a new clone, they would all compile each file at the same time.
    """
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if number and session.config.args_source != pytest.Config.ArgsSource.ARGS:
        _import_share(session.config.rootpath, int(number), int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))


def _import_share(root: Path, number: int, workers: int) -> None:
    for path in sorted((root / "tests").rglob("test_*.py"))[number::workers]:
        # collection reports it
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what only a thorough run tries, and puts the longest files first.

    A worker runs a whole file, and would else run one of the longest alone at the end.
    """
    left_out = [item for item in items if not IS_THOROUGH and item.get_closest_marker("thorough")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        config.stash[LEFT_OUT] = [item.nodeid for item in left_out]
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_collectstart() -> None:
    """Searches for no garbage while tests are collected: there is little, and each search passes through all that was collected."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leaves what collection has made out of every later search for garbage: nearly all of it lasts as long as the process."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes over from a worker what it left out; all workers collect the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", []) or node.config.stash.get(LEFT_OUT, [])


def pytest_xdist_auto_num_workers() -> int:
    """Returns how many tests run at once: two for each core that this process may use, since half of a run is waiting for servers.

    A worker takes some 1.3 GB with its servers. Where memory is short, there are fewer.
    """
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)) * 2, memory_bytes // WORKER_BYTES))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _forbidden_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(LEFT_OUT, [])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    left_out = config.stash.get(LEFT_OUT, [])
    if left_out:
        terminalreporter.section("left out; make test-full runs them, and more examples of the property tests")
        for test, cases in count_cases(left_out).items():
            terminalreporter.line(f"{test} ({cases})" if cases > 1 else test)
    skipped = _forbidden_skips(config)
    if skipped:
        terminalreporter.section("skipped, and FEEDMILL_NO_SKIPS is set", red=True)
        for name in skipped:
            terminalreporter.line(name)


def _forbidden_skips(config: pytest.Config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("FEEDMILL_NO_SKIPS") or reporter is None:
        return []
    reports: Iterable[Any] = reporter.stats.get("skipped", ())
    return [report.nodeid for report in reports if not any(name in str(report.longrepr) for name in (SAMPLES, KEYCLOAK, NAMESPACES))]
