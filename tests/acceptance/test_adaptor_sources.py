"""Command line adaptors at a whole server: shell scripts list and print documents, and decide who finds them."""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from feedmill.wire.commandstream.render import render_document, render_listing
from feedmill.wire.commandstream.schema import ListedDocument, NamedPrincipal, RetrievedAcl, RetrievedDocument
from tests.acceptance.promises import run_command
from tests.appliance import Appliance, running
from tests.waiting import wait_until

SETTINGS = """
[[sources]]
name = "files"
kind = "adaptor"
guard = 0.5
config = "adaptor/adaptor-config.properties"
[sources.adaptor]
commandline.incremental.cmd = "./changes"
limits.retrievers = 1
limits.authorizer_seconds = 30
[late_binding]
seconds = 60
cache_seconds = 0
[search]
deadline_seconds = 60.0
[signin.proxy]
trusted = ["127.0.0.1"]
"""
PROPERTIES = """
# of the old adaptor
gsa.hostname = gsa.example.com
commandline.lister.cmd = ./lister
commandline.retriever.cmd = ./retriever
commandline.authorizer.cmd = ./authorizer
commandline.authorizer.delimeter = \\n
"""
SCRIPTS = {
    "lister": "echo lister >> calls\nexec cat listing\n",
    "changes": "exec cat listing\n",
    "retriever": """
if [ "$1" = slow ] && [ -e wait ]; then touch waiting; exec sleep 1000; fi
echo "$1" >> calls
exec cat "docs/$1"
""",
    "authorizer": """
printf 'GSA Adaptor Data Version 1 [\\n]\\n'
user=$(sed -n 's/^username=//p' question)
sed -n 's/^id=//p' question | while read -r id; do
  if [ "$id" = "$user" ]; then status=PERMIT; else status=DENY; fi
  printf 'id=%s\\nauthz-status=%s\\n' "$id" "$status"
done
""",
}


class Adaptor:
    """The folder of the adaptor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docs").mkdir(parents=True)
        (folder / "adaptor-config.properties").write_text(PROPERTIES)
        for name, text in SCRIPTS.items():
            # every question has a file of its own, because several may be put at once
            text = text.replace("question", '"$file"')
            head = 'file=$(mktemp)\ntrap \'rm -f "$file"\' EXIT\ncat > "$file"\n' if name == "authorizer" else ""
            (folder / name).write_text(f"#!/bin/sh\n{head}{text}")
            (folder / name).chmod(0o755)

    def put(self, identifier: str, text: str, **fields: Any) -> None:
        document = RetrievedDocument(id=identifier, has_content=True, mime_type="text/plain", **fields)
        (self.folder / "docs" / identifier).write_bytes(render_document(document) + text.encode())

    def name(self, *documents: ListedDocument) -> None:
        (self.folder / "listing").write_bytes(b"".join(render_listing(documents)))

    def take_calls(self) -> list[str]:
        path = self.folder / "calls"
        calls = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return calls


@pytest.fixture
def adaptor(tmp_path: Path) -> Adaptor:
    return Adaptor(tmp_path / "adaptor")


@pytest.fixture
def server(tmp_path: Path, adaptor: Adaptor) -> Iterator[Appliance]:
    with running(tmp_path / "data", SETTINGS) as appliance:
        yield appliance


def run(server: Appliance, *options: str) -> tuple[int, dict[str, Any]]:
    code, output, errors = run_command("sources", "run", "files", *options, "--data", server.data, "--config", server.config, "--json")
    assert output, errors
    return code, json.loads(output)


def seen_by(server: Appliance, user: str, query: str = "wombat") -> list[str]:
    headers = {"X-Forwarded-User": user} if user else {}
    status, _, body = server.request("GET", server.search_port, f"/api/v1/search?q={query}&num=100", headers=headers)
    assert status == 200, body
    return sorted(result["url"].removeprefix("adaptor://files/") for result in json.loads(body)["results"])


def test_adaptor_is_run_searched_and_survives_a_kill(server: Appliance, adaptor: Adaptor) -> None:
    adaptor.put("public", "wombat everybody")
    adaptor.put("ann", "wombat of ann", secure=True)
    adaptor.put("bob", "wombat of bob", secure=True)
    adaptor.put("listed", "wombat by list", acl=RetrievedAcl(permit_users=(NamedPrincipal("Default", "bob"),)))
    names = ("public", "ann", "bob", "listed")
    adaptor.name(*(ListedDocument(name, last_modified=1) for name in names))
    code, counts = run(server)
    assert (code, counts) == (0, {"added": 4, "changed": 0, "deleted": 0, "unchanged": 0, "errors": 0})
    assert adaptor.take_calls() == ["lister", *names]
    wait_until(lambda: seen_by(server, "") == ["public"], "what everybody may see")
    wait_until(lambda: seen_by(server, "ann") == ["ann", "public"], "what ann may see")
    wait_until(lambda: seen_by(server, "bob") == ["bob", "listed", "public"], "what bob may see")

    adaptor.put("public", "wombat changed")
    adaptor.name(ListedDocument("public", last_modified=2), ListedDocument("listed", delete=True))
    code, counts = run(server)
    assert (code, counts["changed"], counts["deleted"]) == (0, 1, 1)
    wait_until(lambda: seen_by(server, "", "changed") == ["public"], "the changed document")
    wait_until(lambda: seen_by(server, "bob") == ["bob", "public"], "the end of a deleted document")

    # the process is killed while a retriever hangs: the run goes on, without the lister
    adaptor.take_calls()
    (adaptor.folder / "wait").touch()
    first = [f"first{number:02}" for number in range(25)]
    for name in (*first, "slow"):
        adaptor.put(name, f"wombat {name}")
    earlier = [ListedDocument(name, last_modified=1) for name in ("public", "ann", "bob")]
    adaptor.name(*(ListedDocument(name, last_modified=3) for name in (*first, "slow")), *earlier)
    (puller,) = server.role_pids()["puller"]
    with ThreadPoolExecutor(1) as threads:
        running_command = threads.submit(run, server, "--full")
        wait_until(lambda: (adaptor.folder / "waiting").exists(), "the slow retriever")
        (adaptor.folder / "wait").unlink()
        os.kill(puller, signal.SIGKILL)
        code, counts = running_command.result()
    # public was retrieved with another last-modified before
    assert (code, counts["added"], counts["changed"], counts["unchanged"], counts["errors"]) == (0, 26, 1, 2, 0)
    wait_until(lambda: "slow" in seen_by(server, ""), "the end of the run")
    calls = adaptor.take_calls()
    assert calls.count("lister") == 1
    assert {"slow", *first} <= set(calls)
    # only documents that were not applied yet are retrieved a second time
    assert sum(calls.count(name) > 1 for name in first) <= 5
    wait_until(lambda: set(first) <= set(seen_by(server, "")), "the documents that were applied before the kill")
