"""The authorizer of a command line adaptor: what it gets, and what its answer means."""

from pathlib import Path

import pytest

from feedmill.adapters.commands import ProcessCommands
from feedmill.model.authorization import AuthorizationRule, Login, Mechanism
from feedmill.model.decision import Verdict
from feedmill.model.errors import UpstreamFailure
from feedmill.model.identity import Identity, Subject
from feedmill.model.scope import Scope
from feedmill.services.authorization.adaptorauthorizer import AdaptorAuthorizer, AuthorizerCommand
from feedmill.wire.commandstream.adapt import DocumentIds

BASE = "adaptor://files/"
ANN = Identity(
    users=(Subject(scope=Scope.USER, name="ann", domain="corp"),),
    groups=(Subject(scope=Scope.GROUP, name="staff"), Subject(scope=Scope.GROUP, name="far", namespace="other")),
)
HEAD = "printf 'GSA Adaptor Data Version 1 [\\n]\\n"


def make(folder: Path, script: str, *, delimiter: str = "\n", forwards: bool = False, seconds: float = 30.0) -> AdaptorAuthorizer:
    path = folder / "authorizer"
    path.write_text(f"#!/bin/sh\ncat > question\n{script}\n")
    path.chmod(0o755)
    rule = AuthorizationRule(
        label="files", mechanism=Mechanism.ADAPTOR, patterns=(f"^{BASE}",), forwards_password=forwards, seconds=seconds, batch=3
    )
    command = AuthorizerCommand(arguments=("./authorizer",), folder=str(folder), delimiter=delimiter)
    return AdaptorAuthorizer(rule, command, DocumentIds(base=BASE), ProcessCommands(folder / "files"))


def test_authorizer_gets_the_question_of_the_library_and_its_answer_decides(tmp_path: Path) -> None:
    answer = (
        "id=a b\\nauthz-status=PERMIT\\nid=c\\nauthz-status=DENY\\nid=d\\nauthz-status=INDETERMINATE\\nid=zzz\\nauthz-status=PERMIT\\n'"
    )
    authorizer = make(tmp_path, HEAD + answer, forwards=True)
    urls = [f"{BASE}a%20b", f"{BASE}c", f"{BASE}d", f"{BASE}e"]
    login = Login(name="ann", password="secret", namespaces=("Default",))
    found = authorizer.decide(urls, ANN, login, 30)
    assert found == dict(zip(urls, (Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE, Verdict.DENY), strict=True))
    lines = ["username=ann@corp", "password=secret", "group=staff", "id=a b", "id=c", "id=d", "id=e"]
    assert (tmp_path / "question").read_text() == "GSA Adaptor Data Version 1 [\n]\n" + "".join(f"{line}\n" for line in lines)
    assert authorizer.split(urls) == [urls[:3], urls[3:]]


def test_authorizer_matches_the_documents_of_its_adaptor_only(tmp_path: Path) -> None:
    authorizer = make(tmp_path, "")
    assert authorizer.matches(f"{BASE}a")
    assert not authorizer.matches("adaptor://others/a")
    assert not authorizer.matches(f"{BASE}%zz")


def test_what_contains_the_delimiter_is_never_passed(tmp_path: Path) -> None:
    authorizer = make(tmp_path, HEAD + "id=b\\nauthz-status=PERMIT\\n'")
    url, bad = f"{BASE}b", f"{BASE}a%0Aid=b"
    assert authorizer.decide([bad, url], ANN, None, 30) == {url: Verdict.PERMIT}
    (tmp_path / "question").unlink()
    mallory = Identity(users=(Subject(scope=Scope.USER, name="mallory\nusername=ann"),))
    assert authorizer.decide([url], mallory, None, 30) == {}
    assert authorizer.decide([url], Identity(), None, 30) == {}
    assert not (tmp_path / "question").exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (HEAD + "id=a\\nauthz-status=PERMIT\\n'; exit 2", "the authorizer ended with status 2"),
        ("echo rubbish", "the output of the authorizer cannot be read at byte "),
        (HEAD + "id=a\\nauthz-status=PERMIT\\n'; exec sleep 1000", "the authorizer did not end within 2 s"),
        ("exec cat /dev/zero", "the authorizer printed more than 16000000 bytes$"),
    ],
)
def test_authorizer_that_fails_decides_nothing(tmp_path: Path, script: str, reason: str) -> None:
    authorizer = make(tmp_path, script, seconds=2.0 if "sleep" in script else 30.0)
    with pytest.raises(UpstreamFailure, match=reason):
        authorizer.decide([f"{BASE}a"], ANN, None, 30)


def test_authorizer_need_not_read_its_question(tmp_path: Path) -> None:
    authorizer = make(tmp_path, "")
    (tmp_path / "authorizer").write_text(f"#!/bin/sh\n{HEAD}id=a\\nauthz-status=PERMIT\\n'\n")
    others = [f"{BASE}{'x' * 1_000}{number}" for number in range(200)]
    found = authorizer.decide([f"{BASE}a", *others], ANN, None, 30)
    assert found[f"{BASE}a"] is Verdict.PERMIT
    assert set(found.values()) == {Verdict.PERMIT, Verdict.DENY}
