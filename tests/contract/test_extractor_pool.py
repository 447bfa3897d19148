"""The extractor's pool with real worker processes."""

import contextlib
import encodings.aliases
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.pool.extractor import ExtractorPool
from feedmill.core.text.textblob import decode_text
from feedmill.model.errors import Busy
from feedmill.model.extraction import Answer, ExtractionLimits, Task
from tests.appliance import is_alive
from tests.officefiles import make_docx, make_epub, make_opendocument, make_pdf, make_png, make_pptx, make_xlsx, make_zip, paragraph
from tests.thorough import count_examples
from tests.waiting import PATIENCE_SECONDS, wait_for

PAGE = b"<title>t</title><p>The quick brown fox jumps over the lazy dog near the river bank."
# some seconds on the fastest machine
SLOW = b"<p><a href=x>y</a></p>" * 1_000_000
# for who waits for no answer
ENDLESS = ExtractionLimits(seconds=1_000.0)
TITLE = "feedmill: extractor"


def page(key: int, data: bytes = PAGE, mimetype: str = "text/html") -> Task:
    return Task(key=key, url=f"http://h/{key}", mimetype=mimetype, data=data)


def slow_file(folder: Path, key: int, data: bytes = SLOW) -> Task:
    """Makes a task of a slow document that a worker reads from the disk, so that it is at it at once."""
    path = folder / "slow.html"
    path.write_bytes(data)
    return Task(key=key, url="http://h/slow", mimetype="text/html", path=str(path))


def collect_all(pool: ExtractorPool, count: int) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    end = time.monotonic() + PATIENCE_SECONDS
    while len(answers) < count and time.monotonic() < end:
        for answer in pool.collect(1.0):
            assert answer.key not in answers
            answers[answer.key] = answer
    assert pool.collect(0.0) == []
    return answers


def list_extractors(parent: int) -> list[int]:
    """Lists the extractor processes that descend from a process, the fork server first."""
    rows = []
    for folder in Path("/proc").glob("[0-9]*"):
        # a process may end while it is looked at
        with contextlib.suppress(OSError):
            if TITLE in (folder / "cmdline").read_text(errors="replace"):
                rows.append((int(folder.name), int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])))
    servers = [pid for pid, ppid in rows if ppid == parent]
    return servers + [pid for pid, ppid in rows if ppid in servers]


@pytest.fixture(scope="module")
def shared() -> Iterator[ExtractorPool]:
    with ExtractorPool(ExtractionLimits(seconds=60.0), 2, quick_seconds=60.0) as pool:
        yield pool


def test_pool_answers_every_task_once(shared: ExtractorPool) -> None:
    for key in range(300):
        shared.submit(page(key), quick=key % 10 == 0)
    answers = collect_all(shared, 300)
    assert len(answers) == 300
    assert {answer.title for answer in answers.values()} == {"t"}
    assert {answer.language for answer in answers.values()} == {"en"}


def test_pool_with_nothing_submitted_returns_at_once(shared: ExtractorPool) -> None:
    started = time.monotonic()
    assert shared.collect(100.0) == []
    assert time.monotonic() - started < 50


def test_pool_capacity_shrinks_with_what_is_submitted(shared: ExtractorPool) -> None:
    before = shared.capacity(quick=True)
    shared.submit(page(1), quick=True)
    assert shared.capacity(quick=True) == before - 1
    collect_all(shared, 1)
    assert shared.capacity(quick=True) == before


