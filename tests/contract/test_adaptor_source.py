"""Command line adaptors as pull sources: what is retrieved, what becomes of it, and what a failing command costs; on every database."""

import os
import select
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.access import Access, InheritanceType, Scope
from feedmill.model.document import AuthMethod, Document
from feedmill.model.pulling import RunMode, RunRequest, RunState
from feedmill.services.pulling import puller as puller_module
from feedmill.services.pulling.pageplan import RETRIEVED_AT_ONCE
from feedmill.wire.commandstream.schema import ListedDocument, NamedPrincipal, RetrievedAcl
from tests.contract.adaptorharness import BASE, AdaptorHarness
from tests.contract.pullharness import NAME, counts_of
from tests.waiting import wait_until


@pytest.fixture
def harness(store_of_service: SqlStore, tmp_path: Path) -> AdaptorHarness:
    harness = AdaptorHarness(store=store_of_service, folder=tmp_path)
    harness.prepare()
    return harness


def listed(*names: str, last_modified: int | None = 1) -> list[ListedDocument]:
    return [ListedDocument(name, last_modified=last_modified) for name in names]


def document_of(harness: AdaptorHarness, name: str) -> Document:
    return harness.live()[BASE + name]


def milliseconds(harness: AdaptorHarness) -> int:
    return int(harness.now.timestamp() * 1_000)


# --- what is retrieved ------------------------------------------------------------------------------------------------------------


def test_listed_document_is_retrieved_again_when_its_last_modified_differs(harness: AdaptorHarness) -> None:
    harness.list_documents(*listed("a", "b", "c"))
    for name in "abc":
        harness.put_document(name, name.encode())
    run = harness.run()
    assert (run.state, counts_of(run)) == (RunState.COMPLETED, (3, 0, 0, 0, 0)), run.log
    first = milliseconds(harness)
    assert harness.take_calls() == ["a 0", "b 0", "c 0"]
    assert harness.texts() == {"a": "a", "b": "b", "c": "c"}

    harness.put_document("b", b"new")
    harness.put_document("d", b"d")
    harness.list_documents(*listed("a"), *listed("b", last_modified=2), *listed("d"))
    run = harness.run()
    assert (run.mode, counts_of(run)) == (RunMode.FULL, (1, 1, 1, 1, 0))
    assert harness.take_calls() == [f"b {first}", "d 0"]
    assert harness.texts() == {"a": "a", "b": "new", "d": "d"}


def test_document_without_last_modified_is_compared_by_what_the_retriever_prints(harness: AdaptorHarness) -> None:
    harness.list_documents(*listed("a", "b", last_modified=None))
    harness.put_document("a")
    harness.put_document("b")
    assert counts_of(harness.run()) == (2, 0, 0, 0, 0)
    first = milliseconds(harness)
    assert counts_of(harness.run()) == (0, 0, 0, 2, 0)
    harness.take_calls()
    harness.put_document("a", metadata=(("author", "ann"),))
    harness.put_document("b", None, up_to_date=True)
    assert counts_of(harness.run(is_dry=True)) == (0, 1, 0, 1, 0)
    assert document_of(harness, "a").metadata == ()
    assert counts_of(harness.run()) == (0, 1, 0, 1, 0)
    assert document_of(harness, "a").metadata == (("author", "ann"),)
    assert all(int(call.split()[1]) >= first for call in harness.take_calls())


def test_document_listed_with_crawl_once_is_retrieved_once(harness: AdaptorHarness) -> None:
    harness.put_document("a")
    for number in (1, 2):
        harness.list_documents(ListedDocument("a", last_modified=number, crawl_once=True))
        harness.run()
    assert harness.take_calls() == ["a 0"]
    assert document_of(harness, "a").attributes.crawl_once


def test_document_that_is_deleted_or_not_found_is_deleted(harness: AdaptorHarness) -> None:
    for name in "abc":
        harness.put_document(name)
    harness.list_documents(*listed("a", "b", "c"))
    harness.run()
    harness.put_document("b", None, not_found=True)
    harness.list_documents(ListedDocument("a", delete=True), *listed("b", "c", last_modified=2))
    run = harness.run()
    assert counts_of(run) == (0, 1, 2, 0, 0)
    assert harness.texts() == {"c": "text"}
    assert counts_of(harness.run()) == (0, 0, 0, 1, 0)


