"""Settings made by API: over the file, checked, one change after the other."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.xslt.folder import StylesheetFolder
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.http.admin.api.policies import policy_routes
from feedmill.http.admin.app import admin_app
from feedmill.http.admin.status import list_settings
from feedmill.http.search.frontends import StylesheetEngine
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.model.errors import Corrupt
from feedmill.model.serving import StoredSetting
from feedmill.services.keyvalues import SETTINGS_GENERATION
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.settings import LoadedSettings, load_settings
from feedmill.settings.editing import SettingsEditor
from feedmill.settings.serving import merge_stored, serving_of
from tests.asgi import ask_app
from tests.builders.administration import make_administration
from tests.fakes import SilentNotifier
from tests.migratedstore import open_migrated

FILE = """
[[collections]]
name = "press"
include = ["press.example.com/"]
[[frontends]]
name = "intranet"
bias = "news"
[[biases]]
name = "news"
date = 3
[[synonyms]]
two_way = [["car", "automobile"]]
"""


@dataclass
class SettingsHarness:
    """A store, a settings file, and the admin port over both."""

    store: SqlStore
    loaded: LoadedSettings
    folder: Path

    def ask(self, method: str, path: str, value: Any = None, query: str = "", **headers: str) -> tuple[int, dict[str, str], Any]:
        status, headers, content = self._send(method, path, value, query, headers)
        return status, headers, json.loads(content) if content else None

    def ask_raw(self, method: str, path: str) -> tuple[int, bytes]:
        status, _, content = self._send(method, path, None, "", {})
        return status, content

    def _send(self, method: str, path: str, value: Any, query: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        editor = SettingsEditor(self.store, lambda: self.loaded, SilentNotifier())
        administration = make_administration(
            settings=editor,
            stylesheets=StylesheetStore(
                editor, StylesheetEngine(repository=StylesheetFolder(self.folder / "stylesheets"), transformer=ProcessTransformer())
            ),
            policy_routes=policy_routes(self.store, editor),
        )
        body = value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()
        kind = {} if isinstance(value, bytes) else {"content-type": "application/json"}
        given = {"authorization": "Bearer t", **headers, **kind}
        answer = ask_app(admin_app(administration, "t"), method, path, query=query, body=body, headers=given, host="localhost", port=8000)
        return answer.status, answer.headers, answer.body

    def put(self, place: str, value: Any, **headers: str) -> int:
        return self.ask("PUT", f"/api/v1/settings/{place}", value, **headers)[0]


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SettingsHarness]:
    store = open_migrated(tmp_path / "store.sqlite")
    (tmp_path / "f.toml").write_text(FILE)
    yield SettingsHarness(store, load_settings(tmp_path / "f.toml", {}), tmp_path)
    store.close()


def include_of(harness: SettingsHarness, name: str = "press") -> list[str]:
    return list(harness.ask("GET", f"/api/v1/settings/collections/{name}")[2]["value"]["include"])


def test_entries_of_the_file_are_shown_with_their_line(harness: SettingsHarness) -> None:
    status, _, entries = harness.ask("GET", "/api/v1/settings/collections")
    assert (status, [(entry["name"], entry["origin"].rpartition(":")[2]) for entry in entries]) == (200, [("press", "2")])
    assert [entry["name"] for entry in harness.ask("GET", "/api/v1/settings/synonyms")[2]] == ["file-1"]
    assert harness.ask("GET", "/api/v1/settings/query/query")[2]["origin"] == "default"


def test_entry_that_is_put_wins_over_the_file_until_it_is_removed(harness: SettingsHarness) -> None:
    assert harness.put("collections/press", {"include": ["a.example.com/"]}) == 200
    assert include_of(harness) == ["a.example.com/"]
    assert harness.put("collections/hr", {"include": ["hr.example.com/"]}) == 201
    assert [entry["origin"] for entry in harness.ask("GET", "/api/v1/settings/collections")[2]] == ["api", "api"]
    assert harness.ask("DELETE", "/api/v1/settings/collections/press")[0] == 204
    assert include_of(harness) == ["press.example.com/"]
    status, _, answer = harness.ask("DELETE", "/api/v1/settings/collections/press")
    assert (status, "f.toml:2" in answer["detail"]) == (409, True)
    assert harness.ask("DELETE", "/api/v1/settings/collections/hr")[0] == 204
    assert harness.ask("GET", "/api/v1/settings/collections/hr")[0] == 404
    assert harness.ask("DELETE", "/api/v1/settings/collections/hr")[0] == 404


def test_every_process_sees_a_change_at_its_next_look(harness: SettingsHarness) -> None:
    serving = SearchConfigProvider(lambda stored: serving_of(merge_stored(harness.loaded.settings, stored)))
    with harness.store.reading() as unit:
        before = serving.current(unit)
        assert serving.current(unit) is before
    harness.put("query/query", {"stop_words": ["the"]})
    harness.put("synonyms/cars", {"one_way": [["bike", "bicycle"]]})
    with harness.store.reading() as unit:
        after = serving.current(unit).serving
    assert (after.stop_words, len(after.synonyms)) == (("the",), 2)


def test_stored_setting_that_cannot_be_read_leaves_the_previous_settings(harness: SettingsHarness) -> None:
    serving = SearchConfigProvider(lambda stored: serving_of(merge_stored(harness.loaded.settings, stored)))
    with harness.store.writing() as unit:
        before = serving.current(unit)
        unit.state.stored_settings.put(StoredSetting(section="collections", name="press", value="{", version=1))
        unit.state.key_values.put(SETTINGS_GENERATION, "7")
    with harness.store.reading() as unit:
        assert serving.current(unit) is before
        with pytest.raises(Corrupt):
            SearchConfigProvider(lambda stored: serving_of(merge_stored(harness.loaded.settings, stored))).current(unit)


@pytest.mark.parametrize(
    ("place", "value", "status", "text"),
    [
        ("collections/a", {"include": ["regexp:("]}, 400, "include[1]: '(' is no regular expression"),
        ("collections/a", {"includes": []}, 400, "includes: unknown key"),
        ("collections/a.b", {}, 400, "is no name here"),
        ("collections/a", [], 400, "an entry is a JSON object"),
        ("collections/a", b"{", 400, "the body is no JSON"),
        ("collections/a", b"", 400, "the body is no JSON"),
        ("collections/a", {"name": "b"}, 400, "is not the name in the address"),
        ("frontends/a", {"bias": "nws"}, 400, "there is no bias 'nws', did you mean 'news'"),
        ("frontends/a", {"stylesheet": "a.xsl"}, 400, "'a.xsl' is no whole path"),
        ("synonyms/a b", {}, 400, "is no name here"),
        ("frontends/a", {"stylesheet": "/" + "a" * 5000}, 400, "there is no file '/aaaa"),
        ("frontends/a", {"stylesheet": "/a\0"}, 400, "there is no file '/a"),
        ("frontends/a", {"stylesheet": "/none.xsl"}, 400, "there is no file '/none.xsl'"),
        ("biases/a", {"date": 11}, 400, "date: 11 is out of range"),
        ("query/query", {"stop_words": ["a b"]}, 400, "stop_words[1]: 'a b' is not one word"),
        ("query/other", {}, 404, "there is no query/other"),
        ("gate/gate", {}, 404, "there is no section 'gate' that can be set by api"),
    ],
)
def test_entry_that_is_invalid_is_refused_and_not_stored(harness: SettingsHarness, place: str, value: Any, status: int, text: str) -> None:
    answered, _, answer = harness.ask("PUT", f"/api/v1/settings/{place}", value)
    assert (answered, text in answer["detail"]) == (status, True), answer
    with harness.store.reading() as unit:
        assert unit.state.stored_settings.list() == []


def test_change_that_names_another_tag_than_the_entrys_is_refused(harness: SettingsHarness) -> None:
    tag = harness.ask("GET", "/api/v1/settings/collections/press")[1]["etag"]
    assert harness.put("collections/press", {"include": ["a/"]}, if_match=tag) == 200
    assert harness.put("collections/press", {"include": ["b/"]}, if_match=tag) == 412
    assert include_of(harness) == ["a/"]
    fresh = harness.ask("GET", "/api/v1/settings/collections/press")[1]["etag"]
    assert harness.ask("DELETE", "/api/v1/settings/collections/press", if_match=tag)[0] == 412
    assert harness.put("collections/press", {"include": ["b/"]}, if_match=f"{tag}, {fresh}") == 200
    assert harness.put("collections/press", {"include": ["b/"]}, if_match="*") == 200
    assert harness.put("collections/new", {}, if_match="*") == 412
    assert harness.put("collections/press", {}, if_none_match="*") == 412
    assert harness.put("collections/new", {}, if_none_match="*") == 201
    assert harness.put("query/query", {}, if_none_match="*") == 201
    assert harness.put("collections/new", {}, if_none_match=tag) == 400


def test_same_value_put_twice_has_another_tag(harness: SettingsHarness) -> None:
    tags = {harness.ask("PUT", "/api/v1/settings/collections/a", {"include": ["a/"]})[1]["etag"] for _ in range(3)}
    assert len(tags) == 3


def test_entry_that_another_needs_is_not_removed(harness: SettingsHarness) -> None:
    harness.put("biases/mine", {"date": 1})
    harness.put("frontends/a", {"bias": "mine"})
    status, _, answer = harness.ask("DELETE", "/api/v1/settings/biases/mine")
    assert (status, "there is no bias 'mine'" in answer["detail"]) == (409, True)
    harness.ask("DELETE", "/api/v1/settings/frontends/a")
    assert harness.ask("DELETE", "/api/v1/settings/biases/mine")[0] == 204


def test_status_says_where_each_entry_came_from(harness: SettingsHarness) -> None:
    harness.put("collections/hr", {"include": ["hr/"]})
    harness.put("query/query", {"stop_words": ["the"]})
    with harness.store.reading() as unit:
        listed = list_settings(harness.loaded, unit.state.stored_settings.list())
    assert listed["collections.hr"] == {"value": {"name": "hr", "include": ["hr/"], "exclude": []}, "origin": "api"}
    assert listed["collections.press"]["origin"].endswith("f.toml:2")
    assert listed["collections"]["origin"].endswith("f.toml:2, api")
    assert [entry["name"] for entry in listed["collections"]["value"]] == ["press", "hr"]
    assert listed["query.stop_words"] == {"value": ["the"], "origin": "api"}
    assert listed["biases"]["origin"].endswith("f.toml:8")


# --- exported files -------------------------------------------------------------------------------------------------------------


def take(harness: SettingsHarness, place: str, text: Any, query: str) -> tuple[int, Any]:
    status, _, answer = harness.ask("POST", f"/api/v1/settings/{place}/import", text, query=query)
    return status, answer


def test_exported_files_are_taken_into_their_entries(harness: SettingsHarness) -> None:
    text = b"holiday,KeywordMatch,http://hr/h,Holidays\nholiday,KeywordMatch,http://hr/h,Holidays\n"
    assert take(harness, "frontends/intranet", text, "kind=keymatches")[1] == {
        "section": "frontends",
        "name": "intranet",
        "added": 1,
        "total": 1,
    }
    more = {"text": "holiday,KeywordMatch,http://hr/h,Holidays\ntrip,ExactMatch,http://hr/t\n"}
    assert take(harness, "frontends/intranet", more, "kind=keymatches")[1]["added"] == 1
    assert take(harness, "frontends/intranet", b"car,company car", "kind=related")[0] == 200
    value = harness.ask("GET", "/api/v1/settings/frontends/intranet")[2]["value"]
    assert ([one["term"] for one in value["keymatches"]], value["related"]) == (
        ["holiday", "trip"],
        [{"term": "car", "query": "company car"}],
    )
    assert value["bias"] == "news"
    assert take(harness, "frontends/intranet", b"x,ExactMatch,http://x/", "kind=keymatches&replace=1")[1]["total"] == 1
    assert take(harness, "synonyms/imported", b"a = b\nc > d\n", "kind=synonyms")[1]["total"] == 2


@pytest.mark.parametrize(
    ("place", "text", "query", "fault"),
    [
        ("frontends/intranet", b"x", "kind=keymatches", "line 1: 1 fields"),
        ("frontends/intranet", b"a,b\n\xff,c", "kind=related", "line 2: not UTF-8"),
        ("frontends/intranet", b"?,ExactMatch,http://x/", "kind=keymatches", "keymatches[1]: the keymatch of 'http://x/' has no term"),
        ("frontends/intranet", b"", "kind=pages", "parameter kind is 'pages'; give one of: keymatches"),
        ("collections/press", b"", "kind=keymatches", "keymatches are taken by frontends, not by collections"),
        ("frontends/a b", b"", "kind=keymatches", "is no name here"),
        ("frontends/intranet", {"file": "x"}, "kind=keymatches", "send the file as it is"),
    ],
)
def test_exported_file_with_faults_changes_nothing(harness: SettingsHarness, place: str, text: Any, query: str, fault: str) -> None:
    status, answer = take(harness, place, text, query)
    assert (status, fault in answer["detail"]) == (400, True), answer
    with harness.store.reading() as unit:
        assert unit.state.stored_settings.list() == []


def test_imports_at_once_lose_nothing(harness: SettingsHarness) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = pool.map(lambda n: take(harness, "synonyms/shared", f"a{n} = b{n}\n".encode(), "kind=synonyms")[0], range(16))
    assert list(statuses) == [200] * 16
    assert len(harness.ask("GET", "/api/v1/settings/synonyms/shared")[2]["value"]["two_way"]) == 16


# --- stylesheets ----------------------------------------------------------------------------------------------------------------

XSLT = (
    b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
    b'<xsl:template match="/"><p><xsl:value-of select="GSP/Q"/></p></xsl:template></xsl:stylesheet>'
)


def test_stylesheet_that_is_put_is_stored_and_returned(harness: SettingsHarness, tmp_path: Path) -> None:
    status, headers, answer = harness.ask("PUT", "/api/v1/settings/frontends/intranet/stylesheet", XSLT)
    assert (status, Path(answer["stylesheet"]).read_bytes()) == (200, XSLT)
    entry = harness.ask("GET", "/api/v1/settings/frontends/intranet")
    assert (entry[1]["etag"], entry[2]["value"]["bias"]) == (headers["etag"], "news")
    assert harness.ask_raw("GET", "/api/v1/settings/frontends/intranet/stylesheet") == (200, XSLT)
    other = XSLT.replace(b"<p>", b"<p >")
    assert harness.ask("PUT", "/api/v1/settings/frontends/intranet/stylesheet", other, if_match=headers["etag"])[0] == 200
    assert harness.ask("PUT", "/api/v1/settings/frontends/intranet/stylesheet", XSLT, if_match=headers["etag"])[0] == 412
    assert [path.read_bytes() for path in (tmp_path / "stylesheets").glob("*.xsl") if path.read_bytes() == other] == [other]
    assert harness.ask("PUT", "/api/v1/settings/frontends/fresh/stylesheet", XSLT)[0] == 200


@pytest.mark.parametrize(
    ("name", "body", "status"), [("intranet", b"<p/>", 400), ("intranet", b"no xml", 400), ("intranet", b"", 400), ("a%20b", XSLT, 400)]
)
def test_stylesheet_that_is_none_is_refused(harness: SettingsHarness, name: str, body: bytes, status: int) -> None:
    assert harness.ask("PUT", f"/api/v1/settings/frontends/{name}/stylesheet", body)[0] == status
    assert harness.ask("GET", "/api/v1/settings/frontends/intranet/stylesheet")[0] == 404


def test_stylesheet_path_leads_to_stylesheets_alone(harness: SettingsHarness, tmp_path: Path) -> None:
    secret, sheet = tmp_path / "secret.xml", tmp_path / "sheet.xsl"
    secret.write_text("<password>topsecret</password>")
    sheet.write_bytes(XSLT)
    status, _, answer = harness.ask("PUT", "/api/v1/settings/frontends/fresh", {"stylesheet": str(secret)})
    assert (status, "is no XSLT 1.0" in answer["detail"], "password" in answer["detail"]) == (400, True, False)
    assert harness.put("frontends/fresh", {"stylesheet": str(sheet)}) == 201
    assert harness.ask_raw("GET", "/api/v1/settings/frontends/fresh/stylesheet") == (200, XSLT)
    sheet.write_bytes(secret.read_bytes())
    status, content = harness.ask_raw("GET", "/api/v1/settings/frontends/fresh/stylesheet")
    assert (status, b"password" in content) == (500, False)


def test_fault_that_was_there_before_hinders_no_other_change(harness: SettingsHarness, tmp_path: Path) -> None:
    path = Path(harness.ask("PUT", "/api/v1/settings/frontends/intranet/stylesheet", XSLT)[2]["stylesheet"])
    path.unlink()
    assert harness.put("collections/hr", {"include": ["hr/"]}) == 201
    assert harness.ask("DELETE", "/api/v1/settings/collections/hr")[0] == 204
    assert harness.put("frontends/other", {"stylesheet": str(tmp_path / "none.xsl")}) == 400


def policies(harness: SettingsHarness) -> list[tuple[str, str, int]]:
    with harness.store.reading() as unit:
        return [(one.pattern, one.name, len(one.entries)) for one in unit.access.policies.current().policies]


def test_policy_that_is_put_is_in_force_in_the_same_transaction(harness: SettingsHarness) -> None:
    staff = {"pattern": "intranet.example.com/plans/", "permit_groups": ["staff"], "deny_users": ["CORP\\guest"]}
    assert harness.put("policy_acls/plans", staff) == 201
    assert policies(harness) == [("intranet.example.com/plans/", "plans", 2)]
    assert harness.put("policy_acls/first", {"pattern": "/", "order": -1, "permit_users": [" ann ", "ann"]}) == 201
    assert policies(harness) == [("/", "first", 1), ("intranet.example.com/plans/", "plans", 2)]
    status, headers, entry = harness.ask("GET", "/api/v1/settings/policy_acls/plans")
    assert (status, entry["value"]["permit_groups"]) == (200, ["staff"])
    assert harness.put("policy_acls/plans", staff, if_match='"x"') == 412
    assert harness.put("policy_acls/plans", staff | {"deny_users": []}, if_match=headers["etag"]) == 200
    assert harness.ask("DELETE", "/api/v1/settings/policy_acls/first")[0] == 204
    assert policies(harness) == [("intranet.example.com/plans/", "plans", 1)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"permit_users": ["ann"]}, "pattern"),
        ({"pattern": "-example.com/"}, "is an exception"),
        ({"pattern": "regexp:("}, "no regular expression"),
        ({"pattern": "example.com/", "permit_users": [" "]}, "without a name"),
        ({"pattern": "example.com/", "principals": [{"scope": "role", "name": "x"}]}, "scope"),
        ({"pattern": " taken.example.com/ "}, "has a policy already"),
    ],
    ids=["no pattern", "exception", "expression", "blank", "scope", "twice"],
)
def test_policy_that_cannot_be_is_refused_and_not_in_force(harness: SettingsHarness, value: Any, text: str) -> None:
    assert harness.put("policy_acls/a", {"pattern": "taken.example.com/"}) == 201
    status, _, answer = harness.ask("PUT", "/api/v1/settings/policy_acls/b", value)
    assert status == 400
    assert text in json.dumps(answer)
    assert policies(harness) == [("taken.example.com/", "a", 0)]


OLD_POLICIES = """# exported
intranet.example.com/ user:ann group:staff
contains:b group:b namespace=hr case=insensitive
contains:a user:ann right=none group:a
"""


def test_file_of_policies_is_taken_in_and_given_out_in_its_order(harness: SettingsHarness) -> None:
    harness.put("policy_acls/mine", {"pattern": "intranet.example.com/", "permit_users": ["bob"], "order": 5})
    harness.put("policy_acls/other", {"pattern": "other.example.com/", "permit_users": ["bob"]})
    status, _, answer = harness.ask("POST", "/api/v1/policy-acls/import", OLD_POLICIES.encode())
    assert (status, answer) == (200, {"added": 2, "changed": 1, "removed": 0, "total": 4})
    status, content = harness.ask_raw("GET", "/api/v1/policy-acls/export")
    assert content.decode() == (
        "other.example.com/ user:bob\n"
        "contains:b group:b namespace=hr case=insensitive\n"
        "contains:a user:ann right=none group:a\n"
        "intranet.example.com/ group:staff user:ann\n"
    )
    entry = harness.ask("GET", "/api/v1/settings/policy_acls/mine")[2]["value"]
    assert (entry["permit_users"], entry["permit_groups"], entry["order"]) == (["ann"], ["staff"], 5)
    status, _, answer = harness.ask("POST", "/api/v1/policy-acls/import", {"text": OLD_POLICIES}, query="replace=1")
    assert (status, answer) == (200, {"added": 0, "changed": 3, "removed": 1, "total": 3})
    assert harness.ask("POST", "/api/v1/policy-acls/import", b"new/ x\n")[2]["added"] == 1
    assert [name for _, name, _ in policies(harness)] == ["policy-000001", "policy-000002", "policy-000003", "mine"]


def test_policies_for_a_url_are_listed_with_the_one_that_counts_first(harness: SettingsHarness) -> None:
    harness.ask("POST", "/api/v1/policy-acls/import", OLD_POLICIES.encode())
    answer = harness.ask("GET", "/api/v1/policy-acls", query="url=http://intranet.example.com/a/b")[2]
    assert [(one["kind"], one["pattern"]) for one in answer["policies"]] == [
        ("prefix", "intranet.example.com/"),
        ("pattern", "contains:b"),
        ("pattern", "contains:a"),
    ]
    assert answer["policies"][1]["principals"] == [
        {"scope": "group", "namespace": "hr", "name": "b", "case_sensitive": False, "access": "permit"}
    ]
    assert answer["obeyed"] is False
    assert len(harness.ask("GET", "/api/v1/policy-acls")[2]["policies"]) == 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [(b"a/ user:x\nb/\n", "line 2"), (b"a/ x\n-b/ x\n", "is an exception"), (b"\xff", "line 1: not UTF-8")],
    ids=["principal", "pattern", "encoding"],
)
def test_file_of_policies_with_a_fault_changes_nothing(harness: SettingsHarness, text: bytes, fault: str) -> None:
    status, _, answer = harness.ask("POST", "/api/v1/policy-acls/import", text)
    assert (status, fault in json.dumps(answer)) == (400, True)
    assert policies(harness) == []
