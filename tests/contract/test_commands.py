"""Commands that need no server, called in this process."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.cli.commandtable import COMMANDS
from feedmill.cli.documents import LISTED_AT_ONCE
from feedmill.cli.main import build_app
from feedmill.model.errors import BadSettings, Conflict, Corrupt, FeedmillError, NotFound
from tests import programs
from tests.builders.documents import make_document, save
from tests.builders.feedxml import make_feed, make_record
from tests.migratedstore import open_migrated, prepare_migrated

SOUP = make_record("http://intranet.example.com/soup", "leek soup", mimetype="text/plain")
SLOW_PACKAGES = {"alembic", "sqlalchemy", "tantivy"}
SLOW_FOR_HELP = {
    *SLOW_PACKAGES,
    *("aiohttp", "argon2", "cryptography", "fastapi", "h11", "lxml", "networkx", "numpy", "prometheus_client", "rich", "starlette"),
    *("structlog", "uvicorn", "feedmill.adapters", "feedmill.bootstrap", "feedmill.http", "feedmill.ports", "feedmill.services"),
    *("feedmill.runtime", "feedmill.settings", "feedmill.telemetry"),
}
NOT_TO_READ = {
    *("tantivy", "starlette", "h11", "cryptography", "prometheus_client", "spnego", "lxml", "feedmill_client"),
    *("feedmill.bootstrap.pullsources", "feedmill.services.pulling.pullrun"),
}
"""What no command needs that only looks into the store."""
FAULTY = make_record("", "nowhere", mimetype="text/plain")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(build_app(), [str(word) for word in words])


def write(folder: Path, feed: bytes) -> Path:
    path = folder / "feed.xml"
    path.write_bytes(feed)
    return path


def test_validate_of_a_good_feed_exits_0(tmp_path: Path) -> None:
    done = run("validate", write(tmp_path, make_feed(SOUP)))
    assert done.exit_code == 0
    assert "completed: 1 record, 1 included, 0 in error" in done.stdout


def test_validate_of_a_faulty_feed_exits_1_and_names_the_line(tmp_path: Path) -> None:
    done = run("validate", write(tmp_path, make_feed(SOUP, "\n\n\n", FAULTY)), "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["state"], report["errors"], report["log"][0]["line"]) == (1, "completed with errors", 1, 4)


def test_validate_of_a_truncated_feed_exits_1(tmp_path: Path) -> None:
    done = run("validate", write(tmp_path, b"<gsafeed><header>"), "--json")
    assert (done.exit_code, json.loads(done.stdout)["state"]) == (1, "failed in error")


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["push", "none.xml", "--datasource", "a", "--feedtype", "full"],
        ["push", "FILE", "--datasource", "a b", "--feedtype", "full"],
        ["push", "FILE", "--datasource", "a", "--feedtype", "all"],
        ["push", "FILE", "--feedtype", "full"],
        ["make-feed", "none", "--datasource", "a"],
        ["sources", "--data", "x", "delete", "a"],
        ["search"],
        ["search", "x", "--num", "0"],
    ],
)
def test_wrong_use_exits_2(tmp_path: Path, words: list[str]) -> None:
    file = write(tmp_path, make_feed(SOUP))
    assert run(*(file if word == "FILE" else word for word in words)).exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        *(["search", "x"], ["status"], ["documents"], ["reindex"], ["why", "http://a/"], ["backup", "x.tar"], ["recrawl", "a/"], ["feeds"]),
        *(["sources"], ["sources", "delete", "x"], ["sources", "run", "x"], ["sources", "pause", "x"], ["sources", "resume", "x"]),
        *(["queue"], ["queue", "pause"], ["queue", "resume"], ["users", "remove", "ann"], ["tokens", "remove", "3"]),
    ],
    ids=" ".join,
)
def test_commands_on_a_missing_folder_fail_and_make_nothing(tmp_path: Path, words: list[str]) -> None:
    data = tmp_path / "above" / "none"
    done = run(*words, "--data", data)
    assert isinstance(done.exception, NotFound)
    if words[1:2] != ["run"]:
        assert str(done.exception).startswith(f"there is no data folder '{data}'; 'feedmill serve --data {data}' makes one")
    assert not data.parent.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["import", "keymatches", "FILE"],
        ["policies", "import", "FILE"],
        ["users", "add", "a/b/c\\d", "--password-stdin"],
        ["tokens", "add", "x", "--scope", "push", "--days", "-1"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_commands_that_fail_leave_no_new_folder_and_nothing_in_an_empty_one(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    file = write(tmp_path, b"\xff\xff,")
    for data in (tmp_path / "above" / "none", tmp_path / "empty"):
        done = run(*(file if word == "FILE" else word for word in words), "--data", data)
        assert done.exit_code == 1, done.output
        assert isinstance(done.exception, FeedmillError)
    assert not (tmp_path / "above").exists()
    assert list((tmp_path / "empty").iterdir()) == []


def test_feed_that_fails_stays_in_a_new_folder_with_its_receipt(tmp_path: Path) -> None:
    feed = write(tmp_path, b"<gsafeed>")
    pushed = programs.run("push", feed, "--datasource", "a", "--feedtype", "full", "--data", tmp_path / "d", "--json")
    assert (pushed.returncode, json.loads(pushed.stdout)["state"]) == (1, "failed in error")
    assert run("feeds", "show", "1", "--data", tmp_path / "d").exit_code == 0


def test_search_without_the_index_says_so_until_it_is_built_again(tmp_path: Path) -> None:
    feed, data = write(tmp_path, make_feed(SOUP)), tmp_path / "d"
    assert programs.run("push", feed, "--datasource", "a", "--feedtype", "full", "--data", data).returncode == 0
    shutil.rmtree(data / "index")
    lost = programs.run("search", "leek", "--data", data, "--json")
    assert lost.returncode == 1
    assert f"the index of '{data}' is lost; 'feedmill reindex' builds it again" in json.loads(lost.stdout)["error"]
    assert programs.run("reindex", "--data", data).returncode == 0
    assert json.loads(programs.run("search", "leek", "--data", data, "--json").stdout)["total"] == 1


@pytest.mark.parametrize(
    "words", [["search", "--json"], ["feeds", "show", "x", "--json"], ["queue", "--group", "none", "--json"]], ids=" ".join
)
def test_wrong_use_is_json_too_if_the_output_is(words: list[str]) -> None:
    done = programs.run(*words)
    assert done.returncode in (1, 2)
    assert json.loads(done.stdout)["error"]
    assert done.stderr


def test_config_check_prints_every_setting_with_its_origin(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    config.write_text('[gate]\nport = 7\n[store]\nurl = "postgresql://user:s3cr3t@host/x"\n')
    done = run("config", "check", "--config", config, "--json")
    settings = json.loads(done.stdout)["settings"]
    assert settings["gate.port"] == {"value": 7, "origin": f"{config}:2"}
    assert settings["search.port"]["origin"] == "default"
    assert "s3cr3t" not in done.stdout
    config.write_text("[gate]\nprot = 7\n")
    assert isinstance(run("config", "check", "--config", config).exception, BadSettings)


def test_make_feed_writes_what_validate_accepts(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text("<p>a</p>")
    made = run("make-feed", tmp_path / "in", "--datasource", "files", "--output", tmp_path / "files.xml", "--compress", "--json")
    assert json.loads(made.stdout)["files"][0]["records"] == 1
    assert run("validate", tmp_path / "files.xml").exit_code == 0


def test_make_feed_for_some_users_is_a_feed_that_only_they_may_see(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "in" / name).write_text("budget")
    feed, data = tmp_path / "board.xml", tmp_path / "data"
    readers = ("--permit-user", "ann", "--permit-group", "R&D", "--namespace", "staff")
    assert run("make-feed", tmp_path / "in", "--datasource", "board", "--output", feed, *readers, "--compress").exit_code == 0
    assert programs.run("push", feed, "--datasource", "board", "--feedtype", "full", "--data", data).returncode == 0
    shown = json.loads(run("documents", "show", "http://files.example.localhost/board/b.txt", "--json", "--data", data).stdout)
    assert [(each["scope"], each["access"], each["namespace"], each["name"]) for each in shown["acl"]["principals"]] == [
        ("user", "permit", "staff", "ann"),
        ("group", "permit", "staff", "R&D"),
    ]
    found = {user: programs.run("search", "budget", *user, "--json", "--data", data) for user in ((), ("--user", "bob"), ("--user", "ann"))}
    assert {user: json.loads(done.stdout)["total"] for user, done in found.items()} == {(): 0, ("--user", "bob"): 0, ("--user", "ann"): 0}
    as_ann = programs.run("search", "budget", "--user", "ann", "--namespace", "staff", "--json", "--data", data)
    assert json.loads(as_ann.stdout)["total"] == 2


def test_make_feed_refuses_an_empty_name_of_a_user(tmp_path: Path) -> None:
    done = run("make-feed", tmp_path, "--datasource", "d", "--output", tmp_path / "d.xml", "--permit-user", " ")
    assert done.exit_code == 2
    assert not (tmp_path / "d.xml").exists()


def test_documents_are_listed_to_any_number_by_the_piece(tmp_path: Path) -> None:
    open_migrated(tmp_path / "store.sqlite").close()
    store = open_sqlite(tmp_path / "store.sqlite")
    save(
        store,
        *(make_document(f"http://intranet.example.com/{number}", datasource="ab"[number % 2]) for number in range(LISTED_AT_ONCE * 2 + 5)),
    )
    store.close()
    listed = json.loads(run("documents", "--limit", "5000", "--json", "--data", tmp_path).stdout)
    assert [one["url"].rpartition("/")[2] for one in listed] == [str(number) for number in range(2_005)]
    some = json.loads(run("documents", "--datasource", "b", "--limit", "1001", "--json", "--data", tmp_path).stdout)
    assert (len(some), some[-1]["id"]) == (1_001, listed[2_001]["id"])
    assert json.loads(run("documents", "--after", str(listed[-1]["id"]), "--json", "--data", tmp_path).stdout) == []
    lines = run("documents", "--after", str(listed[-3]["id"]), "--data", tmp_path).stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["url", *(f"http://intranet.example.com/{number}" for number in (2_003, 2_004))]


def test_version_is_printed() -> None:
    assert run("--version").stdout.startswith("feedmill ")


def test_policies_are_taken_from_a_file_listed_and_written_out(tmp_path: Path) -> None:
    file, data = tmp_path / "policies.txt", tmp_path / "data"
    file.write_text("a.example.com/ user:ann right=none group:staff\n/ group:all\n")
    done = run("policies", "import", file, "--data", data)
    assert (done.exit_code, done.stdout) == (0, "2 new, 0 changed, 0 given up, 2 in all\n")
    listed = json.loads(run("policies", "list", "--url", "http://a.example.com/x", "--data", data, "--json").stdout)
    assert [one["name"] for one in listed["policies"]] == ["policy-000001", "policy-000002"]
    assert run("policies", "export", "--data", data).stdout == "a.example.com/ user:ann right=none group:staff\n/ group:all\n"
    assert "deny user ann, permit group staff" in run("policies", "list", "--data", data).stdout
    file.write_text("/\n")
    assert run("policies", "import", file, "--data", data).exit_code != 0
    arguments = ("access", "explain", "http://a.example.com/x", "--user", "bob", "--group", "staff", "--data", data)
    report = json.loads(run(*arguments, "--json").stdout)
    assert (report["decision"], report["combined"], report["public"]) == ("INDETERMINATE", "PERMIT", False)
    assert (report["policy"]["name"], report["policy"]["decision"], report["policy"]["entry"]["name"]) == (
        "policy-000001",
        "PERMIT",
        "staff",
    )
    assert "policy policy-000001 (a.example.com/): PERMIT, permitted by" in run(*arguments).stdout
    named = json.loads(run("access", "who", "http://a.example.com/x", "--data", data, "--json").stdout)["principals"]
    assert {one["name"]: one["decision"] for one in named} == {"ann": "DENY", "staff": "PERMIT"}
    unresolved = json.loads(run("access", "list", "unresolved", "--data", data, "--json").stdout)
    assert {one["name"] for one in unresolved} == {"staff", "all"}


def test_explanation_says_what_holds_for_every_user(tmp_path: Path) -> None:
    open_migrated(tmp_path / "store.sqlite").close()
    store = open_sqlite(tmp_path / "store.sqlite")
    save(store, make_document("http://a.example.com/open"), make_document("http://a.example.com/closed", secure=True))
    store.close()
    said = {
        name: run("access", "explain", f"http://a.example.com/{name}", "--user", "ann", "--data", tmp_path).stdout.splitlines()
        for name in ("open", "closed", "none")
    }
    assert {lines.pop(0) for lines in said.values()} == {"INDETERMINATE: the URL has no ACL"}
    nobody = "neither an acl nor a policy says who may see it: no user finds it, unless another server permits it"
    assert said == {
        "open": ["  the document is public: every user may see it"],
        "closed": [f"  the document is not public, and {nobody}"],
        "none": ["  searches have no document of this URL"],
    }


SHOW_ALL_HELP = """
import sys
from typer.testing import CliRunner
from feedmill.cli.commandtable import COMMANDS
from feedmill.cli.main import build_app, load_command
for name in COMMANDS:
    for within in ((), *((each,) for each in getattr(load_command(name), "commands", {}))):
        done = CliRunner().invoke(build_app(), [name, *within, "--help"])
        assert done.exit_code == 0 and done.stdout.startswith("Usage:"), (name, within, done.output)
