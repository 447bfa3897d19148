"""The script of a counterpart: a TOML file with what it serves, and with the requests that it answers in another way."""

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from feedmill.model.errors import BadSettings

MAX_SCRIPT_BYTES = 64 << 20


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rule(_Table):
    """Requests that are answered in another way. The first rule that matches and is not used up counts."""

    method: str = ""
    path: str = "*"
    query: dict[str, str] = {}
    #: Matching requests that pass before the rule begins.
    skip: int = Field(default=0, ge=0)
    #: How many requests the rule answers; 0 for all.
    times: int = Field(default=0, ge=0)
    #: None, with neither a body nor a file, leaves the usual answer.
    status: int | None = Field(default=None, ge=200, le=599)
    body: str | None = None
    file: str = ""
    headers: dict[str, str] = {}
    delay_seconds: float = Field(default=0.0, ge=0.0)
    #: "close" closes the connection without an answer, "cut" in the middle of the body.
    fault: Literal["", "close", "cut"] = ""

    @property
    def replaces_answer(self) -> bool:
        """Whether the rule has an answer of its own."""
        return self.status is not None or self.body is not None or bool(self.file)


class Script(_Table):
    """What every counterpart can do."""

    answers: list[Rule] = []


class ApplianceScript(Script):
    """An appliance that takes feeds."""

    version: str = "7.4.0-0"
    backlog: int = Field(default=0, ge=0)
    #: Whether senders are trusted.
    trusted: bool = True


class DataloadScript(Script):
    """A server that takes dataloads."""

    profiles: list[str] = ["default"]
    #: Whether senders are allowed.
    trusted: bool = True


class AclEntry(_Table):
    """A principal of an ACL."""

    name: str
    access: Literal["permit", "deny"] = "permit"
    scope: Literal["user", "group"] = "user"
    namespace: str = ""
    case_sensitive: bool = True


class AdaptorAcl(_Table):
    """The ACL of a document of an adaptor. Shape: the inheritance type as Java spells it, such as ``CHILD_OVERRIDES``, "" for leaf-node."""

    entries: list[AclEntry] = []
    inherit_from: str = ""
    inheritance_type: Literal["", "CHILD_OVERRIDES", "PARENT_OVERRIDES", "AND_BOTH_PERMIT"] = ""


class AdaptorDocument(_Table):
    """A document of an adaptor, served at ``/doc/ID``."""

    id: str
    content: str = ""
    file: str = ""
    mimetype: str = "text/plain; charset=utf-8"
    last_modified: datetime | None = None
    metadata: dict[str, str | list[str]] = {}
    acl: AdaptorAcl | None = None
    secure: bool = False
    display_url: str = ""
    crawl_once: bool | None = None
    lock: bool | None = None
    robots: list[Literal["noindex", "nofollow", "noarchive"]] = []
    #: Pairs of a text, which may be "", and a URL.
    anchors: list[tuple[str, str]] = []
    #: Answers 204, which keeps the content, to conditional requests in place of 304.
    skip_content: bool = False


class AdaptorDecision(_Table):
    """Whether a user may see a document. Every document that no decision names is denied."""

    user: str
    id: str
    decision: Literal["Permit", "Deny"] = "Permit"


class AdaptorScript(Script):
    """An adaptor."""

    documents: list[AdaptorDocument] = []
    decisions: list[AdaptorDecision] = []
    #: Whether the crawler is trusted: only then the answers have X-Gsa headers.
    trusted: bool = True


class SeedlistScriptEntry(_Table):
    """An entry of a seedlist. Shape: crawls count from 1; a crawl begins with a request without ``State``."""

    id: str
    title: str = ""
    summary: str = ""
    content: str | None = None
    mimetype: str = "text/plain"
    display_url: str = ""
    updated: datetime | None = None
    #: None: every user may see the entry; empty: no user.
    acls: list[str] | None = None
    fields: dict[str, str | list[str]] = {}
    authors: list[str] = []
    #: The crawl from which on the entry is listed.
    since: int = Field(default=1, ge=1)
    #: The crawl from which on it is deleted; 0 for never.
    until: int = Field(default=0, ge=0)


class SeedlistScript(Script):
    """A server of seedlists."""

    entries: list[SeedlistScriptEntry] = []
    range: int = Field(default=100, ge=1)
    #: Whether every page has a timestamp, as those of Portal do, or only the last one.
    timestamp_on_every_page: bool = False
    user: str = ""
    password: str = ""


S = TypeVar("S", bound=Script)


def read_script(path: Path | None, kind: type[S]) -> S:
    """Reads a script; without a path it is empty. Paths of files in it are relative to it. Errors: BadSettings, OSError."""
    if path is None:
        return kind()
    data = path.read_bytes()
    if len(data) > MAX_SCRIPT_BYTES:
        raise BadSettings([f"{path}: a script has at most {MAX_SCRIPT_BYTES} bytes"])
    try:
        return kind.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise BadSettings([f"{path}: {exc}"]) from exc
    except ValidationError as exc:
        faults = [f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in exc.errors(include_url=False)]
        raise BadSettings(faults) from exc