def test_pool_reads_a_file_by_its_path(shared: ExtractorPool, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    shared.submit(Task(key=1, url="http://h/1", mimetype="text/html", path=str(path)), quick=False)
    shared.submit(Task(key=2, url="http://h/2", mimetype="text/html", path=str(tmp_path / "gone")), quick=False)
    answers = collect_all(shared, 2)
    assert answers[1].title == "t"
    assert "cannot be opened" in (answers[2].reason or "")


def test_pool_document_larger_than_the_pipe_passes(shared: ExtractorPool) -> None:
    shared.submit(page(1, b"words and more " * 500_000, "text/plain"), quick=False)
    shared.submit(page(2), quick=False)
    answers = collect_all(shared, 2)
    assert len(decode_text(answers[1].body)) == 500_000 * 15 - 1


def test_pool_slow_document_in_the_quick_lane_is_answered_too_slow() -> None:
    with ExtractorPool(ExtractionLimits(), 1, quick_seconds=2.0) as pool:
        pool.submit(page(1, SLOW * 3), quick=True)
        pool.submit(page(2), quick=True)
        answers = collect_all(pool, 2)
    assert (answers[1].too_slow, answers[2].too_slow) == (True, False)
    assert answers[2].title == "t"


def test_pool_lanes_do_not_wait_for_each_other() -> None:
    with ExtractorPool(ENDLESS, 2, quick_seconds=1_000.0) as pool:
        for key in (1, 2, 3):
            pool.submit(page(key, SLOW), quick=False)
        pool.submit(page(4), quick=True)
        answered: list[int] = []
        while 4 not in answered:
            answered += [answer.key for answer in pool.collect(PATIENCE_SECONDS)]
    # all of the other lane takes at least twice as long as the first two of it
    assert 3 not in answered


def test_pool_document_beyond_its_time_is_given_up_alone() -> None:
    with ExtractorPool(ExtractionLimits(seconds=3.0), 1) as pool:
        tasks = [page(key) for key in range(40)]
        tasks[5] = page(5, SLOW * 3)
        for task in tasks:
            pool.submit(task, quick=False)
        answers = collect_all(pool, 40)
    assert answers.pop(5).reason == "extraction took longer than 3 s"
    assert len(answers) == 39
    assert {answer.reason for answer in answers.values()} == {None}


def test_pool_worker_killed_once_costs_no_document() -> None:
    with ExtractorPool(ExtractionLimits(), 2) as pool:
        for key in range(200):
            pool.submit(page(key, PAGE * 200), quick=False)
        first = pool.collect(PATIENCE_SECONDS)
        for worker in list_extractors(os.getpid())[1:]:
            kill(worker)
        answers = collect_all(pool, 200 - len(first))
    assert {answer.reason for answer in answers.values()} == {None}


def test_pool_fork_server_killed_costs_no_document() -> None:
    with ExtractorPool(ExtractionLimits(), 2) as pool:
        for key in range(200):
            pool.submit(page(key, PAGE * 200), quick=False)
        first = pool.collect(PATIENCE_SECONDS)
        for process in list_extractors(os.getpid()):
            kill(process)
        answers = collect_all(pool, 200 - len(first))
    assert len(answers) == 200 - len(first)
    assert {answer.reason for answer in answers.values()} == {None}


def test_pool_that_cannot_start_a_worker_says_so_and_keeps_its_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with ExtractorPool(ExtractionLimits(), 1) as pool:
        pool.submit(page(1), quick=False)
        for _ in range(2):
            with pytest.raises(Busy, match="documents wait"):
                collect_all(pool, 1)
        monkeypatch.delenv("PYTHONHOME")

        assert collect_all(pool, 1)[1].reason is None


@pytest.mark.parametrize(
    ("number", "deaths", "reason"),
    [
        (signal.SIGSEGV, 3, "the extractor crashed over this document"),
        (signal.SIGKILL, 30, "the extractor was killed each time over this document"),
    ],
)
def test_pool_document_whose_worker_always_dies_is_given_up(tmp_path: Path, number: signal.Signals, deaths: int, reason: str) -> None:
    with ExtractorPool(ENDLESS, 1) as pool:
        pool.submit(page(0), quick=False)
        collect_all(pool, 1)
        pool.submit(slow_file(tmp_path, 1), quick=False)
        pool.submit(page(2), quick=False)
        answers: dict[int, Answer] = {}
        struck = 0
        end = time.monotonic() + PATIENCE_SECONDS
        while 1 not in answers and time.monotonic() < end:
            answers |= {answer.key: answer for answer in pool.collect(0.05)}
            for worker in list_extractors(os.getpid())[1:]:
                if is_busy(worker):
                    kill(worker, number)
                    struck += 1
        if 2 not in answers:
            answers |= collect_all(pool, 1)
    assert (answers[1].reason, answers[2].title) == (reason, "t")
    assert struck >= deaths


@pytest.mark.parametrize("victim", ["fork server", "worker"])
def test_pool_extractor_killed_again_and_again_costs_no_document(tmp_path: Path, victim: str) -> None:
    with ExtractorPool(ENDLESS, 1) as pool:
        pool.submit(page(0), quick=False)
        collect_all(pool, 1)
        for key in range(1, 10):
            pool.submit(slow_file(tmp_path, key, SLOW[: key * 2_200_000]), quick=False)
            if all(strike(pool, victim) for _ in range(4)):  # else the machine was through with it before, and gets a longer one
                break
        answers = collect_all(pool, 1)
    assert [answer.reason for answer in answers.values()] == [None]


def strike(pool: ExtractorPool, victim: str) -> bool:
    """Kills the fork server or a worker that reads a document; whether there was one before the document had its answer."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        server, *workers = list_extractors(os.getpid()) or [0]
        for worker in filter(is_busy, workers):
            struck = worker if victim == "worker" else server
            kill(struck)
            wait_for(False, partial(is_alive, struck))
            return True
        if pool.collect(0.02):
            return False
    raise AssertionError("no worker reads the document")


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Kills a process, unless it has just ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def is_busy(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "R"
    except OSError:
        return False


def test_pool_document_that_needs_too_much_memory_has_a_reason() -> None:
    with ExtractorPool(ExtractionLimits(memory_bytes=420_000_000, max_document_bytes=100_000_000), 1) as pool:
        pool.submit(page(1, b"<p>x</p>" * 8_000_000), quick=False)
        pool.submit(page(2), quick=False)
        answers = collect_all(pool, 2)
    assert answers[1].reason is not None
    assert answers[2].title == "t"


def test_pool_workers_end_when_their_server_is_killed() -> None:
    program = """
import time
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.pool.extractor import ExtractorPool
from feedmill.model.errors import Busy
from feedmill.model.extraction import ExtractionLimits, Task
pool = ExtractorPool(ExtractionLimits(), 1)
pool.submit(Task(key=1, url="u", mimetype="text/html", data=b"<p>x"), quick=False)
pool.collect(100.0)
pool.submit(Task(key=2, url="u", mimetype="text/html", data=b"<p><a href=x>y</a></p>" * 1000000), quick=False)
print("up", flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"up\n"
    processes = list_extractors(parent.pid)
    assert len(processes) >= 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for([], lambda: [pid for pid in processes if is_alive(pid)])


def make_hostile() -> dict[str, bytes]:
    """Makes documents that cost a naive reader its time, its memory or its life."""
    row = b'<row><c t="inlineStr"><is><t>cell</t></is></c></row>'
    namespace = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    fonts = b"".join(b"<font color=%d><p>x" % number for number in range(4_000))
    attributes = b" ".join(b"a%d=1" % number for number in range(60_000))
    head = {"[Content_Types].xml": b"<Types/>"}
    return {
        "deep": b"<div>" * 200_000 + b"word",
        "fonts": fonts,
        "attributes": b"<p " + attributes + b">word",
        "zip bomb": make_zip(head | {"word/document.xml": b"0" * 40_000_000}),
        "huge sheet": make_zip(
            head | {"xl/worksheets/sheet1.xml": b"<worksheet %s><sheetData>%s</sheetData></worksheet>" % (namespace, row * 50_000)}
        ),
        "deep docx": make_zip(head | {"word/document.xml": b"<a>" * 50_000 + b"</a>" * 50_000}),
        "laughs": make_zip(head | {"word/document.xml": b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>'}),
        "pdf loop": b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 999999999>>endobj\n"
        b"xref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R/Size 3/Prev 9>>\nstartxref\n120\n%%EOF",
        "brackets": b"<" * 1_000_000,
        "comments": b"<!--" * 300_000,
        "entities": b"&amp" * 500_000,
        "deep json": b"[" * 1_000_000,
        "deep xml": b"<?xml version='1.0'?>" + b"<a>" * 300_000,
        "mail parts": b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + b"--x\r\n\r\ny\r\n" * 50_000,
        "rtf groups": b"{\\rtf1" + b"{" * 200_000,
        "one line": b"a" * 5_000_000,
        "png chunks": b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0tEXt\0\0\0\0" * 100_000,
    }


CLIENT = """
import sys
from feedmill.adapters.extract.pool.extractor import ExtractorPool
from feedmill.model.extraction import ExtractionLimits, Task

with ExtractorPool(ExtractionLimits(seconds=1_000.0), 1, name=sys.argv[1]) as pool:
    pool.submit(Task(key=1, url="http://h/1", mimetype="text/html", data=b"<title>t</title>"), quick=True)
    while not (answers := pool.collect(1.0)):
        pass
    print(answers[0].title, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def client(name: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a process with a pool of its own, which has had an answer."""
    process = subprocess.Popen([sys.executable, "-c", CLIENT, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "t\n"
        yield process
    finally:
        process.communicate()


def test_pool_of_a_successor_takes_the_fork_server_of_a_killed_process_over(tmp_path: Path) -> None:
    with client(str(tmp_path)) as first:
        server, *workers = list_extractors(first.pid)
        first.kill()
    with client(str(tmp_path)) as second:
        assert is_alive(server)
        assert not any(is_alive(worker) for worker in workers)
        assert list_extractors(second.pid) == []
        second.kill()
    with client(str(tmp_path)):
        assert is_alive(server)
    wait_for(False, partial(is_alive, server))


def test_pool_killed_before_its_fork_server_was_ready_has_a_successor(tmp_path: Path) -> None:
    code = CLIENT.replace("    while", "    import os; os.kill(os.getpid(), 9)\n    while")
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    with client(str(tmp_path)) as second:
        assert list_extractors(second.pid) == []


def test_fork_server_serves_no_process_that_another_one_started(tmp_path: Path) -> None:
    with client(str(tmp_path)) as first:
        server = list_extractors(first.pid)[0]
        first.kill()
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CLIENT!r}, sys.argv[1]], stdin=subprocess.DEVNULL, check=True)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    assert is_alive(server)
    with client(str(tmp_path)) as last:
        assert list_extractors(last.pid) == []
    wait_for(False, partial(is_alive, server))


def test_pool_hostile_documents_cost_themselves_alone() -> None:
    hostile = make_hostile()
    with ExtractorPool(ExtractionLimits(seconds=60.0), 2) as pool:
        for key, (name, data) in enumerate(hostile.items()):
            label = {"mail parts": "message/rfc822", "deep xml": "text/xml", "deep json": "application/json"}.get(name, "text/html")
            pool.submit(Task(key=key, url="u", mimetype=label, data=data), quick=False)
            pool.submit(page(key + 1_000), quick=False)
        answers = collect_all(pool, 2 * len(hostile))
    assert {answers[key + 1_000].reason for key in range(len(hostile))} == {None}
    found = {name: answers[key] for key, name in enumerate(hostile)}
    assert decode_text(found["deep"].body) == decode_text(found["attributes"].body) == "word"
    assert "nested too deeply" in (found["fonts"].reason or "")
    assert "unpacks to" in (found["zip bomb"].reason or "")
    assert "damaged" in (found["deep xml"].reason or "")
    assert "entities" in (found["laughs"].reason or "")
    assert decode_text(found["huge sheet"].body).startswith("cell\ncell")
    assert "crashed" not in " ".join(answer.reason or "" for answer in answers.values())


@settings(max_examples=count_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.binary(max_size=200), st.sampled_from(["text/html", "text/plain", "application/pdf", "x", None])), max_size=5))
def test_pool_random_bytes_are_always_answered(shared: ExtractorPool, documents: list[tuple[bytes, str | None]]) -> None:
    for key, (data, label) in enumerate(documents):
        shared.submit(Task(key=key, url="u", mimetype=label, data=data), quick=False)
    assert set(collect_all(shared, len(documents))) == set(range(len(documents)))


def list_documents_of_every_format() -> list[Task]:
    """Lists small documents of every format that is read, and pages in every charset that Python knows."""
    documents: dict[str, bytes] = {
        "a.docx": make_docx(paragraph("word words")),
        "a.xlsx": make_xlsx('<row r="1"><c r="A1"><v>1</v></c></row>'),
        "a.pptx": make_pptx(["<a:p><a:r><a:t>slide words</a:t></a:r></a:p>"]),
        "a.odt": make_opendocument("text", "<text:p>open words</text:p>"),
        "a.pdf": make_pdf(["portable words", "more words"], "Title"),
        "a.png": make_png(3, 4, {"Title": "picture"}),
        "a.epub": make_epub("Book", "book words"),
        "a.rtf": rb"{\rtf1\ansi rich words \par}",
        "a.md": b"# head\n\n|a|b|\n|-|-|\n|1|2|\n",
        "a.xml": b"<?xml version='1.0' encoding='iso-8859-2'?><a>words \xb9</a>",
        "a.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><text>drawn words</text></svg>",
        "a.csv": b"a,b\n1,2\n",
        "a.txt": b"xyzzy plugh frob nitz quux blah zot foo bar baz",
        "a.zip": make_zip({"a": "b"}),
        "a.eml": b"From: =?koi8-r?B?8A==?= <a@h>\r\nSubject: s\r\nDate: today\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html; charset=cp855\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\nPHA+\xaa\r\n--x\r\nContent-Type: text/plain; charset=iso-2022-kr\r\n"
        b"Content-Transfer-Encoding: x-uuencode\r\n\r\nbegin 6 a\r\n#86)C\r\n`\r\nend\r\n--x--\r\n",
    }
    tasks = [Task(key=key, url=f"http://h/{name}", mimetype=None, data=data) for key, (name, data) in enumerate(documents.items())]
    text = "<p>Příliš žluťoučký kůň; съешь ещё этих мягких; 日本語のテキスト; ελληνικά; עברית; nothing more than words"
    for key, codec in enumerate(sorted(set(encodings.aliases.aliases.values())), len(tasks)):
        with contextlib.suppress(LookupError, UnicodeError):
            data = text.encode(codec, "ignore")
            tasks += [Task(key=key * 2, url="http://h/", mimetype="text/html", data=data, charset=codec)]
            tasks += [Task(key=key * 2 + 1, url="http://h/", mimetype="text/html", data=data)]
    return tasks


def test_worker_that_may_open_nothing_reads_as_one_that_may(shared: ExtractorPool) -> None:
    """All that readers load is loaded before: a document read in a worker has the same text as in this process."""
    tasks = {task.key: task for task in list_documents_of_every_format()}
    for task in tasks.values():
        shared.submit(task, quick=False)
    answers = collect_all(shared, len(tasks))
    assert len(answers) == len(tasks)
    for key, task in tasks.items():
        expected, answer = extract(task, ExtractionLimits()), answers[key]
        found = (decode_text(answer.body) if answer.body else "", answer.title, answer.language, answer.reason)
        assert found == (expected.text, expected.title, expected.language, expected.reason), task.url