def test_id_that_is_listed_twice_counts_once(harness: AdaptorHarness) -> None:
    harness.put_document("a")
    harness.list_documents(*listed("a", "a"))
    assert counts_of(harness.run()) == (1, 0, 0, 0, 0)
    harness.list_documents(*listed("a", "a", last_modified=None))
    assert counts_of(harness.run()) == (0, 1, 0, 0, 0)


def test_id_that_is_listed_twice_and_cannot_be_retrieved_is_requested_once(harness: AdaptorHarness) -> None:
    (harness.folder / "docs" / "a.fails").write_text("locked")
    harness.put_document("b", None, not_found=True)
    harness.put_document("c")
    harness.list_documents(*listed(*"abcabcab"))
    assert counts_of(harness.run()) == (1, 0, 0, 0, 1)
    assert harness.take_calls() == ["a 0", "b 0", "c 0"]
    # what is deleted between two of its places is there again
    harness.list_documents(*listed("c"), ListedDocument("c", delete=True), *listed("c"))
    harness.run()
    assert harness.texts() == {"c": "text"}


def test_incremental_run_calls_the_incremental_command_with_the_time_of_the_last_run(harness: AdaptorHarness) -> None:
    harness.keys |= {"commandline.incremental.cmd": "./changes", "commandline.incremental.arg1": "x y"}
    harness.script("changes", 'echo "$FEEDMILL_SINCE $1" > since\nexec cat listing\n')
    harness.list_documents(*listed("a", "b"))
    harness.put_document("a")
    harness.put_document("b")
    assert harness.run().mode is RunMode.FULL
    began = milliseconds(harness)
    harness.pass_time(hours=1)
    harness.put_document("b", b"new")
    harness.list_documents(*listed("b", last_modified=2))
    run = harness.run()
    assert (run.mode, counts_of(run)) == (RunMode.INCREMENTAL, (0, 1, 0, 0, 0)), run.log
    since, argument = (harness.folder / "since").read_text().split(maxsplit=1)
    assert argument.strip() == "x y"
    assert began - timedelta(seconds=10) / timedelta(milliseconds=1) <= int(since) <= began
    assert harness.texts() == {"a": "text", "b": "new"}


# --- what becomes of a document ---------------------------------------------------------------------------------------------------


def test_retrieved_document_has_everything_that_the_retriever_says(harness: AdaptorHarness) -> None:
    acl = RetrievedAcl(
        permit_users=(NamedPrincipal("Default", "ann"),),
        deny_groups=(NamedPrincipal("local", "guests"),),
        inherit_from="folder/x y",
        inherit_fragment="shared",
        inheritance_type=InheritanceType.PARENT_OVERRIDES,
        case_sensitive=False,
    )
    harness.put_document(
        "a",
        b"<b>bold</b>",
        mime_type="text/html",
        display_url="http://wiki.example.com/a",
        last_modified=86_400,
        lock=True,
        no_archive=True,
        metadata=(("color", "red"), ("color", "blue")),
        anchors=(("http://wiki.example.com/b", "b"), ("http://wiki.example.com/c", None)),
        params=(("X-Robots-Tag", "nofollow"),),
        acl=acl,
    )
    harness.list_documents(ListedDocument("a", last_modified=1, result_link="http://old.example.com/"))
    assert counts_of(harness.run()) == (1, 0, 0, 0, 0)
    document = document_of(harness, "a")
    attributes = document.attributes
    assert (attributes.display_url, attributes.mimetype, attributes.lock) == ("http://wiki.example.com/a", "text/html", True)
    assert attributes.last_modified is not None
    assert attributes.last_modified.isoformat() == "1970-01-02T00:00:00+00:00"
    assert attributes.links == ("http://wiki.example.com/b", "http://wiki.example.com/c")
    assert attributes.link_texts == ("b", "")
    assert attributes.robots == ("noarchive", "nofollow")
    assert document.metadata == (("color", "red"), ("color", "blue"))
    assert document.secure
    with harness.store.reading() as unit:
        stored = unit.access.acls.find_many([document.url])[document.url].acl
    assert stored.inherit_from == f"{BASE}folder/x%20y?shared"
    assert stored.inheritance_type is InheritanceType.PARENT_OVERRIDES
    found = {(entry.access, entry.principal.scope, entry.principal.namespace, entry.principal.name) for entry in stored.entries}
    assert found == {(Access.PERMIT, Scope.USER, "Default", "ann"), (Access.DENY, Scope.GROUP, "local", "guests")}
    assert not any(entry.principal.case_sensitive for entry in stored.entries)


