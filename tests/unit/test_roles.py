"""The table of roles is the only place that names them, and it is cheap to import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import feedmill
from feedmill.model.topic import Topic
from feedmill.runtime import roles
from feedmill.runtime.roleprocess import count_processes
from feedmill.runtime.server.sockets import listener_addresses
from feedmill.settings import Settings
from feedmill.settings.semantic import SemanticSettings
from tests import appliance

SOURCE = Path(feedmill.__file__).parent
NAMES = {process.name for process in (*roles.ROLES, roles.STYLESHEETS, roles.INDEX_ENTRIES)}

OTHER_MEANINGS = {
    "gate": "a section of the settings, and a listener",
    "admin": "a section of the settings, and a listener",
    "web": "a kind of data source, and the scoring of a feed",
    "stylesheets": "a folder",
    "crawler": "the data source of the URLs that no source named",
}
"""Names that also mean something that is no role. Where they do, the test cannot see it; a wrong use fails mypy or finds no process."""


def list_strings(path: Path) -> Iterator[str]:
    """Yields the string constants of a module, those of f-strings too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.removeprefix("feedmill: ")


def test_names_of_roles_are_strings_in_the_table_alone() -> None:
    wanted = NAMES - OTHER_MEANINGS.keys()
    paths = [path for path in SOURCE.rglob("*.py") if any(name in path.read_text() for name in wanted)]
    found = {(str(path.relative_to(SOURCE)), text) for path in paths for text in list_strings(path) if text in wanted}
    assert {text for _, text in found} == wanted
    assert {path for path, _ in found} == {str(Path(roles.__file__).relative_to(SOURCE))}


def test_nothing_outside_the_table_names_a_process_title() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") for name in NAMES if f'"feedmill: {name}"' in path.read_text()}
    assert found == set()


@pytest.mark.parametrize("role", roles.ROLES, ids=lambda role: role.name)
def test_entry_point_of_a_role_is_a_function(role: roles.ProcessRole) -> None:
    assert callable(role.load())


def test_names_of_roles_differ() -> None:
    assert len(NAMES) == len(roles.ROLES) + 2


def test_every_listener_belongs_to_one_role() -> None:
    settings = Settings()
    opened = {*listener_addresses(settings), "gate_tls"}
    assert sorted(name for role in roles.ROLES for name in role.listeners) == sorted(opened)


SUBSCRIBERS = {
    Topic.PULLING: ["puller"],
    Topic.CRAWLING: ["crawler"],
    Topic.EMBEDDING: ["embedder"],
    Topic.FEEDS: ["feeder", "feeder-quick"],
    Topic.EXTRACTION: ["extractor"],
    Topic.INDEXING: ["indexer"],
    Topic.REBUILD: ["indexer"],
    Topic.SETTINGS: ["feeder-quick", "indexer"],
}


def test_acceptance_tests_wait_for_every_role() -> None:
    always = [role.name for role in roles.ROLES if count_processes(role, Settings()) > 0]
    assert tuple(always) == appliance.ROLES


def test_role_of_semantic_search_has_a_process_only_with_a_model() -> None:
    off, on = Settings(), Settings(semantic=SemanticSettings(url="http://127.0.0.1:1/v1/embeddings", model="m"))
    assert [count_processes(roles.EMBEDDER, settings) for settings in (off, on)] == [0, 1]


@pytest.mark.parametrize("topic", Topic)
def test_every_topic_wakes_the_roles_that_do_its_work(topic: Topic) -> None:
    assert list(roles.list_subscribers(topic)) == SUBSCRIBERS[topic]


def test_import_of_the_table_imports_only_the_topics() -> None:
    command = "import sys, feedmill.runtime.roles; print(*sorted(name for name in sys.modules if name.startswith('feedmill')))"
    done = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)
    own = ["feedmill.runtime", "feedmill.runtime.connectionboard", "feedmill.runtime.roles"]
    assert done.stdout.split() == ["feedmill", "feedmill.model", "feedmill.model.topic", *own]
