"""The JSON resources of the admin port."""

from functools import partial
from typing import Final

from feedmill.http.common.adminanswers import (
    AccessChangesShown,
    AccountShown,
    AuditVerified,
    CrawlRemoved,
    CrawlRequested,
    FindingsShown,
    Imported,
    ImportedPolicies,
    PoliciesShown,
    PrincipalsShown,
    Rebuild,
    SessionsEnded,
    SettingShown,
    StatusShown,
    StylesheetStored,
    TokenMade,
    TokenShown,
)
from feedmill.http.common.paging import CURSOR, make_limit
from feedmill.http.common.requestbodies import NewToken, NewUser, SessionsOfUser, SettingValue, UserChange
from feedmill.http.common.resource import ADMIN_PORT, Parameter, Resource
from feedmill_client.adminanswers import CrawlEntryShown, CrawlShown, DecisionShown, Diagnosis, PullSourceShown, RunShown

_LINES: Final = "application/jsonl"
_DIGITS: Final = "[0-9]{1,18}"
_TIME: Final = "a time such as 2026-03-01 or 2026-03-01T12:30:00"

_SOURCE: Final = Parameter("name", "the pull source", is_required=True)
_SECTION: Final = Parameter("section", "collections, frontends, synonyms, biases or query", is_required=True)
_ENTRY: Final = Parameter("name", "the entry", is_required=True)
_KIND: Final = Parameter("kind", "what the file holds", is_required=True, values=("keymatches", "related", "synonyms"))
_REPLACE: Final = Parameter("replace", "`true` replaces what was there", "boolean")
_FILE: Final = "application/octet-stream"
_KNOWN_URL: Final = Parameter("url", "the URL, percent-encoded", is_required=True)
_PATTERN: Final = Parameter("url", "a URL or a pattern of URLs", is_required=True)
_PART: Final = Parameter("after", "compares one part of the known URLs only, those behind this URL; empty for the first part")
_USER: Final = Parameter("user", "the user, in the notation of ACLs; nobody by default")
_NAMESPACE: Final = Parameter("namespace", "the namespace of the user and the groups", default="Default")
_GROUP: Final = Parameter("group", "a group of the user", is_repeatable=True)
_AT: Final = Parameter("at", f"{_TIME}: the decision as it was then")
_LIMIT: Final = make_limit(100)
_ALL: Final = (make_limit(None), CURSOR)
_AFTER: Final = Parameter("after", "`next_after` of the page before", pattern=_DIGITS)
_FINDING: Final = Parameter("finding", "nobody, unresolved or public", is_required=True)
_ACCOUNT: Final = (Parameter("name", "the user", is_required=True), Parameter("namespace", "the namespace of the user", default="Default"))

_READ: Final = (400, 401, 403, 429, 503)
_FIND: Final = (400, 401, 403, 404, 429, 503)
_CHANGE: Final = (400, 401, 403, 404, 409, 429, 503)
_EDIT: Final = (400, 401, 403, 404, 409, 412, 413, 429, 503)


_resource = partial(Resource, port=ADMIN_PORT)


def _setting_resources(section: str, suffix: str) -> tuple[Resource, ...]:
    """Returns the resources of the entries of a section. Policy ACLs have paths of their own, because they need another role."""
    path = f"/api/v1/settings/{section}"
    of_section = (_SECTION,) if section.startswith("{") else ()
    of_entry = (*of_section, _ENTRY)
    return (
        _resource(
            method="get",
            path=path,
            name=f"list{suffix}",
            summary="Lists the entries of a section.",
            answer=SettingShown,
            is_list=True,
            parameters=(*of_section, *_ALL),
            errors=_FIND,
        ),
        _resource(
            method="get",
            path=f"{path}/{{name}}",
            name=f"get{suffix}",
            summary="Returns an entry.",
            answer=SettingShown,
            parameters=of_entry,
            errors=_FIND,
        ),
        _resource(
            method="put",
            path=f"{path}/{{name}}",
            name=f"put{suffix}",
            summary="Sets an entry.",
            adds=True,
            answer=SettingShown,
            body=SettingValue,
            parameters=of_entry,
            errors=_EDIT,
        ),
        _resource(
            method="delete",
            path=f"{path}/{{name}}",
            name=f"remove{suffix}",
            summary="Removes what was set by API.",
            answer=None,
            status=204,
            parameters=of_entry,
            errors=_EDIT,
        ),
        _resource(
            method="post",
            path=f"{path}/{{name}}/import",
            name=f"import{suffix}",
            summary="Adds the content of a file that was exported from an appliance.",
            answer=Imported,
            body=_FILE,
            parameters=(*of_entry, _KIND, _REPLACE),
            errors=_EDIT,
        ),
    )


