"""Groups feeds through the port: the fields and their dialects, what counts, replacements, refusals, a feeder that is killed."""

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.access.principals import signed_in_keys
from feedmill.model.access import Scope
from feedmill.model.identity import Subject
from tests.acceptance.promises import counts, post_fields, run_process
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.groups import make_groups_feed, make_membership

Membership = tuple[str, Sequence[str]]


def xmlgroups(*memberships: Membership) -> bytes:
    """Returns a groups feed of groups and the users in them, as the adaptor library writes it."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!DOCTYPE xmlgroups PUBLIC "-//Google//DTD GSA Feeds//EN" "">'
    attributes = 'case-sensitivity-type="EVERYTHING_CASE_INSENSITIVE" namespace="Default"'
    return make_groups_feed(*(make_membership(group, users, attributes=attributes) for group, users in memberships), head=head)


def post(server: Appliance, xml: bytes | None, path: str = "/xmlgroups", data: str = "data", **fields: str) -> dict[str, Any]:
    """Posts a groups feed and waits for its end."""
    sent = [(name, value.encode()) for name, value in fields.items()] + ([(data, xml)] if xml is not None else [])
    status, headers, body = post_fields(server, path, sent)
    assert (status, body) == (200, b"Success"), (status, body)
    return server.wait(headers["x-feedmill-feed"])


def groups_of(server: Appliance, user: str) -> set[str]:
    """Returns the groups that a user is a direct member of, as the store of the server has them."""
    store = open_sqlite(server.data / "store.sqlite")
    try:
        with store.reading() as unit:
            keys = list(signed_in_keys(Subject(scope=Scope.USER, name=user)))
            return {group.name for _, group in unit.groups.memberships.find_parents(keys)}
    finally:
        store.close()


def test_groups_feed_counts_memberships_and_is_obeyed_when_completed(server: Appliance) -> None:
    receipt = post(server, xmlgroups(("staff", ["Ann", "bob"]), ("sales", ["ann"])), groupsource="count_5678", feedtype="incremental")
    assert counts(receipt) == ("completed", 2, 2, 0)
    assert (receipt["datasource"], receipt["feedtype"], receipt["groups"]) == ("count_5678", "incremental", True)
    assert groups_of(server, "ANN") == {"staff", "sales"}
    assert "count_5678" not in {source["name"] for source in server.get_json(server.gate, "/api/v1/datasources")}


@pytest.mark.parametrize(("path", "data"), [("/xmlgroups", "data"), ("/xmlgroups/", "groupsfilename")])
def test_both_paths_and_both_names_of_the_file_are_accepted(server: Appliance, path: str, data: str) -> None:
    assert post(server, xmlgroups((data, ["dora"])), path, data, groupsource="paths", feedtype="FULL")["state"] == "completed"
    assert groups_of(server, "dora") == {data}


def test_alternating_sources_with_cleanup_replace_each_other(server: Appliance) -> None:
    post(server, xmlgroups(("old", ["rita"])), groupsource="repl", feedtype="incremental")
    for source, before, group in (
        ("repl-REPL1", "repl", "one"),
        ("repl-REPL2", "repl-REPL1", "two"),
        ("repl-REPL1", "repl-REPL2", "three"),
    ):
        post(server, xmlgroups((group, ["rita"])), groupsource=source, feedtype="incremental")
        assert counts(post(server, None, cleanup=before)) == ("completed", 0, 0, 0)
        assert groups_of(server, "rita") == {group}
    assert post(server, None, cleanup="repl-REPL1")["feedtype"] == "cleanup"
    assert groups_of(server, "rita") == set()


def test_replace_is_full_and_needs_no_feedtype(server: Appliance) -> None:
    post(server, xmlgroups(("a", ["olga"]), ("b", ["olga"])), groupsource="whole", feedtype="incremental")
    assert post(server, xmlgroups(("b", ["olga"]), ("c", ["olga"])), replace="whole")["feedtype"] == "full"
    assert groups_of(server, "olga") == {"b", "c"}
    assert counts(post(server, b"<xmlgroups/>", groupsource="whole", feedtype="incremental")) == ("completed", 0, 0, 0)
    assert groups_of(server, "olga") == {"b", "c"}
    assert counts(post(server, b"<xmlgroups></xmlgroups>", groupsource="whole", feedtype="full")) == ("completed", 0, 0, 0)
    assert groups_of(server, "olga") == set()


def test_redefinition_replaces_and_empty_definition_removes(server: Appliance) -> None:
    post(server, xmlgroups(("team", ["pia", "paul"]), ("other", ["pia"])), groupsource="again", feedtype="incremental")
    post(server, xmlgroups(("team", ["paul"])), groupsource="again", feedtype="incremental")
    assert (groups_of(server, "pia"), groups_of(server, "paul")) == ({"other"}, {"team"})
    post(server, xmlgroups(("team", [])), groupsource="again", feedtype="incremental")
    assert groups_of(server, "paul") == set()


def test_group_in_two_sources_has_the_members_of_both(server: Appliance) -> None:
    post(server, xmlgroups(("shared", ["tim"])), groupsource="left", feedtype="full")
    post(server, xmlgroups(("shared", ["tom"])), groupsource="right", feedtype="full")
    assert groups_of(server, "tim") == groups_of(server, "tom") == {"shared"}
    post(server, None, cleanup="right")
    assert (groups_of(server, "tim"), groups_of(server, "tom")) == ({"shared"}, set())


def test_user_as_principal_is_one_error_and_the_rest_loads(server: Appliance) -> None:
    xml = make_groups_feed(make_membership("eve", ["uma"], scope="USER"), make_membership("good", ["uma"]))
    receipt = post(server, xml, groupsource="mixed", feedtype="full")
    assert counts(receipt) == ("completed with errors", 2, 1, 1)
    assert [(entry["level"], entry["record"]) for entry in receipt["log"]] == [("error", 1)]
    assert groups_of(server, "uma") == {"good"}


def test_truncated_or_foreign_feed_changes_nothing(server: Appliance) -> None:
    post(server, xmlgroups(("stays", ["vera"])), groupsource="cut", feedtype="full")
    whole = xmlgroups(("new", ["vera"]), ("newer", ["vera"]))
    for bad in (whole[:-30], b"<gsafeed><group/></gsafeed>", b"no xml"):
        receipt = post(server, bad, groupsource="cut", feedtype="full")
        assert (receipt["state"], receipt["included"]) == ("failed in error", 0)
        assert groups_of(server, "vera") == {"stays"}
    bad = make_groups_feed(make_membership("eve", scope="USER"))
    assert counts(post(server, bad, groupsource="cut", feedtype="full")) == ("failed in error", 1, 0, 1)
    assert groups_of(server, "vera") == {"stays"}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ([("feedtype", b"full"), ("data", b"<xmlgroups/>")], b"groupsource"),
        ([("groupsource", b"9x"), ("feedtype", b"full"), ("data", b"<xmlgroups/>")], b"groupsource"),
        ([("groupsource", b"x"), ("data", b"<xmlgroups/>")], b"feedtype"),
        ([("groupsource", b"x"), ("feedtype", b"metadata-and-url"), ("data", b"<xmlgroups/>")], b"full, incremental"),
        ([("groupsource", b"x"), ("feedtype", b"full")], b"data"),
        ([("replace", b"x")], b"data"),
        ([("replace", b"x"), ("cleanup", b"x")], b"contradict"),
        ([("replace", b"x"), ("groupsource", b"y"), ("data", b"<xmlgroups/>")], b"contradict"),
        ([("cleanup", b"x"), ("data", b"<xmlgroups/>")], b"alone"),
    ],
)
def test_fields_that_make_no_sense_are_refused_by_name(server: Appliance, fields: list[tuple[str, bytes]], text: bytes) -> None:
    status, headers, body = post_fields(server, "/xmlgroups", fields)
    assert status == 400
    assert text in body
    assert "x-feedmill-feed" not in headers


def test_push_groups_with_a_server_follows_the_feed_to_its_end(server: Appliance, tmp_path: Path) -> None:
    file = tmp_path / "groups.xml"
    options = ["--groupsource", "command", "--feedtype", "full", "--wait", "--json", "--url", f"http://127.0.0.1:{server.gate}"]
    file.write_bytes(xmlgroups(("pushed", ["kim"])))
    code, out, _ = run_process("push-groups", file, *options)
    assert (code, counts(json.loads(out))) == (0, ("completed", 1, 1, 0))
    assert groups_of(server, "kim") == {"pushed"}
    file.write_bytes(xmlgroups(("pushed", ["kim"]))[:-9])
    code, out, _ = run_process("push-groups", file, *options)
    assert (code, json.loads(out)["state"]) == (1, "failed in error")


def test_push_groups_without_a_server_applies_the_feed_itself(tmp_path: Path) -> None:
    file = tmp_path / "groups.xml"
    file.write_bytes(xmlgroups(("alone", ["lea"])))
    code, out, err = run_process("push-groups", file, "--groupsource", "s", "--feedtype", "full", "--json", "--data", tmp_path / "data")
    assert code == 0, err
    assert counts(json.loads(out)) == ("completed", 1, 1, 0)


def test_data_source_of_the_same_name_is_another_thing(server: Appliance) -> None:
    post(server, xmlgroups(("twins", ["max"])), groupsource="twin", feedtype="full")
    server.feed(make_feed(make_record("http://twin.example.com/", "twin")), "twin")
    [source] = [source for source in server.get_json(server.gate, "/api/v1/datasources") if source["name"] == "twin"]
    assert source["feeds"] == 1
    assert server.request("DELETE", server.gate, "/api/v1/datasources/twin?destroy=true")[0] == 200
    assert groups_of(server, "max") == {"twins"}
    assert [feed["groups"] for feed in server.get_json(server.gate, "/api/v1/feeds?datasource=twin")].count(True) == 1
    server.feed(make_feed(make_record("http://twin.example.com/", "twin")), "twin")
    assert post(server, None, cleanup="twin")["state"] == "completed"
    assert server.document("http://twin.example.com/") is not None


@pytest.mark.parametrize("groups", [2_000, pytest.param(6_000, marks=pytest.mark.thorough)])
def test_killed_feeder_goes_on_and_shows_no_half(tmp_path: Path, groups: int) -> None:
    big = [(f"g{number}", [f"u{number}-{member}" for member in range(20)] + ["zoe"]) for number in range(groups)]
    with running(tmp_path / "data") as server:
        post(server, xmlgroups(("before", ["zoe"])), groupsource="kill", feedtype="full")
        fields = [("groupsource", b"kill"), ("feedtype", b"full"), ("data", xmlgroups(*big))]
        feed = post_fields(server, "/xmlgroups", fields)[1]["x-feedmill-feed"]
        for _ in range(4):
            time.sleep(0.3)
            for role in ("feeder", "feeder-quick"):
                for pid in server.role_pids().get(role, []):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            found = groups_of(server, "zoe")
            assert found == {"before"} or len(found) == len(big)
        assert counts(server.wait(feed)) == ("completed", groups, groups, 0)
        assert len(groups_of(server, "zoe")) == len(big)
        assert "before" not in groups_of(server, "zoe")