def test_secure_document_without_acl_is_left_to_the_authorizer(harness: AdaptorHarness) -> None:
    harness.put_document("a", secure=True)
    harness.put_document("b")
    harness.list_documents(*listed("a", "b"))
    harness.run()
    assert document_of(harness, "a").secure
    assert document_of(harness, "a").attributes.authmethod is AuthMethod.HTTPSSO
    assert not document_of(harness, "b").secure
    harness.put_document("a")
    harness.list_documents(*listed("a", "b", last_modified=2))
    harness.run()
    assert not document_of(harness, "a").secure


def test_all_documents_are_public_if_the_configuration_says_so(harness: AdaptorHarness) -> None:
    harness.keys["adaptor.markAllDocsAsPublic"] = "true"
    harness.put_document("a", secure=True, acl=RetrievedAcl())
    harness.list_documents(*listed("a"))
    harness.run()
    assert not document_of(harness, "a").secure


def test_transform_changes_metadata_parameters_and_decides(harness: AdaptorHarness) -> None:
    pipeline = "metadata.transform.pipeline"
    factory = "com.google.enterprise.adaptor.prebuilt.CommandLineTransform.create"
    harness.keys |= {
        pipeline: "colors, types",
        f"{pipeline}.colors.factoryMethod": factory,
        f"{pipeline}.colors.cmd": "./colors",
        f"{pipeline}.colors.cmdAcceptsParameters": "false",
        f"{pipeline}.types.factoryMethod": factory,
        f"{pipeline}.types.cmd": "./types",
        f"{pipeline}.types.arg1": "text/x-a",
    }
    harness.script("colors", "test $# = 1 && printf 'color\\0red\\0lonely\\0' > \"$1\"\n")
    decide = "if tr '\\0' ' ' < $3 | grep -q 'DocId b'; then printf 'Transmission-Decision\\0do-not-index\\0' > $3; exit; fi\n"
    harness.script("types", decide + 'printf \'Content-Type\\0%s\\0\' "$1" >> "$3"\n')
    harness.put_document("a", metadata=(("color", "blue"),), mime_type="text/plain")
    harness.put_document("b")
    harness.list_documents(*listed("a", "b"))
    run = harness.run()
    assert counts_of(run) == (1, 0, 0, 0, 0), run.log
    document = document_of(harness, "a")
    assert (document.metadata, document.attributes.mimetype) == ((("color", "red"),), "text/x-a")
    harness.script("colors", "echo oh no >&2; exit 1\n")
    harness.list_documents(*listed("a", last_modified=2))
    run = harness.run()
    assert (run.counts.errors, run.log) == (1, (f"{BASE}a: the transform colors ended with status 1: oh no",))


