"""All commands of the program: where each stands, under which title the help lists it, and its summary there."""

from enum import Enum
from typing import NamedTuple


class Section(Enum):
    """The titles under which ``feedmill --help`` lists the commands, in this order."""

    RUN = "Run"
    FEED = "Feed"
    LOOK = "Look"
    ACCESS = "Access"
    SETTINGS = "Settings"


class CommandPlace(NamedTuple):
    """A command: the module, the function or the group of commands in it, and the name of its examples."""

    module: str
    name: str
    section: Section
    summary: str
    examples: str


COMMANDS = {
    "serve": CommandPlace("serve", "serve", Section.RUN, "Run the server until SIGTERM.", "SERVE_EXAMPLES"),
    "status": CommandPlace("status", "status", Section.RUN, "Show faults, queues, documents, index, processes.", "STATUS_EXAMPLES"),
    "doctor": CommandPlace("doctor", "doctor", Section.RUN, "Check machine, data folder and settings.", "DOCTOR_EXAMPLES"),
    "reindex": CommandPlace("reindex", "reindex", Section.RUN, "Build the index again.", "REINDEX_EXAMPLES"),
    "backup": CommandPlace("backup", "backup", Section.RUN, "Write the data folder to a file.", "BACKUP_EXAMPLES"),
    "restore": CommandPlace("backup", "restore", Section.RUN, "Make a data folder of a backup.", "RESTORE_EXAMPLES"),
    "conformance": CommandPlace(
        "conformance", "conformance_app", Section.RUN, "Check a server, or a client, against a protocol.", "CONFORMANCE_EXAMPLES"
    ),
    "push": CommandPlace("push", "push", Section.FEED, "Push a feed file.", "PUSH_EXAMPLES"),
    "push-groups": CommandPlace("push", "push_groups", Section.FEED, "Push a groups feed file.", "PUSH_GROUPS_EXAMPLES"),
    "validate": CommandPlace("validate", "validate", Section.FEED, "Print every error of a feed with its line.", "VALIDATE_EXAMPLES"),
    "make-feed": CommandPlace("makefeed", "make_feed", Section.FEED, "Make a feed of files, CSV, mbox or a sitemap.", "MAKE_FEED_EXAMPLES"),
    "feeds": CommandPlace("feeds", "feeds_app", Section.FEED, "List feeds, show a log, send a feed again.", "FEEDS_EXAMPLES"),
    "sources": CommandPlace("sources", "sources_app", Section.FEED, "List and delete data sources, run pull sources.", "SOURCES_EXAMPLES"),
    "adaptor": CommandPlace("adaptor", "adaptor_app", Section.FEED, "Check the commands of a command line adaptor.", "ADAPTOR_EXAMPLES"),
    "queue": CommandPlace("queue", "queue_app", Section.FEED, "Show the crawl queue, pause the crawler.", "QUEUE_EXAMPLES"),
    "recrawl": CommandPlace("queue", "recrawl", Section.FEED, "Crawl known URLs again.", "RECRAWL_EXAMPLES"),
    "search": CommandPlace("search", "search", Section.LOOK, "Search.", "SEARCH_EXAMPLES"),
    "why": CommandPlace("why", "why", Section.LOOK, "Say whether searches find a URL, and why not.", "WHY_EXAMPLES"),
    "documents": CommandPlace("documents", "documents_app", Section.LOOK, "List documents, or show one.", "DOCUMENTS_EXAMPLES"),
    "compare": CommandPlace("compare", "compare_results", Section.LOOK, "Compare results with an old appliance's.", "COMPARE_EXAMPLES"),
    "access": CommandPlace("access", "access_app", Section.ACCESS, "Show which users may see a document, and why.", "ACCESS_EXAMPLES"),
    "policies": CommandPlace("policies", "policies_app", Section.ACCESS, "List, import and export policy ACLs.", "POLICIES_EXAMPLES"),
    "groups": CommandPlace("groups", "groups_app", Section.ACCESS, "Show groups, their members, a user's groups.", "GROUPS_EXAMPLES"),
    "users": CommandPlace("users", "users_app", Section.ACCESS, "List, add and change local users.", "USERS_EXAMPLES"),
    "tokens": CommandPlace("tokens", "tokens_app", Section.ACCESS, "List, make and remove tokens of programs.", "TOKENS_EXAMPLES"),
    "audit": CommandPlace("audit", "audit_app", Section.ACCESS, "Show, check and export the audit log.", "AUDIT_EXAMPLES"),
    "config": CommandPlace(
        "configuration", "config_app", Section.SETTINGS, "Check and show the settings, write a first file.", "CONFIG_EXAMPLES"
    ),
    "import": CommandPlace("importing", "import_settings", Section.SETTINGS, "Import settings of an old appliance.", "IMPORT_EXAMPLES"),
}
"""All commands by name. A module is imported when its command is used: all of them together take seconds to load on a small machine."""