print(*sys.modules)
"""


def test_help_of_any_command_loads_nothing_that_only_its_work_needs() -> None:
    assert find_loaded(SHOW_ALL_HELP, SLOW_FOR_HELP) == set()


def test_commands_that_send_requests_or_read_a_file_load_no_store_and_no_engine(tmp_path: Path) -> None:
    feed = write(tmp_path, make_feed(SOUP))
    code = f"""
import sys
from typer.testing import CliRunner
from feedmill.cli.main import build_app
def run(*words): return CliRunner().invoke(build_app(), words).exit_code
assert run("validate", {str(feed)!r}) == 0
assert run("config", "check") == 0
assert run("push", {str(feed)!r}, "--datasource", "a", "--feedtype", "full", "--url", "http://127.0.0.1:1") == 1
assert run("search", "soup", "--url", "http://127.0.0.1:1") == 1
print(*sys.modules)
"""
    assert find_loaded(code, {*SLOW_PACKAGES, "lxml", "numpy"}) == set()


def test_commands_that_read_the_store_load_no_engine_and_no_server(tmp_path: Path) -> None:
    prepare_migrated(tmp_path / "d")
    code = f"""
import sys
from typer.testing import CliRunner
from feedmill.cli.main import build_app
for words in (["status"], ["feeds"], ["sources"], ["documents"], ["users"], ["tokens"], ["audit", "list"]):
    assert CliRunner().invoke(build_app(), [*words, "--data", {str(tmp_path / "d")!r}]).exit_code == 0, words
