"""The kit against programs of command line adaptors, and against a policy decision point: what holds, and which fault each case notices."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedmill.cli.main import build_app
from feedmill.conformance import authorization, commandstreams
from feedmill.conformance.counterparts.adaptor import Adaptor
from feedmill.conformance.counterparts.script import AdaptorScript
from feedmill.conformance.counterparts.server import CounterpartServer, serving

HEAD = "GSA Adaptor Data Version 1 [\\n]\\n"
LISTER = f"printf '{HEAD}id=a\\nlast-modified=1700000000\\nid=b c\\nlock\\n'"
RETRIEVER = f"""printf '{HEAD}id=%s\\n' "$1"
case "$1" in a|"b c") printf 'mime-type=text/plain\\nacl\\nacl-permit-user=ann\\ncontent\\nwords of %s' "$1";; *) echo not-found;; esac
"""
AUTHORIZER = f"""printf '{HEAD}'
tr '\\0' '\\n' | while read -r line; do case "$line" in
username=*) user="${{line#username=}}";;
id=*) printf 'id=%s\\n' "${{line#id=}}"
  if [ "$user" = ann ] && [ "$line" = id=a ]; then echo authz-status=PERMIT; else echo authz-status=DENY; fi;;
esac; done
"""


def run_kit(*words: str) -> dict[str, str]:
    """Runs the kit and returns the details of the cases that did not hold."""
    done = CliRunner().invoke(build_app(), ["conformance", *words, "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return {case["name"]: case["detail"] for case in json.loads(done.stdout)["cases"] if case["outcome"] != "held"}


def write_programs(folder: Path, **changed: str) -> list[str]:
    """Writes the programs and returns the options that name them."""
    options = ["commands", "--folder", str(folder), "--user", "ann", "--group", "staff"]
    for name, text in {"lister": LISTER, "retriever": RETRIEVER, "authorizer": AUTHORIZER, **changed}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
        options += [f"--{name}", f"./{name}"]
    return options


def test_programs_of_an_adaptor_keep_every_promise(tmp_path: Path) -> None:
    assert run_kit(*write_programs(tmp_path)) == {}


@pytest.mark.parametrize(
    ("name", "text", "case"),
    [
        ("lister", f"{LISTER}; [ -e ran ] && exit 3; touch ran", "listing-readable"),
        ("lister", f"{LISTER}; echo colour=red", "listing-strict"),
        ("lister", LISTER.replace("1700000000", "1700000000000"), "listing-seconds"),
        ("lister", f"{LISTER}; echo x >> runs; echo id=a$(wc -l < runs)", "listing-repeatable"),
        ("retriever", RETRIEVER.replace("id=%s", "id=x%s"), "retrieved-readable"),
        ("retriever", RETRIEVER.replace("content\\n", "up-to-date\\n#"), "retrieved-content"),
        ("retriever", RETRIEVER.replace("\\nacl\\n", "\\n"), "retrieved-strict"),
        ("retriever", RETRIEVER.replace("echo not-found", "printf 'content\\n'"), "retrieved-unknown"),
        ("retriever", f'[ "$2" = 0 ] || {{ printf "{HEAD}id=$1\\nup-to-date"; exit; }}\n{RETRIEVER}', "retrieved-again"),
        ("authorizer", AUTHORIZER.replace("else echo authz-status=DENY; ", ""), "decisions-complete"),
        ("authorizer", f"{AUTHORIZER}printf 'id=other\\nauthz-status=DENY\\n'", "decisions-others"),
        ("authorizer", AUTHORIZER.replace("PERMIT", "permit"), "decisions-strict"),
        ("authorizer", AUTHORIZER.replace("=DENY", "=PERMIT"), "decisions-unknown"),
        ("authorizer", AUTHORIZER.replace("id=*)", '"id=b c") ;; id=*)').replace("PERMIT", "DENY"), "decisions-complete"),
        ("authorizer", '[ "$(head -c 1)" ] && exit 7', "decisions-stranger"),
    ],
)
def test_fault_of_a_program_fails_its_case(tmp_path: Path, name: str, text: str, case: str) -> None:
    found = run_kit(*write_programs(tmp_path, **{name: text}), "--case", case)
    assert list(found) == [case]


def test_cases_of_programs_that_there_are_not_are_not_tried(tmp_path: Path) -> None:
    options = write_programs(tmp_path)
    found = run_kit(
        *options[: options.index("--retriever")], "--case", "retrieved-content", "--case", "decisions-others", "--case", "listing-ids"
    )
    assert found == {"retrieved-content": "needs --retriever", "decisions-others": "needs --authorizer"}


@pytest.mark.parametrize("lister", ["exit 1", f"printf '{HEAD}'", "echo nonsense", f"printf '{HEAD}id=a\\ndelete\\n'"])
def test_lister_without_documents_is_refused(tmp_path: Path, lister: str) -> None:
    done = CliRunner().invoke(build_app(), ["conformance", *write_programs(tmp_path, lister=lister)])
    assert "the cases need a lister that lists documents" in str(done.exception)


def test_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(build_app(), ["conformance", "commands", "--lister", str(tmp_path / "none")])
    assert "none" in str(done.exception)


# --- authorization --------------------------------------------------------------------------------------------------------------


@contextmanager
def decision_point(**script: Any) -> Iterator[CounterpartServer]:
    read = AdaptorScript.model_validate({"decisions": [{"user": "ann", "id": "a"}, {"user": "bob", "id": "b c"}], **script})
    with serving(Adaptor(read, Path()), read, folder=Path()) as server:
        yield server


def options_of(server: CounterpartServer) -> list[str]:
    documents = ["--permitted", f"{server.url}/doc/a", "--denied", f"{server.url}/doc/b%20c"]
    return ["authorization", "--url", f"{server.url}/saml-authz", "--user", "ann", *documents]


def test_decision_point_keeps_every_promise() -> None:
    with decision_point() as server:
        assert run_kit(*options_of(server)) == {}


def test_decision_point_records_users_and_resources() -> None:
    with decision_point() as server:
        run_kit(*options_of(server), "--case", "denied")
        assert {"user": "ann", "resources": [f"{server.url}/doc/b%20c"]}.items() <= server.list_records()[-1].items()


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("one-query", {"status": 500, "skip": 1}),
        ("several-queries", {"body": '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body/></S:Envelope>', "skip": 1}),
        ("two-subjects", {"status": 200, "skip": 1}),
        ("no-resource", {"status": 200, "skip": 1}),
        ("no-subject", {"status": 500, "skip": 1}),
        ("credential-of-another", {"status": 200, "skip": 1}),
        ("no-xml", {"status": 200, "skip": 1}),
        ("post-only", {"status": 200, "method": "GET"}),
        ("other-path", {"status": 200, "path": "/saml-authz/conformance"}),
    ],
)
def test_fault_of_a_decision_point_fails_its_case(case: str, rule: dict[str, Any]) -> None:
    with decision_point(answers=[rule]) as server:
        assert list(run_kit(*options_of(server), "--case", case)) == [case]


@pytest.mark.parametrize(
    ("case", "decided"),
    [("permitted", []), ("denied", [{"user": "ann", "id": "b c"}])],
)
def test_wrong_decision_fails_its_case(case: str, decided: list[dict[str, str]]) -> None:
    with decision_point(decisions=decided) as server:
        assert list(run_kit(*options_of(server), "--case", case)) == [case]


def test_server_that_is_no_decision_point_is_refused() -> None:
    with decision_point() as server:
        done = CliRunner().invoke(build_app(), ["conformance", "authorization", "--url", f"{server.url}/doc/a", "--user", "ann"])
    assert "is no policy decision point" in str(done.exception)


@pytest.mark.parametrize("cases", [commandstreams.CASES.cases, authorization.CASES.cases], ids=["commands", "authorization"])
def test_cases_have_names_of_their_own_and_sources(cases: list[Any]) -> None:
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.sources and case.expectation for case in cases)
