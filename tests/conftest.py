"""What holds for every test run.

With FEEDMILL_NO_SKIPS set, a skipped test fails the run; only tests that want the sample collection or a Keycloak may be skipped then,
since no package brings them. ``make test-keycloak`` runs the latter.
"""

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

from tests.appliance import Appliance, running

LONGEST = frozenset(
    {
        "test_extractor_pool.py",
        "test_faults_disk.py",
        "test_faults_hostile.py",
        "test_faults_kill.py",
        "test_faults_steps.py",
        "test_search_page_browser.py",
        "test_sign_in_browser.py",
    }
)
"""Files whose tests take a minute or more together."""

SAMPLES = "FEEDMILL_SAMPLES"
KEYCLOAK = "FEEDMILL_KEYCLOAK"

# no test is timed: what a machine does beside it is not its fault; and the same tree tests the same examples everywhere, while
# ``make explore`` looks for new ones
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("explore"), derandomize=True)
settings.load_profile("same")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """Returns a server with default settings, shared by all tests that keep to data sources and hosts of their own."""
    with running(tmp_path_factory.mktemp("server") / "data") as appliance:
        yield appliance


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first: a worker runs a whole file, and would else run one of them alone at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_xdist_auto_num_workers() -> int:
    """Returns how many tests run at once: 1.5 times the cores that this process may use, since a third of a run is waiting for servers."""
    return len(os.sched_getaffinity(0)) * 3 // 2


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _forbidden_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
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
    return [report.nodeid for report in reports if not any(name in str(report.longrepr) for name in (SAMPLES, KEYCLOAK))]