ADMIN_RESOURCES: Final = (
    _resource(
        method="get",
        path="/api/v1/status",
        name="readStatus",
        summary="Returns what `feedmill status --json` prints.",
        answer=StatusShown,
        errors=_READ,
    ),
    _resource(
        method="post",
        path="/api/v1/reindex",
        name="rebuildIndex",
        summary="Begins to rebuild the index.",
        answer=Rebuild,
        status=202,
        errors=_CHANGE,
    ),
    _resource(
        method="delete",
        path="/api/v1/datasources/{name}",
        name="removeDatasource",
        summary="Deletes the documents of a data source and waits until they are gone.",
        answer=None,
        status=204,
        parameters=(
            Parameter("name", "the data source", is_required=True),
            Parameter("destroy", "`true` deletes its name and feeds too", "boolean"),
        ),
        errors=_CHANGE,
    ),
    _resource(
        method="get",
        path="/api/v1/settings/frontends/{name}/stylesheet",
        name="getStylesheet",
        summary="Returns the stylesheet of a front end as it is.",
        answer=None,
        media_type="text/xml",
        parameters=(Parameter("name", "the front end", is_required=True),),
        errors=_FIND,
    ),
    _resource(
        method="put",
        path="/api/v1/settings/frontends/{name}/stylesheet",
        name="putStylesheet",
        summary="Sets the stylesheet of a front end: XSLT 1.0 without imports.",
        answer=StylesheetStored,
        body="text/xml",
        parameters=(Parameter("name", "the front end", is_required=True),),
        errors=_EDIT,
    ),
    *_setting_resources("policy_acls", "PolicyAcls"),
    *_setting_resources("{section}", "Settings"),
    _resource(
        method="get",
        path="/api/v1/policy-acls",
        name="showPolicies",
        summary="Returns the policy ACLs in force.",
        answer=PoliciesShown,
        parameters=(Parameter("url", "only those that match this URL, the one that applies first"),),
        errors=_READ,
    ),
    _resource(
        method="get",
        path="/api/v1/policy-acls/export",
        name="exportPolicies",
        summary="Returns all policy ACLs as lines of text.",
        answer=None,
        media_type="text/plain",
        errors=_READ,
    ),
    _resource(
        method="post",
        path="/api/v1/policy-acls/import",
        name="importPolicies",
        summary="Sets the policy ACLs of a text.",
        answer=ImportedPolicies,
        body=_FILE,
        parameters=(Parameter("replace", "`true` removes all others that were set by API", "boolean"),),
        errors=_EDIT,
    ),
    _resource(
        method="get",
        path="/api/v1/sources",
        name="listSources",
        summary="Lists the pull sources of the settings.",
        answer=PullSourceShown,
        is_list=True,
        parameters=_ALL,
        errors=_READ,
    ),
    _resource(
        method="get",
        path="/api/v1/sources/{name}/runs",
        name="listRuns",
        summary="Lists the runs of a pull source, newest first.",
        answer=RunShown,
        is_list=True,
        parameters=(_SOURCE, make_limit(20), CURSOR),
        errors=_FIND,
    ),
    _resource(
        method="post",
        path="/api/v1/sources/{name}/runs",
        name="requestRun",
        summary="Requests a run.",
        answer=RunShown,
        status=202,
        parameters=(
            _SOURCE,
            Parameter("full", "`true` reads the whole source", "boolean"),
            Parameter("dry_run", "`true` changes nothing", "boolean"),
            Parameter("force", "`true` lets it delete more than the guard permits", "boolean"),
        ),
        errors=_CHANGE,
    ),
    _resource(
        method="get",
        path="/api/v1/runs/{id}",
        name="showRun",
        summary="Returns a run.",
        answer=RunShown,
        parameters=(Parameter("id", "the id of the run", "integer", is_required=True),),
        errors=_FIND,
    ),
    _resource(
        method="post",
        path="/api/v1/sources/{name}/pause",
        name="pauseSource",
        summary="Stops the schedule of a pull source.",
        answer=None,
        status=204,
        parameters=(_SOURCE,),
        errors=_CHANGE,
    ),
    _resource(
        method="post",
        path="/api/v1/sources/{name}/resume",
        name="resumeSource",
        summary="Continues the schedule of a pull source.",
        answer=None,
        status=204,
        parameters=(_SOURCE,),
        errors=_CHANGE,
    ),
    _resource(
        method="get",
        path="/api/v1/crawl",
        name="showCrawl",
        summary="Returns the state of the crawl queue.",
        answer=CrawlShown,
        errors=_READ,
    ),
    _resource(
        method="get",
        path="/api/v1/crawl/queue",
        name="listCrawlQueue",
        summary="Lists URLs of the crawl queue in their order.",
        answer=CrawlEntryShown,
        is_list=True,
        parameters=(
            Parameter("prefix", "only URLs that begin with this"),
            Parameter(
                "group",
                "only URLs of these states",
                values=("waiting", "crawled", "error", "retrieval error", "retrieval_error", "excluded"),
            ),
            Parameter("after", "the last URL of the page before"),
            _LIMIT,
            CURSOR,
        ),
        errors=_READ,
    ),
    _resource(
        method="delete",
        path="/api/v1/crawl/queue",
        name="removeCrawled",
        summary="Removes URLs from the queue, with the documents that were crawled.",
        answer=CrawlRemoved,
        parameters=(_PATTERN, _PART),
        errors=_CHANGE,
    ),
    _resource(
        method="get",
        path="/api/v1/crawl/entry",
        name="showCrawled",
        summary="Returns a URL of the queue, with its last fetches and the pages that link to it.",
        answer=CrawlEntryShown,
        parameters=(_KNOWN_URL,),
        errors=_FIND,
    ),
    _resource(
        method="post",
        path="/api/v1/crawl/recrawl",
        name="recrawl",
        summary="Makes URLs due at once.",
        answer=CrawlRequested,
        status=202,
        parameters=(_PATTERN, _PART),
        errors=_CHANGE,
    ),
    _resource(
        method="post", path="/api/v1/crawl/pause", name="pauseCrawl", summary="Stops the crawler.", answer=None, status=204, errors=_CHANGE
    ),
    _resource(
        method="post",
        path="/api/v1/crawl/resume",
        name="resumeCrawl",
        summary="Lets the crawler continue.",
        answer=None,
        status=204,
        errors=_CHANGE,
    ),
    _resource(
        method="get",
        path="/api/v1/why",
        name="why",
        summary="Returns why searches find a URL or do not.",
        answer=Diagnosis,
        parameters=(
            _KNOWN_URL,
            _USER,
            _NAMESPACE,
            _GROUP,
            Parameter("query", "a query: does it find the document?"),
            Parameter("collection", "the collection that the query searches"),
        ),
        errors=_READ,
    ),
    _resource(
        method="get",
        path="/api/v1/access/explain",
        name="explainAccess",
        summary="Returns the decision on a URL for a user, with its explanation.",
        answer=DecisionShown,
        parameters=(_KNOWN_URL, _USER, _NAMESPACE, _GROUP, _AT),
        errors=_READ,
    ),
    _resource(
        method="post",
        path="/api/v1/access/explain",
        name="explainAccessBatch",
        summary="Decides the questions of many lines; the answer has a line for each.",
        answer=None,
        media_type=_LINES,
        body=_LINES,
        parameters=(_AT,),
        errors=(*_READ, 413),
    ),
    _resource(
        method="get",
        path="/api/v1/access/who",
        name="listPrincipals",
        summary="Lists the principals that the ACLs of a URL name.",
        answer=PrincipalsShown,
        parameters=(_KNOWN_URL, _AT),
        errors=_READ,
    ),
    _resource(
        method="get",
        path="/api/v1/access/changes",
        name="listAccessChanges",
        summary="Lists what changed for a user since a time.",
        answer=AccessChangesShown,
        parameters=(
            _USER,
            _NAMESPACE,
            _GROUP,
            Parameter("since", _TIME, is_required=True),
            Parameter("until", f"{_TIME}; now by default"),
            _AFTER,
            _LIMIT,
            CURSOR,
        ),
        errors=_READ,
    ),
    _resource(
        method="get",
        path="/api/v1/access/list/{finding}",
        name="listFindings",
        summary="Lists what an administrator should check.",
        answer=FindingsShown,
        parameters=(_FINDING, _AFTER, _LIMIT, CURSOR),
        errors=_FIND,
    ),
    _resource(
        method="get",
        path="/api/v1/users",
        name="listUsers",
        summary="Lists the local users.",
        answer=AccountShown,
        is_list=True,
        parameters=_ALL,
        errors=_READ,
    ),
    _resource(
        method="post",
        path="/api/v1/users",
        name="addUser",
        summary="Adds a local user.",
        answer=AccountShown,
        status=201,
        body=NewUser,
        errors=(*_CHANGE, 413),
    ),
    _resource(
        method="patch",
        path="/api/v1/users",
        name="changeUser",
        summary="Sets the password or the role of a local user, or both.",
        answer=AccountShown,
        body=UserChange,
        parameters=_ACCOUNT,
        errors=(*_CHANGE, 413),
    ),
    _resource(
        method="delete",
        path="/api/v1/users",
        name="removeUser",
        summary="Deletes a local user.",
        answer=None,
        status=204,
        parameters=_ACCOUNT,
        errors=_CHANGE,
    ),
    _resource(
        method="post",
        path="/api/v1/sessions/end",
        name="endSessions",
        summary="Ends the sessions of a user.",
        answer=SessionsEnded,
        body=SessionsOfUser,
        errors=(*_CHANGE, 413),
    ),
    _resource(
        method="get",
        path="/api/v1/tokens",
        name="listTokens",
        summary="Lists the tokens.",
        answer=TokenShown,
        is_list=True,
        parameters=_ALL,
        errors=_READ,
    ),
    _resource(
        method="post",
        path="/api/v1/tokens",
        name="addToken",
        summary="Adds a token.",
        answer=TokenMade,
        status=201,
        body=NewToken,
        errors=(*_CHANGE, 413),
    ),
    _resource(
        method="delete",
        path="/api/v1/tokens/{id}",
        name="removeToken",
        summary="Deletes a token.",
        answer=None,
        status=204,
        parameters=(Parameter("id", "the id of the token", "integer", is_required=True),),
        errors=_CHANGE,
    ),
    _resource(
        method="get",
        path="/api/v1/audit/verify",
        name="verifyAudit",
        summary="Checks the audit log.",
        answer=AuditVerified,
        errors=(*_READ, 500),
    ),
    _resource(
        method="get",
        path="/api/v1/audit/export",
        name="exportAudit",
        summary="Returns the entries of the audit log as they are stored, a line each.",
        answer=None,
        media_type=_LINES,
        parameters=(
            Parameter("since", f"from {_TIME}"),
            Parameter("until", f"before {_TIME}"),
            Parameter("kind", "only kinds that begin with this"),
        ),
        errors=(*_READ, 500),
    ),
)
