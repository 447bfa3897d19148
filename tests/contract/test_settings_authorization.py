from pathlib import Path

import pytest

from feedmill.model.authorization import Mechanism, Trust
from feedmill.model.errors import BadSettings
from feedmill.model.policyacl import EarlyMechanism
from feedmill.settings.authorization import early_order, limits_of, rules_of
from tests.builders.settings import load_text
from tests.selfsigned import CERTIFICATE, KEY

SAML = '[[authorization]]\nmechanism = "saml"\npatterns = ["wiki.example.com/"]\nendpoint = "https://wiki.example.com:5678/saml-authz"\n'
HEAD = '[[authorization]]\nmechanism = "head"\npatterns = ["https://wiki.example.com/"]\nuser_header = "X-User"\n'
CONNECTOR = (
    '[[authorization]]\nmechanism = "connector"\npatterns = ["^googleconnector://"]\nendpoint = "http://cm:8080/connector-manager"\n'
)
DENY = '[[authorization]]\nmechanism = "deny"\npatterns = ["contains:secret"]\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SAML.replace("endpoint", "issuer"), "authorization[1].endpoint: saml needs the URL"),
        (
            SAML.replace("https://", "https://user@"),
            "f.toml:4: authorization[1].endpoint: 'https://user@wiki.example.com:5678/saml-authz'",
        ),
        (SAML.replace("https://", "ftp://"), "is no address for requests"),
        (SAML + 'user_header = "X-User"\n', "the header is for mechanism 'head'"),
        (SAML + "forward_password = true\ncredential = false\n", "no place for a password"),
        (SAML + 'allow_private = ["/"]\n', "an endpoint may be anywhere"),
        (SAML + 'name = "a"\n' + SAML + 'name = "a"\n', "authorization[2].name: 'a' is there already"),
        (SAML + 'ca_file = "none.pem"\n', "there is no file '"),
        (SAML + 'ca_file = "f.toml"\n', "holds no certificate in PEM"),
        (SAML + 'key = "f.toml"\n', "give both"),
        (SAML + 'certificate = "f.toml"\nkey = "f.toml"\n', "do not serve together"),
        (SAML.replace("saml", "soap", 1), "mechanism"),
        (SAML.replace('["wiki.example.com/"]', "[]"), "patterns"),
        (SAML.replace("wiki.example.com/", "-wiki.example.com/", 1), "exception"),
        (HEAD.replace('user_header = "X-User"', ""), "head needs something by which servers know the user"),
        (HEAD.replace("https://wiki.example.com/", "wiki.example.com/"), "may mean any host"),
        (HEAD.replace("https://wiki.example.com/", "^https://wiki.example.com"), "may mean any host"),
        (HEAD.replace("https://wiki.example.com/", "/"), "may mean any host"),
        (HEAD.replace("X-User", "Authorization"), "has another meaning"),
        (HEAD + 'endpoint = "https://wiki.example.com/"\n', "an endpoint is for mechanism 'saml'"),
        ("[late_binding]\nseconds = 0\n", "late_binding.seconds"),
        (CONNECTOR.replace("endpoint", "#"), "authorization[1].endpoint: connector needs the URL of the connector manager"),
        (CONNECTOR + 'user_header = "X-User"\n', "authorization[1].user_header: means nothing for mechanism 'connector'"),
        (SAML + 'connector = "x"\n', "this is for mechanism 'connector'"),
        (DENY + 'endpoint = "http://x/"\n', "means nothing for mechanism 'deny'"),
        ('[mechanisms]\norder = ["saml", "saml"]\n', "'saml' stands in it twice"),
        ('[mechanisms]\norder = ["head", "policy"]\n', "'policy' stands behind 'head'"),
        ('[mechanisms]\norder = ["cookies"]\n', "mechanisms.order"),
        ("[mechanisms]\nconfirm_permits = true\n", "no user would see what is not public"),
        ('[mechanisms]\nconfirm_permits = true\norder = ["head"]\n' + SAML, "no user would see what is not public"),
    ],
    ids=[
        *("no-endpoint", "user-in-endpoint", "scheme", "saml-header", "no-credential", "saml-private", "twice", "no-file", "no-pem"),
        *("half", "bad-pair", "mechanism", "no-pattern", "exception", "no-proof", "host", "prefix", "everything", "header"),
        *("head-endpoint", "time", "no-manager", "connector-header", "connector-name", "deny", "doubled", "late-policy", "unknown"),
        *("unconfirmed", "left-out"),
    ],
)
def test_authorization_with_a_fault_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load_text(tmp_path, text)
    assert fault in str(caught.value)


def test_authorization_makes_rules_with_files_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    files = 'ca_file = "ca.pem"\ncertificate = "ca.pem"\nkey = "key.pem"\n'
    text = SAML + files + HEAD + 'method = "GET"\nname = "files"\n[late_binding]\nseconds = 2.5\n'
    settings = load_text(tmp_path, text, FEEDMILL_LATE_BINDING_CACHE_ENTRIES="7").settings
    first, second = rules_of(settings.authorization)
    assert (first.label, first.mechanism, second.label, second.uses_get) == ("authorization 1", Mechanism.SAML, "files", True)
    assert first.trust == Trust(ca=str(tmp_path / "ca.pem"), certificate=str(tmp_path / "ca.pem"), key=str(tmp_path / "key.pem"))
    limits = limits_of(settings.late_binding)
    assert (limits.seconds, limits.cache_entries) == (2.5, 7)


@pytest.mark.parametrize(
    ("order", "labels", "early"),
    [
        (None, ["2", "4", "3", "1", "5"], (EarlyMechanism.ACL, EarlyMechanism.POLICY)),
        (["policy", "per-url-acl", "deny", "head", "saml"], ["5", "1", "2", "4"], (EarlyMechanism.POLICY, EarlyMechanism.ACL)),
        (["cache", "policy", "connector"], ["3"], (EarlyMechanism.POLICY,)),
        ([], [], ()),
    ],
    ids=["default", "turned", "few", "none"],
)
def test_rules_stand_in_the_order_of_mechanisms_and_then_of_the_file(
    tmp_path: Path, order: list[str] | None, labels: list[str], early: tuple[EarlyMechanism, ...]
) -> None:
    text = HEAD + SAML + CONNECTOR + SAML + DENY + ("" if order is None else f"[mechanisms]\norder = {order}\n")
    settings = load_text(tmp_path, text).settings
    rules = rules_of(settings.authorization, settings.mechanisms)
    assert [rule.label.removeprefix("authorization ") for rule in rules] == labels
    assert early_order(settings.mechanisms) == early
    cache_seconds = limits_of(settings.late_binding, settings.mechanisms).cache_seconds
    assert (cache_seconds == 0) is (order is not None and "cache" not in order)