# --- failures ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "tail", "reason"),
    [
        ("cat listing; echo no disk >&2; exit 4\n", b"id=d\0", "the lister ended with status 4: no disk"),
        ("exec cat listing\n", b"id=d\0last-modified=x\0", "the output of the lister cannot be read at byte "),
        ("exec cat listing\n", b"id=d\0repository-unavailable=down\0", "Error: repository unavailable. down"),
        ("cat listing; exec sleep 1000\n", b"id=d\0", "the lister did not end within 2 s"),
        ("cat listing; kill -9 $$\n", b"id=d\0", "the lister was ended by signal 9"),
    ],
)
def test_lister_that_fails_in_its_middle_deletes_nothing(harness: AdaptorHarness, script: str, tail: bytes, reason: str) -> None:
    for name in "abc":
        harness.put_document(name)
    harness.list_documents(*listed("a", "b"))
    harness.run()
    harness.keys["limits.lister_seconds"] = "2" if "sleep" in script else "60"
    harness.script("lister", script)
    harness.list_documents(*listed("c"), tail=tail)
    run = harness.run()
    assert (run.state, counts_of(run)) == (RunState.FAILED, (1, 0, 0, 0, 1))
    assert reason in run.reason
    assert harness.texts().keys() == {"a", "b", "c"}
    harness.script("lister", "exec cat listing\n")
    harness.list_documents(*listed("b", "c"))
    assert counts_of(harness.run()) == (0, 0, 1, 2, 0)


def test_lister_that_floods_is_ended(harness: AdaptorHarness) -> None:
    harness.keys["limits.output_mb"] = "1"
    harness.script("lister", "exec cat /dev/zero\n")
    run = harness.run()
    assert run.state is RunState.FAILED
    assert "BadStream" not in run.reason
    same = "same" * 50
    harness.script("lister", f"printf 'GSA Adaptor Data Version 1 [\\n]\\n'; exec yes id={same}\n")
    harness.put_document(same)
    assert "the lister printed more than 1000000 bytes, see limits.output_mb" in harness.run().reason


def test_lister_that_cannot_be_started_fails_the_run_with_its_name(harness: AdaptorHarness) -> None:
    harness.keys["commandline.lister.cmd"] = "./missing"
    assert harness.run().reason == f"the lister cannot be started: './missing' in {harness.folder}: No such file or directory"


def test_retriever_that_fails_costs_its_document(harness: AdaptorHarness) -> None:
    for name in "abcdfg":
        harness.put_document(name)
    harness.list_documents(*listed(*"abcdfg"))
    harness.run()
    (harness.folder / "docs" / "b.fails").write_text("locked\nby ann")
    (harness.folder / "docs" / "c").write_text("rubbish")
    harness.put_document("d", None)
    (harness.folder / "docs" / "f").unlink()
    harness.put_document("g", b"new")
    harness.list_documents(*listed(*"abcdfg", last_modified=2))
    run = harness.run()
    assert counts_of(run) == (0, 2, 0, 0, 4)
    log = "\n".join(run.log)
    for text in (
        f"{BASE}b: the retriever ended with status 3: locked by ann",
        f"{BASE}c: the output of the retriever cannot be read at byte 0, command 0: Adaptor data must begin",
        f"{BASE}d: the retriever prints no content, up-to-date or not-found",
        f"{BASE}f: the retriever ended with status 1: cat: ",
    ):
        assert text in log
    assert harness.texts() == {name: "new" if name == "g" else "text" for name in "abcdfg"}
    harness.take_calls()
    for name in "bcdf":
        (harness.folder / "docs" / f"{name}.fails").unlink(missing_ok=True)
        harness.put_document(name)
    assert counts_of(harness.run()) == (0, 4, 0, 2, 0)
    # what failed is not called up to date
    assert harness.take_calls() == [f"{name} 0" for name in "bcdf"]


def test_content_that_is_too_large_is_kept_up_to_the_limit(harness: AdaptorHarness) -> None:
    harness.max_content_bytes = 1_000
    harness.put_document("a", b"x" * 2_000, metadata=(("name", "value"),))
    harness.put_document("b", b"x" * 1_000)
    harness.list_documents(*listed("a", "b"))
    assert counts_of(harness.run()) == (2, 0, 0, 0, 0)
    assert {name: len(text) for name, text in harness.texts().items()} == {"a": 1_001, "b": 1_000}
    assert document_of(harness, "a").metadata == (("name", "value"),)
    assert counts_of(harness.run()) == (0, 0, 0, 2, 0)
    # what differs beyond the limit is noticed too
    harness.put_document("a", b"x" * 1_999 + b"y", metadata=(("name", "value"),))
    harness.list_documents(*listed("a", "b", last_modified=None))
    assert counts_of(harness.run()) == (0, 2, 0, 0, 0)
    assert counts_of(harness.run()) == (0, 0, 0, 2, 0)