print(*sys.modules)
"""
    assert find_loaded(code, NOT_TO_READ) == set()


def test_roles_share_the_memory_of_what_the_parent_of_a_server_has_loaded() -> None:
    code = "import sys; from feedmill.runtime.roles import ROLES; [role.load() for role in ROLES]; print(*sys.modules)"
    assert find_loaded(code, {"sqlalchemy", "tantivy"}) == {"sqlalchemy", "tantivy"}


def find_loaded(code: str, packages: set[str]) -> set[str]:
    """Returns those of the packages that a process has loaded after running code that prints the names of all."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return packages.intersection(done.stdout.split())


def test_help_lists_every_command_and_imports_none() -> None:
    code = "import sys; from feedmill.cli.main import main\ntry: main()\nfinally: print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], check=True, capture_output=True, text=True)
    text, _, loaded = done.stdout.partition("LOADED")
    for name, place in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(place.summary)}$", text, re.MULTILINE), name
    modules = {f"feedmill.cli.{place.module}" for place in COMMANDS.values()}
    assert modules.isdisjoint(loaded.split())
    assert {"structlog", "pydantic", "rich.console"}.isdisjoint(loaded.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_names_values_in_plain_words(name: str) -> None:
    done = run(name, "--help")
    assert done.exit_code == 0
    options = done.stdout.partition("Options:")[2].partition("Commands:")[0]
    assert not re.search(r"<\w+( range)?>", options), options


def test_command_that_is_mistyped_is_suggested() -> None:
    done = run("serv")
    assert done.exit_code == 2
    assert "Did you mean 'serve'" in done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_names_arguments_as_manuals_do(name: str) -> None:
    help_text = run(name, "--help").stdout
    assert not re.search(r"[{}]|<\w+>", help_text), help_text


def test_value_that_is_no_choice_is_refused_with_the_choices() -> None:
    said = run("users", "role", "ann", "king").output
    assert "Invalid value for 'ROLE': 'king' is not one of 'searcher', 'viewer'" in said


def test_example_of_the_program_is_no_wrong_use(tmp_path: Path) -> None:
    push = next(line for line in run("--help").stdout.splitlines() if "feedmill push" in line).split()[1:]
    feed = write(tmp_path, make_feed(SOUP))
    done = run(*(feed if word == "feed.xml" else word for word in push), "--url", "http://127.0.0.1:1")
    assert done.exit_code == 1


def test_examples_stand_on_one_line_each() -> None:
    lines = run("make-feed", "--help").stdout.splitlines()
    assert (
        "    feedmill make-feed manuals --datasource manuals --include '*.html' --include '*.pdf' --compress --output manuals.xml" in lines
    )


def test_help_of_a_group_shows_whole_sentences() -> None:
    for name in ("access", "queue", "conformance"):
        assert "..." not in run(name, "--help").stdout.partition("Commands:")[2], name


@pytest.mark.parametrize("words", [["feeds", "show"], ["feeds", "log"], ["feeds", "resend"], ["tokens", "remove"]])
def test_number_beyond_any_id_is_wrong_use(tmp_path: Path, words: list[str]) -> None:
    done = run(*words, "99999999999999999999", "--data", tmp_path)
    assert done.exit_code == 2
    assert "is larger than any number here" in done.output


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", Corrupt, "start the newer release again"),
        ("UPDATE alembic_version SET version_num = '0003'", Conflict, "'feedmill serve' of this release upgrades it"),
        ("DROP TABLE alembic_version", NotFound, "has no schema yet"),
    ],
)
def test_store_of_another_release_is_refused_by_commands_that_read(tmp_path: Path, change: str, kind: type[Exception], text: str) -> None:
    open_migrated(tmp_path / "store.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as database, database:
        database.execute(change)
    for words in (["status"], ["search", "leek"], ["feeds"]):
        done = run(*words, "--data", tmp_path)
        assert isinstance(done.exception, kind), words
        assert text in str(done.exception)


def test_settings_are_not_folded_in_a_pipe() -> None:
    lines = run("config", "show").stdout.splitlines()
    shown = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
    assert shown == list(json.loads(run("config", "show", "--json").stdout))
    assert max(map(len, lines)) < 140


def test_search_that_finds_nothing_says_what_to_look_at(tmp_path: Path) -> None:
    open_migrated(tmp_path / "store.sqlite").close()
    assert "note: there are no documents yet; 'feedmill push' feeds some" in run("search", "leek", "--data", tmp_path).stdout
    store = open_sqlite(tmp_path / "store.sqlite")
    save(store, make_document("http://a.example.com/open"))
    assert "are not" not in run("search", "leek", "--data", tmp_path).stdout
    save(store, make_document("http://a.example.com/closed", secure=True))
    store.close()
    notes = run("search", "leek", "--data", tmp_path).stdout.splitlines()[1:]
    assert notes == [
        "note: this search finds public documents alone, and some are not; --user NAME searches as a user",
        "note: 'feedmill why URL --query QUERY' says why a search does not find a document",
    ]
    notes = run("search", "leek", "--user", "ann", "--data", tmp_path).stdout.splitlines()[1:]
    assert notes == ["note: 'feedmill why URL --user NAME --query QUERY' says why a search does not find a document"]
    assert "hint" not in json.loads(run("search", "leek", "--data", tmp_path, "--json").stdout)


@pytest.mark.parametrize("command", ["list", "export"])
def test_kind_with_which_no_audit_entry_begins_is_wrong_use(tmp_path: Path, command: str) -> None:
    done = run("audit", command, "--kind", "sign-in", "--data", tmp_path)
    assert done.exit_code == 2
    assert "no kind begins with 'sign-in'; kinds are signin.accepted, signin.failed" in done.output


@pytest.mark.parametrize("words", [["--facet", "@nosuch"], ["--select", "nosuch"]])
def test_facet_that_does_not_exist_is_wrong_use(tmp_path: Path, words: list[str]) -> None:
    assert run("search", "leek", *words, "--data", tmp_path).exit_code == 2
