"""The manual names every setting, command, option, route and metric, and its links lead somewhere."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from typer.main import get_command

from feedmill.adapters.notifier import SocketNotifier
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.adapters.xslt.folder import StylesheetFolder
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.bootstrap.context import utc_now
from feedmill.cli.main import build_app
from feedmill.http.admin.api.access import AccessTools
from feedmill.http.admin.api.policies import policy_routes
from feedmill.http.admin.api.signin import signin_routes
from feedmill.http.admin.app import admin_app
from feedmill.http.common.problems import Problem, describe_problem
from feedmill.http.search.frontends import StylesheetEngine
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.http.signin.openid import OpenIdRoutes
from feedmill.http.signin.openidlogout import OpenIdLogoutRoutes
from feedmill.http.signin.page import PageTools, SignInPage
from feedmill.http.signin.providersignin import ProviderSignIn
from feedmill.http.signin.saml import SamlRoutes
from feedmill.http.signin.samllogout import SamlLogoutRoutes
from feedmill.http.signin.signout import ProviderLogouts
from feedmill.model.audit import AuditKind
from feedmill.runtime.roles import ROLES, list_subscribers
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.explaining import Explaining
from feedmill.services.access.history.changes import AccessChanges
from feedmill.services.signin.onetimecodes import OneTimeCodes
from feedmill.services.signin.sessions import SessionService
from feedmill.services.signin.signing import SignInServices
from feedmill.settings import load_settings
from feedmill.settings.authorization import AuthorizationSettings
from feedmill.settings.crawling import (
    CrawlAccess,
    CrawlHeader,
    CrawlProxy,
    DateRule,
    DuplicateHosts,
    HostLoadException,
    ShareSettings,
)
from feedmill.settings.editing import SettingsEditor
from feedmill.settings.policyacls import PolicyAclSettings
from feedmill.settings.sections import DataSourceSettings, list_keys
from feedmill.settings.servingsections import BiasSettings, CollectionSettings, FrontEndSettings, SynonymSettings
from feedmill.settings.signin import LdapProvider, OidcSettings, Provider, SamlSettings
from feedmill.telemetry.metrics import GAUGES, render_metrics
from tests.builders.administration import make_administration

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SECTIONS = sorted({".".join(path[:-1]) for path, _ in list_keys() if len(path) > 1})


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def section(text: str, heading: str) -> str:
    """Returns a section of a page, from its heading to the next of the same level."""
    match = re.search(rf"^## {re.escape(heading)}.*?$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert match is not None, f"no section {heading}"
    return match.group(1)


def list_documented_keys(text: str) -> set[str]:
    """Returns the names in the first column of the tables of a section."""
    return {name for line in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)}


@pytest.mark.parametrize("problem", Problem, ids=lambda problem: problem.code)
def test_every_error_has_its_place_and_leads_there(problem: Problem) -> None:
    name, _, anchor = str(describe_problem(problem, "")["type"]).partition("#")
    path = name.replace("/manual/", "docs/").removesuffix(".html")
    assert f"### {anchor}\n\nStatus {problem.status}. " in (ROOT / f"{path}.md").read_text()


@pytest.mark.parametrize("name", SECTIONS)
def test_every_setting_is_documented(name: str) -> None:
    text = section(page("reference/settings.md"), f"[{name}]")
    keys = {path[-1] for path, _ in list_keys() if ".".join(path[:-1]) == name}
    assert keys == list_documented_keys(text)


def test_every_setting_of_lists_is_documented() -> None:
    text = page("reference/settings.md")
    for heading, model in (
        ("[[datasources]]", DataSourceSettings),
        ("[[crawl.access]]", CrawlAccess),
        ("[[crawl.dates]]", DateRule),
        ("[[crawl.duplicate_hosts]]", DuplicateHosts),
        ("[[crawl.headers]]", CrawlHeader),
        ("[[crawl.host_loads]]", HostLoadException),
        ("[[crawl.proxies]]", CrawlProxy),
        ("[[crawl.shares]]", ShareSettings),
        ("[[collections]]", CollectionSettings),
        ("[[frontends]]", FrontEndSettings),
        ("[[synonyms]]", SynonymSettings),
        ("[[biases]]", BiasSettings),
        ("[[authorization]]", AuthorizationSettings),
        ("[[policy_acls]]", PolicyAclSettings),
    ):
        assert list_documented_keys(section(text, heading)) == set(model.model_fields)


@pytest.mark.parametrize(
    ("heading", "model"),
    [("[[signin.ldap]]", LdapProvider), ("[[signin.oidc]]", OidcSettings), ("[[signin.saml]]", SamlSettings)],
    ids=lambda value: str(value) if "[" in str(value) else "",
)
def test_every_setting_of_providers_is_documented(heading: str, model: type[Provider]) -> None:
    assert list_documented_keys(section(page("reference/settings.md"), heading)) == set(model.model_fields)


def commands() -> Iterator[tuple[str, object]]:
    for name, command in get_command(build_app()).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        yield name, command
        for inner_name, inner_command in inner.items():
            yield f"{name} {inner_name}", inner_command


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_and_option_is_documented(name: str, command: object) -> None:
    text = page("reference/command-line.md")
    assert f"feedmill {name}" in text
    shared = text.partition("## serve")[0]
    heading = name if f"\n## {name}\n" in text else name.partition(" ")[0]
    if name not in ("config", "audit", "access", "policies", "adaptor", "conformance"):
        own = section(text, heading)
        for parameter in command.params:  # type: ignore[attr-defined]
            options = [option for option in parameter.opts if option.startswith("--")]
            assert all(f"{option}" in own or f"`{option} " in shared or f"`{option}`" in shared for option in options), options


def test_manual_shows_only_commands_and_options_that_exist() -> None:
    known = dict(commands())
    place = re.compile(r"(?:^(?:.*\| )?(?:\.venv/bin/)?|`)feedmill (?!--)([^`\n]*)", re.MULTILINE)
    shown = [line for path in PAGES for line in place.findall(path.read_text())]
    assert len(shown) >= 100
    for line in shown:
        words = re.sub(r"[][]", " ", line.partition("  #")[0].partition(" | ")[0]).split()
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        assert name in known, line
        taken = {option for parameter in known[name].params for option in parameter.opts}  # type: ignore[attr-defined]
        assert {word for word in words if word.startswith("--")} <= taken | {"--help"}, line


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_takes_the_shared_options(name: str, command: object) -> None:
    if name not in ("config", "audit", "access", "policies", "adaptor", "conformance"):
        taken = {option for parameter in command.params for option in parameter.opts}  # type: ignore[attr-defined]
        assert {"--data", "--config", "--json"} <= taken


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_shows_examples(name: str, command: object) -> None:
    epilog = getattr(command, "epilog", "") or ""
    assert f"feedmill {name}" in epilog
    assert epilog.startswith("Example")


def test_every_admin_route_is_documented(tmp_path: Path) -> None:
    administration = make_administration()
    text = page("reference/admin-port.md")
    with contextlib.closing(open_sqlite(tmp_path / "store.sqlite")) as store:
        editor = SettingsEditor(store, lambda: load_settings(None, {}), SocketNotifier(tmp_path, "command", list_subscribers))
        retention = timedelta(days=90)
        explaining, changes = Explaining(store, utc_now, retention), AccessChanges(store, utc_now, retention)
        access = AccessTools(explaining=explaining, changes=changes, review=AccessReview(store))
        whole = replace(
            administration,
            settings=editor,
            stylesheets=StylesheetStore(editor, StylesheetEngine(repository=StylesheetFolder(tmp_path), transformer=ProcessTransformer())),
            access=access,
            policy_routes=policy_routes(store, editor),
        )
        for route in admin_app(whole, "x").routes:
            assert f"{route.path}`" in text  # type: ignore[attr-defined]


def test_every_route_of_signing_in_is_documented() -> None:
    text = page("reference/admin-port.md") + page("reference/sign-in.md")
    routes = signin_routes(cast(SignInServices, SimpleNamespace(accounts=None, tokens=None, auditing=None)))
    routes += [*SignInPage(cast(PageTools, None)).routes(), *OpenIdRoutes((), cast(ProviderSignIn, None)).routes()]
    routes += SamlRoutes((), cast(ProviderSignIn, None), cast(OneTimeCodes, None)).routes()
    logout = (cast(ProviderSignIn, None), cast(SessionService, None), cast(OneTimeCodes, None), cast(ProviderLogouts, None))
    routes += [*OpenIdLogoutRoutes((), *logout).routes(), *SamlLogoutRoutes((), *logout).routes()]
    for route in routes:
        assert f"`{route.path}`" in text or f"{route.path}`" in text, route.path


def test_every_kind_of_audit_entry_is_documented() -> None:
    text = page("reference/audit-log.md")
    assert {kind.value for kind in AuditKind if f"`{kind.value}`" not in text} == set()


def test_every_metric_and_role_is_documented() -> None:
    text = page("reference/operation.md")
    rendered = render_metrics(lambda: dict.fromkeys(GAUGES, 0.0), dict).decode()
    names = {name for name in re.findall(r"^# TYPE (\w+)", rendered, re.MULTILINE) if not name.endswith("_created")}
    assert len(names) >= 10
    assert {name for name in names if f"`{name}`" not in text} == set()
    assert all(f"`feedmill: {role.name}`" in text for role in ROLES)


def test_every_page_is_in_the_index() -> None:
    linked = set(re.findall(r"\]\(([^)#\s]+)\)", page("index.md")))
    assert {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} - linked == {"index.md"}


def test_decisions_are_called_in_the_index_as_they_call_themselves() -> None:
    text = page("index.md").lower()
    for path in sorted((ROOT / "docs" / "adr").glob("*.md")):
        number, title = re.fullmatch(r"# (\d+)\. (.*)", path.read_text().partition("\n")[0]).groups()  # type: ignore[union-attr]
        assert f"[decision {number}: {title.lower()}](adr/{path.name})" in text


def test_architecture_names_only_what_is_there() -> None:
    source = ROOT / "src" / "feedmill"
    # a folder that was removed may stay behind with caches in it
    folders = "|".join({path.relative_to(source).parts[0] for path in source.glob("*/**/*.py")})
    named = re.findall(rf"(?<![\w/])(?:{folders})(?:/\w+)+(?:\.py)?", (ROOT / "ARCHITECTURE.md").read_text())
    assert len(named) >= 40
    assert [name for name in named if not ((source / name).exists() or (source / f"{name}.py").exists())] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        aimed = (path.parent / file).resolve() if file else path
        assert aimed.exists(), f"{path.name} links to {target}"
        if anchor:
            assert anchor in {slug(heading) for heading in re.findall(r"^#+ (.*)$", aimed.read_text(), re.MULTILINE)}, target


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