def test_retriever_that_hangs_is_ended_and_others_go_on(harness: AdaptorHarness) -> None:
    harness.keys |= {"limits.retriever_seconds": "3"}
    harness.script("retriever", 'if [ "$1" = b ]; then sleep 1000; fi\nexec cat "docs/$1"\n')
    for name in "abc":
        harness.put_document(name)
    harness.list_documents(*listed("a", "b", "c"))
    run = harness.run()
    assert counts_of(run) == (2, 0, 0, 0, 1)
    assert run.log == (f"{BASE}b: the retriever did not end within 3 s",)


def test_id_that_is_no_url_is_an_error_where_ids_are_urls(harness: AdaptorHarness) -> None:
    harness.keys["docId.isUrl"] = "true"
    harness.script("retriever", "printf 'GSA Adaptor Data Version 1 [\\0]\\0id=%s\\0content\\0text' \"$1\"\n")
    long = "http://a.test/" + "x" * 9_000
    harness.list_documents(*listed("http://a.test/1", "no url", long))
    run = harness.run()
    assert counts_of(run) == (1, 0, 0, 0, 2)
    assert harness.live().keys() == {"http://a.test/1"}
    assert run.log == (
        "no url: the url needs a scheme and a host, such as http://host.example.com/",
        f"{long[:500]}: the url is longer than 8000 characters",
    )


# --- interruptions ----------------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process."""


def test_commands_end_with_all_their_processes_when_the_puller_stops(harness: AdaptorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puller_module, "STOP_SECONDS", 0.0)
    # each process holds the pipe open for writing
    os.mkfifo(harness.folder / "pipe")
    harness.script("lister", "exec 9> pipe\nprintf x >&9\nsleep 1000 &\nsleep 1000\n")
    reader, events = os.open(harness.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK), select.poll()
    events.register(reader, select.POLLIN)

    def has(event: int) -> bool:
        return any(happened & event for _, happened in events.poll(0))

    run = harness.requests.request_run(NAME, RunRequest())
    threads: list[threading.Thread] = []

    def start(work: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=work))
        threads[-1].start()

    harness.puller(start=start).work(lambda: has(select.POLLIN))
    wait_until(lambda: has(select.POLLHUP), "the end of the processes of the lister")
    threads[0].join()
    os.close(reader)
    assert harness.requests.get_run(run.id).state is RunState.REQUESTED


def test_run_that_is_killed_goes_on_without_the_lister_and_without_what_was_retrieved(
    harness: AdaptorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"doc{number:02}" for number in range(RETRIEVED_AT_ONCE + 10)]
    for name in names:
        harness.put_document(name)
    harness.list_documents(*listed(*names, last_modified=None))
    (harness.folder / "die").touch()
    marker = names[RETRIEVED_AT_ONCE + 5]
    source = harness.open_source()
    retrieve = source.read_document

    def read_or_die(identifier: str, *given: object) -> object:
        if identifier == marker and (harness.folder / "die").exists():
            raise Killed
        return retrieve(identifier, *given)  # type: ignore[arg-type]

    def open_dying() -> object:
        source.read_document = read_or_die  # type: ignore[method-assign,assignment]
        return source

    with monkeypatch.context() as patched:
        patched.setattr(AdaptorHarness, "open_source", lambda _: open_dying())
        with pytest.raises(Killed):
            harness.run_full()
    applied = set(harness.texts())
    assert len(applied) == RETRIEVED_AT_ONCE
    harness.take_calls()
    harness.script("lister", "exit 9\n")
    harness.puller("one").turn()
    run = harness.runs()[-1]
    assert (run.state, counts_of(run)) == (RunState.COMPLETED, (len(names), 0, 0, 0, 0)), run
    assert {call.split()[0] for call in harness.take_calls()} == set(names) - applied
