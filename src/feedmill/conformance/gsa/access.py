"""Cases of access: who finds a document by its ACL, and by the groups that were fed."""

from typing import Final

from feedmill.conformance.cases import CaseList, expect
from feedmill.conformance.gsa.sources import guide, library, manager, security_manager
from feedmill.conformance.gsa.trial import SEARCH, USERS, FeedTrial

CASES: Final[CaseList[FeedTrial]] = CaseList()
_SEARCH: Final = (SEARCH,)
_USERS: Final = (USERS,)
_ACL: Final = "src/com/google/enterprise/adaptor/Acl.java"
_INHERITING: Final = "Specifying ACL Inheritance"
_GROUPS: Final = "GroupMembersMap.java"
_LETTERS: Final = "PDI"


def principal(name: str, access: str = "permit", *, scope: str = "user", more: str = "") -> str:
    """Returns a principal of an ACL."""
    return f'<principal scope="{scope}" access="{access}"{more}>{name}</principal>'


def acl(*principals: str, more: str = "") -> str:
    """Returns an ACL inside of a record."""
    return f"<acl{more}>{''.join(principals)}</acl>"


def member(name: str, *, scope: str = "USER", more: str = ' case-sensitivity-type="EVERYTHING_CASE_SENSITIVE"') -> str:
    """Returns a principal of a groups feed."""
    return f'<principal namespace="Default" scope="{scope}"{more}>{name}</principal>'


def membership(group: str, *members: str) -> str:
    """Returns the definition of a group."""
    return f'<membership><principal scope="GROUP">{group}</principal><members>{"".join(members)}</members></membership>'


# --- what every user sees ---


@CASES.add(
    "acl-hides",
    "A document with an ACL is not among public results",
    guide("Including Protected Documents in Search Results"),
    needs=_SEARCH,
)
def check_acl_hides(trial: FeedTrial) -> None:
    group = f'<acl url="{trial.url("b")}">{principal("ann")}</acl>'
    trial.feed(trial.record("a", before=acl(principal("ann"))), group, trial.record("b"), trial.record("public"))
    trial.expect_urls(trial.word, ["public"])


