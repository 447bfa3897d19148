"""The program ``feedmill``: every command, and how an error ends one.

Exit codes: 0 done, 1 failed or errors found, 2 wrong use. An error goes to standard error; with ``--json`` standard output holds
``{"error": TEXT}`` too.
"""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from feedmill.cli.access import access_app
from feedmill.cli.audit import audit_app
from feedmill.cli.configuration import config_app
from feedmill.cli.documents import DOCUMENTS_EXAMPLES, documents_app
from feedmill.cli.importing import IMPORT_EXAMPLES, import_settings
from feedmill.cli.makefeed import MAKE_FEED_EXAMPLES, make_feed
from feedmill.cli.options import clean, error_console, print_json
from feedmill.cli.policies import POLICIES_EXAMPLES, policies_app
from feedmill.cli.push import PUSH_EXAMPLES, PUSH_GROUPS_EXAMPLES, push, push_groups
from feedmill.cli.reindex import REINDEX_EXAMPLES, reindex
from feedmill.cli.search import SEARCH_EXAMPLES, search
from feedmill.cli.serve import SERVE_EXAMPLES, serve
from feedmill.cli.sources import SOURCES_EXAMPLES, sources_app
from feedmill.cli.status import STATUS_EXAMPLES, status
from feedmill.cli.tokens import TOKENS_EXAMPLES, tokens_app
from feedmill.cli.users import USERS_EXAMPLES, users_app
from feedmill.cli.validate import VALIDATE_EXAMPLES, validate
from feedmill.datafolder import UMASK
from feedmill.logs import configure_logs
from feedmill.model.errors import BadSettings, FeedmillError

app = typer.Typer(
    name="feedmill",
    help="The open search appliance: feeds in over the old wire, documents out of search.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve", epilog=SERVE_EXAMPLES)(serve)
app.command("push", epilog=PUSH_EXAMPLES)(push)
app.command("push-groups", epilog=PUSH_GROUPS_EXAMPLES)(push_groups)
app.command("validate", epilog=VALIDATE_EXAMPLES)(validate)
app.command("make-feed", epilog=MAKE_FEED_EXAMPLES)(make_feed)
app.command("search", epilog=SEARCH_EXAMPLES)(search)
app.command("status", epilog=STATUS_EXAMPLES)(status)
app.add_typer(sources_app, name="sources", epilog=SOURCES_EXAMPLES)
app.add_typer(documents_app, name="documents", epilog=DOCUMENTS_EXAMPLES)
app.command("reindex", epilog=REINDEX_EXAMPLES)(reindex)
app.command("import", epilog=IMPORT_EXAMPLES)(import_settings)
app.add_typer(users_app, name="users", epilog=USERS_EXAMPLES)
app.add_typer(tokens_app, name="tokens", epilog=TOKENS_EXAMPLES)
app.add_typer(audit_app, name="audit")
app.add_typer(access_app, name="access")
app.add_typer(policies_app, name="policies", epilog=POLICIES_EXAMPLES)
app.add_typer(config_app, name="config")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        sys.stdout.write(f"feedmill {version('feedmill')}\n")
        raise typer.Exit


@app.callback()
def _program(
    show_version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """The open search appliance: feeds in over the old wire, documents out of search."""
    del show_version
    configure_logs("command", level="warning")


def main() -> None:
    """Runs the command that the arguments name, and ends the process with its exit code."""
    os.umask(UMASK)
    try:
        app()
    except FeedmillError as exc:
        _tell(exc)
        sys.exit(1)
    except BrokenPipeError:
        # whoever read our output has gone; nothing more may be written, also not at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as exc:
        _tell(exc)
        sys.exit(1)


def _tell(exc: Exception) -> None:
    texts = exc.faults if isinstance(exc, BadSettings) else [str(exc)]
    if "--json" in sys.argv[1:]:
        print_json({"error": "; ".join(texts)})
    for text in texts:
        error_console().print(clean(f"error: {text}"))


if __name__ == "__main__":
    main()
