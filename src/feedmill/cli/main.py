"""The program ``feedmill``: every command, and how an error ends one.

Exit codes: 0 success, 1 failure or errors found, 2 wrong use. Errors go to standard error; with ``--json`` standard output holds
``{"error": TEXT}`` too.
"""

import atexit
import gc
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, NamedTuple

import typer

from feedmill.cli.options import clean, error_console, print_json
from feedmill.model.errors import BadSettings, FeedmillError
from feedmill.runtime.datafolder import UMASK
from feedmill.telemetry.logs import configure_logs


class _Command(NamedTuple):
    """The place of a command: its module, the function or the group of commands in it, and its examples if it has some."""

    module: str
    name: str
    examples: str = ""


COMMANDS = {
    "serve": _Command("serve", "serve", "SERVE_EXAMPLES"),
    "push": _Command("push", "push", "PUSH_EXAMPLES"),
    "push-groups": _Command("push", "push_groups", "PUSH_GROUPS_EXAMPLES"),
    "validate": _Command("validate", "validate", "VALIDATE_EXAMPLES"),
    "adaptor": _Command("adaptor", "adaptor_app"),
    "make-feed": _Command("makefeed", "make_feed", "MAKE_FEED_EXAMPLES"),
    "search": _Command("search", "search", "SEARCH_EXAMPLES"),
    "status": _Command("status", "status", "STATUS_EXAMPLES"),
    "sources": _Command("sources", "sources_app", "SOURCES_EXAMPLES"),
    "queue": _Command("queue", "queue_app", "QUEUE_EXAMPLES"),
    "recrawl": _Command("queue", "recrawl", "RECRAWL_EXAMPLES"),
    "why": _Command("why", "why", "WHY_EXAMPLES"),
    "documents": _Command("documents", "documents_app", "DOCUMENTS_EXAMPLES"),
    "reindex": _Command("reindex", "reindex", "REINDEX_EXAMPLES"),
    "import": _Command("importing", "import_settings", "IMPORT_EXAMPLES"),
    "users": _Command("users", "users_app", "USERS_EXAMPLES"),
    "tokens": _Command("tokens", "tokens_app", "TOKENS_EXAMPLES"),
    "audit": _Command("audit", "audit_app"),
    "access": _Command("access", "access_app"),
    "policies": _Command("policies", "policies_app", "POLICIES_EXAMPLES"),
    "conformance": _Command("conformance", "conformance_app"),
    "config": _Command("configuration", "config_app"),
}
"""All commands by name. A module is imported when its command runs: all of them together take seconds to load on a small machine."""


def build_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Builds the program with these commands, all by default."""
    app = typer.Typer(
        name="feedmill",
        help="The open search appliance: feeds in over the old wire, documents out of search.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    for name in names:
        found = COMMANDS[name]
        module = import_module(f"feedmill.cli.{found.module}")
        command, examples = getattr(module, found.name), getattr(module, found.examples) if found.examples else None
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, epilog=examples)
        else:
            app.command(name, epilog=examples)(command)
    return app


def _print_version(is_requested: bool) -> None:
    if is_requested:
        sys.stdout.write(f"feedmill {version('feedmill')}\n")
        raise typer.Exit


def _program(
    show_version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """The open search appliance: feeds in over the old wire, documents out of search."""
    del show_version
    configure_logs("command", level="warning")


def main() -> None:
    """Runs the command that the arguments name, and ends the process with its exit code."""
    os.umask(UMASK)
    # collections at the end of the interpreter would visit every object of the program, which takes a fifth of a second
    atexit.register(gc.freeze)
    try:
        _app_of(sys.argv[1:])()
    except FeedmillError as exc:
        _report(exc)
        sys.exit(1)
    except BrokenPipeError:
        # the reader of the output has closed it; nothing more may be written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as exc:
        _report(exc)
        sys.exit(1)


def _app_of(arguments: Sequence[str]) -> typer.Typer:
    """Builds the program with the command of the first argument; with all commands if the argument is no command."""
    return build_app(arguments[:1]) if arguments and arguments[0] in COMMANDS else build_app()


def _report(exc: Exception) -> None:
    texts = exc.faults if isinstance(exc, BadSettings) else [str(exc)]
    if "--json" in sys.argv[1:]:
        print_json({"error": "; ".join(texts)})
    for text in texts:
        error_console().print(clean(f"error: {text}"))


if __name__ == "__main__":
    main()
