"""``feedmill adaptor parse``, called in this process and as a process."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from feedmill.cli.adaptor import PIECE_BYTES
from feedmill.cli.main import build_app
from tests import programs

HEADER = b"GSA Adaptor Data Version 1 [\n]\n"


def run(*words: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(build_app(), ["adaptor", "parse", *map(str, words)], input=stdin)


def run_process(*words: str, stdin: bytes) -> tuple[int, list[dict[str, Any]], str]:
    done = programs.run("adaptor", "parse", *words, given=stdin.decode("ascii"))
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def read_lines(done: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_parse_lister_as_json_prints_a_line_for_each_document(tmp_path: Path) -> None:
    path = tmp_path / "listing"
    path.write_bytes(HEADER + b"id=\xc3\xa9\nlast-modified=15\nresult-link=http://e.com/\nlock=false\nid=b")
    done = run(path, "--kind", "lister", "--json")
    assert done.exit_code == 0
    assert read_lines(done) == [
        {
            "id": "é",
            "last_modified": 15,
            "result_link": "http://e.com/",
            "crawl_immediately": False,
            "crawl_once": False,
            "lock": True,
            "delete": False,
        },
        {
            "id": "b",
            "last_modified": None,
            "result_link": None,
            "crawl_immediately": False,
            "crawl_once": False,
            "lock": False,
            "delete": False,
        },
    ]


def test_parse_refused_lister_prints_complete_documents_and_the_error() -> None:
    code, lines, errors = run_process("-", "--kind", "lister", "--json", stdin=HEADER + b"id=a\nid=b\nmime-type=x")
    assert (code, [line.get("id") for line in lines[:-1]]) == (1, ["a"])
    assert lines[-1] == {"error": "Lister Error: invalid operation: 'MIME_TYPE' with argument: 'x'"}
    assert "invalid operation" in errors


@pytest.mark.parametrize("kind", ["retriever", "authorizer"])
def test_parse_refused_stream_prints_the_error_alone(kind: str) -> None:
    stream = HEADER + b"id=a\nauthz-status=PERMIT\nid=b\nid=c\nlock\nrepository-unavailable=x"
    code, lines, _ = run_process("-", "--kind", kind, "--json", stdin=stream)
    assert (code, len(lines), list(lines[0])) == (1, 1, ["error"])


def test_parse_retriever_as_json_prints_one_object() -> None:
    pairs = b"meta-name=n\nmeta-value=v\nparam-name=X-p\nparam-value=q\nanchor-uri=u\nanchor-text\n"
    stream = HEADER + b"id=a\n" + pairs + b"acl\nacl-permit-user=x\ncontent\n\xff"
    done = run("-", "--kind", "retriever", "--id", "a", "--json", stdin=stream)
    assert done.exit_code == 0
    assert read_lines(done) == [
        {
            "id": "a",
            "up_to_date": False,
            "not_found": False,
            "last_modified": None,
            "mime_type": None,
            "display_url": None,
            "secure": False,
            "no_index": False,
            "no_follow": False,
            "no_archive": False,
            "crawl_once": None,
            "lock": None,
            "metadata": [["n", "v"]],
            "params": [["X-p", "q"]],
            "anchors": [["u", None]],
            "acl": {
                "permit_users": [["Default", "x"]],
                "deny_users": [],
                "permit_groups": [],
                "deny_groups": [],
                "inherit_from": None,
                "inherit_fragment": None,
                "inheritance_type": "leaf-node",
                "case_sensitive": True,
            },
            "content": "/w==",
        }
    ]


@pytest.mark.parametrize("size", [0, 1, 2, 3, PIECE_BYTES, 3 * PIECE_BYTES + 1])
def test_parse_retriever_content_of_any_size_is_base64(size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    (line,) = read_lines(run("-", "--kind", "retriever", "--json", stdin=HEADER + b"id=a\ncontent\n" + content))
    assert base64.b64decode(line["content"]) == content


@pytest.mark.parametrize(("end", "content"), [(b"content", ""), (b"up-to-date", None), (b"", None)])
def test_parse_retriever_without_bytes_of_content(end: bytes, content: str | None) -> None:
    (line,) = read_lines(run("-", "--kind", "retriever", "--json", stdin=HEADER + b"id=a\n" + end))
    assert (line["content"], line["up_to_date"]) == (content, end == b"up-to-date")


def test_parse_authorizer_as_json_prints_a_line_for_each_id() -> None:
    done = run("-", "--kind", "authorizer", "--json", stdin=HEADER + b"id=a\nauthz-status=PERMIT\nid=b\nid=a\nauthz-status=DENY")
    assert read_lines(done) == [{"id": "a", "status": "DENY"}, {"id": "b", "status": None}]


def test_parse_strict_exits_1_after_warnings() -> None:
    code, lines, errors = run_process("-", "--kind", "lister", "--json", "--strict", stdin=HEADER + b"id=a\nlock=false\nodd\n")
    assert (code, lines[0]["lock"]) == (1, True)
    assert lines[1:] == [
        {"warning": "the argument of 'lock=false' is ignored", "offset": 36, "command": 2},
        {"warning": "unknown command 'odd' is ignored", "offset": 47, "command": 3},
        {"error": "the adaptor library ignores 2 faults of the stream"},
    ]
    assert "2 faults" in errors
    assert run("-", "--kind", "lister", "--strict", stdin=HEADER + b"id=a\nlock\n").exit_code == 0


def test_parse_for_people_prints_what_the_stream_says() -> None:
    lister = run("-", "--kind", "lister", stdin=HEADER + b"id=a\x1b[2J\nlast-modified=15\nresult-link=u\ncrawl-once\nlock")
    assert lister.stdout == "a\ufffd[2J  last-modified=15  result-link=u  crawl-once  lock\n"
    retriever = run("-", "--kind", "retriever", stdin=HEADER + b"id=a\nlock\nlast-modified=0\nmeta-name=n\nmeta-value=v\ncontent\nxyz")
    assert retriever.stdout == 'id: a\nlast-modified: 0\nmetadata: [["n", "v"]]\ncontent: 3 bytes\n'
    authorizer = run("-", "--kind", "authorizer", stdin=HEADER + b"id=a\nauthz-status=PERMIT\nid=b")
    assert authorizer.stdout == "PERMIT        a\nno decision   b\n"
    strict = run("-", "--kind", "authorizer", "--strict", stdin=HEADER + b"id=a")
    assert (strict.exit_code, strict.stdout.splitlines()[1]) == (1, "byte 36, command 1: there is no decision about id 'a'")
    refused = run("-", "--kind", "authorizer", stdin=HEADER + b"id=a\nlock")
    assert str(refused.exception) == "byte 36, command 2: Authorizer Error: invalid operation: 'LOCK'"


def stream_line(kind: str, stream: bytes, requested_id: str | None = None) -> str:
    return json.dumps({"kind": kind, "id": requested_id, "stream": base64.b64encode(stream).decode()}) + "\n"


def test_parse_batch_answers_each_line(tmp_path: Path) -> None:
    path = tmp_path / "streams"
    lines = (
        stream_line("lister", HEADER + b"id=a\nid=b\nodd\nid"),
        "\n",
        stream_line("lister", b""),
        stream_line("retriever", HEADER + b"id=a\ncontent\nx", "a"),
        stream_line("retriever", HEADER + b"id=a\nup-to-date"),
        stream_line("retriever", HEADER + b"id=a", "b"),
        stream_line("authorizer", HEADER + b"id=a\nauthz-status=PERMIT\nid=b"),
        stream_line("authorizer", HEADER + b"lock"),
    )
    path.write_text("\ufeff" + "".join(lines))
    done = run("--batch", path)
    assert done.exit_code == 0
    listing, empty, document, up_to_date, other, decisions, refused = read_lines(done)
    assert ([record["id"] for record in listing["records"]], listing["error"]) == (["a", "b"], "'id' has no argument")
    assert (empty["records"], empty["error"][:7]) == ([], "Adaptor")
    assert (document["document"]["content"], document["error"]) == ("eA==", None)
    assert (up_to_date["document"]["content"], up_to_date["document"]["up_to_date"]) == (None, True)
    assert (other["document"], "does not match" in other["error"]) == (None, True)
    assert decisions == {"decisions": [{"id": "a", "status": "PERMIT"}, {"id": "b", "status": None}], "error": None}
    assert (refused["decisions"], "first operator" in refused["error"]) == ([], True)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("x", "no json: Expecting value, column 1"),
        ("[]", "no json object"),
        ('{"kind": "odd", "stream": ""}', "'kind' is none of lister, retriever, authorizer"),
        ('{"kind": "lister", "id": 1, "stream": ""}', "'id' is no text"),
        ('{"kind": "lister"}', "'stream' is no text"),
        ('{"kind": "lister", "stream": "!"}', "'stream' is no Base64"),
        ('{"kind": "lister", "stream": "é"}', "'stream' is no Base64"),
    ],
)
def test_parse_batch_wrong_line_is_named_after_the_lines_before(line: str, error: str) -> None:
    done = run("--batch", "-", stdin=(stream_line("lister", HEADER) + line).encode())
    assert (done.exit_code, read_lines(done)) == (1, [{"records": [], "error": None}])
    assert str(done.exception).startswith(f"line 2: {error}")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-",),
        ("-", "--kind", "odd"),
        ("none", "--kind", "lister"),
        ("-", "--batch", "-"),
        ("--batch", "none"),
        ("--batch", "-", "--kind", "lister"),
        ("--batch", "-", "--strict"),
        ("-", "--kind", "lister", "--id", "a"),
    ],
)
def test_parse_wrong_use_exits_2(words: tuple[str, ...]) -> None:
    assert run(*words, stdin=b"").exit_code == 2


# --- check ------------------------------------------------------------------------------------------------------------------------


def check(folder: Path, lister: str, retriever: str, *words: str) -> Result:
    for name, text in {"lister": lister, "retriever": retriever}.items():
        (folder / name).write_text(f"#!/bin/sh\nprintf 'GSA Adaptor Data Version 1 [\\n]\\n'\n{text}\n")
        (folder / name).chmod(0o755)
    keys = '[sources.adaptor]\ncommandline.lister.cmd = "./lister"\ncommandline.retriever.cmd = "./retriever"\n'
    (folder / "f.toml").write_text(f'[[sources]]\nname = "files"\nkind = "adaptor"\n{keys}')
    given = ["adaptor", "check", "files", *words, "--config", str(folder / "f.toml"), "--data", str(folder / "none")]
    return CliRunner().invoke(build_app(), given)


RETRIEVER = 'printf "id=$1\\nmime-type=text/plain\\nmeta-name=time\\nmeta-value=$2\\ncontent\\nhello"'


def test_check_prints_what_lister_and_retriever_say(tmp_path: Path) -> None:
    done = check(tmp_path, "printf 'id=gone\\ndelete\\nid=a\\nid=b\\nid=c\\n'", RETRIEVER, "--count", "2")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "gone  delete",
        "a",
        "4 documents are listed",
        "",
        "id: a",
        "mime-type: text/plain",
        'metadata: [["time", "0"]]',
        "content: 5 bytes",
    ]
    assert not (tmp_path / "none").exists()


def test_check_as_json_of_one_document(tmp_path: Path) -> None:
    done = check(tmp_path, "printf 'id=a\\n'", RETRIEVER, "--id", "b c", "--json")
    listed, count, retrieved = read_lines(done)
    assert (listed["listed"]["id"], count) == ("a", {"documents": 1})
    assert (retrieved["retrieved"]["id"], retrieved["retrieved"]["content_bytes"]) == ("b c", 5)


def test_check_of_a_command_that_fails_exits_with_1(tmp_path: Path) -> None:
    done = check(tmp_path, "printf 'id=a\\nid=b\\n'; echo broken >&2; exit 5", RETRIEVER)
    assert (done.exit_code, str(done.exception)) == (1, "the lister ended with status 5: broken")
    done = check(tmp_path, "printf 'id=a\\n'", "exit 3")
    assert (done.exit_code, str(done.exception)) == (1, "the retriever ended with status 3")