@CASES.add("authmethod-none", 'authmethod="none" does not make a document with an ACL public', manager("XmlFeed.java"), needs=_SEARCH)
def check_authmethod(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", before=acl(principal("ann")), authmethod="none"), trial.record("public", authmethod="none"))
    trial.expect_urls(trial.word, ["public"])


@CASES.add(
    "legacy-acl-hides",
    "An ACL in the metadata hides the document, and is not shown as metadata",
    guide("Specifying Group and User Access in Metadata"),
    needs=_SEARCH,
)
def check_legacy_acl(trial: FeedTrial) -> None:
    metas = '<meta name="google:aclusers" content="ann"/><meta name="google:aclgroups" content="staff"/>'
    trial.feed(trial.record("a", before=f"<metadata>{metas}</metadata>"), trial.record("public"))
    page = trial.expect_urls(trial.word, ["public"], getfields="*")
    expect(not any("acl" in name for result in page.results for name, _ in result.metadata), "ACLs are shown as metadata")


@CASES.add(
    "overwrite-acls-false", 'overwrite-acls="false" on <metadata> keeps the ACL', "googlegsa/gsafeed, examples/gsafeed.dtd", needs=_SEARCH
)
def check_overwrite(trial: FeedTrial) -> None:
    protected = '<metadata><meta name="google:aclusers" content="ann"/></metadata>'
    trial.feed(trial.record("a", before=protected), trial.record("public"))
    trial.expect_urls(trial.word, ["public"])
    plain = '<metadata overwrite-acls="false"><meta name="kind" content="memo"/></metadata>'
    trial.feed(trial.record("a", before=plain), trial.record("later", text=f"{trial.word} later"))
    trial.expect_urls(trial.word, ["public", "later"])


@CASES.add(
    "broken-chain", "A document whose ACL inherits from an unknown URL is not public", guide(_INHERITING), library(_ACL), needs=_SEARCH
)
def check_broken_chain(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", before=acl(more=f' inherit-from="{trial.url("nowhere")}"')), trial.record("public"))
    trial.expect_urls(trial.word, ["public"])


# --- what users see ---


@CASES.add(
    "permit-and-deny",
    "Permit lets a user see a document, deny does not, and deny of a group beats permit of the user",
    library(_ACL),
    guide("Specifying Denial of Access to Users and Groups"),
    needs=_USERS,
)
def check_permit(trial: FeedTrial) -> None:
    ann, bob, staff = f"ann{trial.word}", f"bob{trial.word}", f"staff{trial.word}"
    trial.push_groups(membership(staff, member(ann)))
    trial.feed(
        trial.record("ann", before=acl(principal(ann))),
        trial.record("bob", before=acl(principal(bob))),
        trial.record("not-staff", before=acl(principal(ann), principal(bob), principal(staff, "deny", scope="group"))),
        trial.record("staff", before=acl(principal(staff, scope="group"))),
        trial.record("nobody", before=acl(principal("nobody", "deny"))),
        trial.record("public"),
    )
    trial.expect_urls(trial.word, ["public", "ann", "staff"], user=ann)
    trial.expect_urls(trial.word, ["public", "bob", "not-staff"], user=bob)


def _check_inheritance(trial: FeedTrial, kind: str, permitted: frozenset[str]) -> None:
    """Feeds a parent and a child for each pair of local decisions; ``permitted`` are the pairs, child first, that end in a permit."""
    ann = f"ann{trial.word}"
    locals_ = {"P": principal(ann), "D": principal(ann, "deny"), "I": principal("another-user")}
    parents = [f'<acl url="{trial.url(f"parent-{p}")}" inheritance-type="{kind}">{locals_[p]}</acl>' for p in _LETTERS]
    children = [
        trial.record(f"{c}{p}", text=f"{trial.word} {c}{p}", before=acl(locals_[c], more=f' inherit-from="{trial.url(f"parent-{p}")}"'))
        for c in _LETTERS
        for p in _LETTERS
    ]
    trial.feed(*parents, *children, trial.record("public"))
    trial.expect_urls(trial.word, ["public", *permitted], user=ann)


@CASES.add(
    "child-overrides", "child-overrides of the parent: the child decides, else the parent", library(_ACL), guide(_INHERITING), needs=_USERS
)
def check_child_overrides(trial: FeedTrial) -> None:
    _check_inheritance(trial, "child-overrides", frozenset({"PP", "PD", "PI", "IP"}))


@CASES.add(
    "parent-overrides",
    "parent-overrides of the parent: the parent decides, else the child",
    library(_ACL),
    guide(_INHERITING),
    needs=_USERS,
)
def check_parent_overrides(trial: FeedTrial) -> None:
    _check_inheritance(trial, "parent-overrides", frozenset({"PP", "DP", "IP", "PI"}))


@CASES.add("and-both-permit", "and-both-permit of the parent: both must permit", library(_ACL), guide(_INHERITING), needs=_USERS)
def check_and_both_permit(trial: FeedTrial) -> None:
    _check_inheritance(trial, "and-both-permit", frozenset({"PP"}))


@CASES.add("leaf-node-parent", "A parent without an inheritance-type breaks the chain of its children", library(_ACL), needs=_USERS)
def check_leaf_parent(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    trial.feed(
        f'<acl url="{trial.url("parent")}">{principal(ann)}</acl>',
        trial.record("child", before=acl(principal(ann), more=f' inherit-from="{trial.url("parent")}"')),
        trial.record("public"),
    )
    trial.expect_urls(trial.word, ["public"], user=ann)


@CASES.add(
    "parent-later",
    "A parent that is fed later repairs the chain",
    library("src/com/google/enterprise/adaptor/DocumentHandler.java"),
    needs=_USERS,
)
def check_parent_later(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    trial.feed(trial.record("child", before=acl(more=f' inherit-from="{trial.url("parent?named")}"')), trial.record("public"))
    trial.expect_urls(trial.word, ["public"], user=ann)
    trial.feed(f'<acl url="{trial.url("parent?named")}" inheritance-type="child-overrides">{principal(ann)}</acl>')
    trial.expect_urls(trial.word, ["public", "child"], user=ann)


@CASES.add(
    "letter-case",
    "Letter case counts, unless the principal says everything-case-insensitive",
    security_manager("AclUtil.java"),
    guide("Including Protected Documents in Search Results"),
    needs=_USERS,
)
def check_letter_case(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    insensitive = ' case-sensitivity-type="everything-case-insensitive"'
    trial.feed(
        trial.record("exact", before=acl(principal(ann.upper()))),
        trial.record("folded", before=acl(principal(ann.upper(), more=insensitive))),
        trial.record("public"),
    )
    trial.expect_urls(trial.word, ["public", "folded"], user=ann)


@CASES.add(
    "domain-notations",
    r"DOMAIN\user, DOMAIN/user and user@DOMAIN are the same user, and not a user without a domain",
    security_manager("IdentityUtil.java"),
    needs=_USERS,
)
def check_domains(trial: FeedTrial) -> None:
    name = f"ann{trial.word}"
    forms = {"backslash": f"CORP\\{name}", "slash": f"CORP/{name}", "at": f"{name}@CORP", "bare": name}
    records = [trial.record(key, text=f"{trial.word} {key}", before=acl(principal(form))) for key, form in forms.items()]
    trial.feed(*records, trial.record("public"))
    trial.expect_urls(trial.word, ["public", "backslash", "slash", "at"], user=f"CORP\\{name}")


@CASES.add(
    "principal-white-space",
    "White space around names of principals is removed, and an empty one is skipped",
    guide("Example Feed with an acl Element"),
    needs=_USERS,
)
def check_white_space(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    trial.feed(trial.record("a", before=acl(principal(f"\n  {ann}\n"), principal("  \n"))), trial.record("public"))
    trial.expect_urls(trial.word, ["public", "a"], user=ann)


@CASES.add(
    "legacy-roles",
    "=reader, =writer and =owner are removed from names in google:aclusers, and =peeker names no user",
    guide("Specifying Group and User Access in Metadata"),
    needs=_USERS,
)
def check_roles(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    records = [
        trial.record(
            role, text=f"{trial.word} {role}", before=f'<metadata><meta name="google:aclusers" content="{ann}={role}"/></metadata>'
        )
        for role in ("reader", "writer", "owner", "peeker")
    ]
    trial.feed(*records, trial.record("public"))
    trial.expect_urls(trial.word, ["public", "reader", "writer", "owner"], user=ann)


@CASES.add(
    "groups-nested",
    "Groups in groups count, also in a circle",
    security_manager(_GROUPS),
    guide("Feeding Groups to the Search Appliance"),
    needs=_USERS,
)
def check_nested(trial: FeedTrial) -> None:
    ann, inner, outer = (f"{name}{trial.word}" for name in ("ann", "inner", "outer"))
    inside = [membership(inner, member(ann), member(outer, scope="GROUP")), membership(outer, member(inner, scope="GROUP"))]
    trial.push_groups("".join(inside))
    trial.feed(trial.record("a", before=acl(principal(outer, scope="group"))), trial.record("public"))
    trial.expect_urls(trial.word, ["public", "a"], user=ann)


@CASES.add("groups-replaced", "A later definition of a group replaces its members", security_manager(_GROUPS), needs=_USERS)
def check_replaced(trial: FeedTrial) -> None:
    ann, bob, staff = (f"{name}{trial.word}" for name in ("ann", "bob", "staff"))
    trial.feed(trial.record("a", before=acl(principal(staff, scope="group"))), trial.record("public"))
    trial.push_groups(membership(staff, member(ann)))
    trial.expect_urls(trial.word, ["public", "a"], user=ann)
    trial.push_groups(membership(staff, member(bob)))
    trial.expect_urls(trial.word, ["public", "a"], user=bob)
    trial.expect_urls(trial.word, ["public"], user=ann)


@CASES.add(
    "groups-cleanup",
    "cleanup removes the groups of a group source",
    library("src/com/google/enterprise/adaptor/DocIdSender.java"),
    needs=_USERS,
)
def check_cleanup(trial: FeedTrial) -> None:
    ann, staff = (f"{name}{trial.word}" for name in ("ann", "staff"))
    trial.feed(trial.record("a", before=acl(principal(staff, scope="group"))), trial.record("public"))
    trial.push_groups(membership(staff, member(ann)), source=trial.other_source("REPL1"))
    trial.expect_urls(trial.word, ["public", "a"], user=ann)
    trial.post_form("/xmlgroups", {"cleanup": trial.other_source("REPL1")})
    trial.expect_urls(trial.word, ["public"], user=ann)


@CASES.add(
    "groups-letter-case",
    "The member entry says whether letter case counts; both spellings of the type are understood",
    security_manager("MemberToGroupsResolverMap.java"),
    guide("Groups Feed Document Type Definition"),
    needs=_USERS,
)
def check_groups_case(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    forms = {"underscore": "EVERYTHING_CASE_INSENSITIVE", "hyphen": "everything-case-insensitive", "sensitive": "EVERYTHING_CASE_SENSITIVE"}
    definitions = [
        membership(f"{key}{trial.word}", member(ann.upper(), more=f' case-sensitivity-type="{form}"')) for key, form in forms.items()
    ]
    trial.push_groups("".join(definitions))
    records = [trial.record(key, text=f"{trial.word} {key}", before=acl(principal(f"{key}{trial.word}", scope="group"))) for key in forms]
    trial.feed(*records, trial.record("public"))
    trial.expect_urls(trial.word, ["public", "underscore", "hyphen"], user=ann)


@CASES.add(
    "secure-without-total", "The total is absent from results of secure searches", "Search Protocol Reference, appendix A", needs=_USERS
)
def check_total(trial: FeedTrial) -> None:
    ann = f"ann{trial.word}"
    trial.feed(trial.record("a", before=acl(principal(ann))), trial.record("public"))
    page = trial.expect_urls(trial.word, ["public", "a"], user=ann)
    expect(page.root.find("RES/M") is None, "the response to access=a holds <M>")
