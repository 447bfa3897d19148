"""The program ``feedmill``: every command, and how an error ends one.

Exit codes: 0 success, 1 failure or errors found, 2 wrong use. Errors go to standard error; with ``--json`` standard output holds
``{"error": TEXT}`` too.
"""

import atexit
import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final, TypeAlias

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.main import get_group

from feedmill.cli.commandtable import COMMANDS, Section
from feedmill.model.errors import BadSettings, FeedmillError

EXAMPLES: Final = """Examples:

  feedmill serve --data /var/lib/feedmill --config /etc/feedmill.toml

  feedmill push feed.xml --datasource hr --feedtype full --wait

  feedmill why http://intranet.example.com/soup --user ann --query leek

  feedmill COMMAND --help explains a command and shows examples."""

_VALUE_NAMES: Final = {"str": "TEXT", "list[str]": "TEXT", "int": "N", "int range": "N", "dir": "FOLDER", "file": "FILE", "path": "PATH"}

_FIRST_SENTENCE: Final = re.compile(r"(?<=\.)\s|\n\n")

GC_THRESHOLDS: Final = (50_000, 20, 20)

UMASK: Final = 0o077
"""The umask of every command: only the owner may read what it writes."""

# What typer passes to its groups has no public name.
Command: TypeAlias = Any
HelpFormatter: TypeAlias = Any


class CommandList(TyperGroup):
    """The commands of the program. The module of a command is imported when the command is used, so the help lists all without any."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = _Commands()

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that the arguments name. With ``--json``, wrong use is reported as JSON too."""
        try:
            return super().invoke(ctx)
        except typer.TyperException as exc:
            # typer passes on how its validator introduces every reason
            exc.message = exc.message.replace("Value error, ", "")
            # the text for people follows on standard error
            _report_as_json(exc.format_message())
            raise

    def format_commands(self, ctx: Any, formatter: HelpFormatter) -> None:
        """Writes the names of the commands, each under the title of its section and with its summary."""
        del ctx
        width = max(map(len, COMMANDS))
        for section in Section:
            with formatter.section(section.value):
                rows = [(name.ljust(width), place.summary) for name, place in COMMANDS.items() if place.section is section]
                formatter.write_dl(rows)


class _Commands(Mapping[str, Command]):
    """All commands by name, each imported when it is read."""

    def __getitem__(self, name: str) -> Command:
        if name not in COMMANDS:
            raise KeyError(name)
        return load_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def build_app() -> typer.Typer:
    """Builds the program with all its commands."""
    app = typer.Typer(
        name="feedmill",
        help="The open search appliance: feeds in over the old wire, documents out of search.",
        epilog=_keep_lines(EXAMPLES),
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(cls=CommandList)(_program)
    return app


@cache
def load_command(name: str) -> Command:
    """Imports a command of ``COMMANDS``."""
    place = COMMANDS[name]
    module = import_module(f"feedmill.cli.{place.module}")
    found, examples = getattr(module, place.name), getattr(module, place.examples)
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name, epilog=examples)
    else:
        app.command(name, epilog=examples)(found)
    command = get_group(app).commands[name]
    _simplify_help(command)
    _configure_log_when_run(command)
    return command


def _simplify_help(command: Command) -> None:
    """Writes the help of a command, and of those within it, as manuals do.

    Values are named in capitals, types are left out, examples stand on one line each, and a list of commands shows whole sentences.
    """
    context = typer.Context(command)
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            parameter.display_type_rich = _name_no_type  # type: ignore[method-assign]
        elif isinstance(parameter, TyperOption) and parameter.metavar is None and not parameter.is_flag:
            kind = parameter.display_type(context).strip("<>")
            parameter.metavar = _VALUE_NAMES.get(kind, kind.removeprefix("list[").rstrip("]"))
    collect = command.collect_usage_pieces
    command.collect_usage_pieces = lambda context: [piece.strip("{}") for piece in collect(context)]
    command.epilog = _keep_lines(command.epilog or "")
    for within in getattr(command, "commands", {}).values():
        within.short_help = _FIRST_SENTENCE.split(within.help or "", maxsplit=1)[0]
        _simplify_help(within)


def _configure_log_when_run(command: Command) -> None:
    """Has a command, and those within it, configure the log before they run. Their help needs none, and it is slow to load."""
    invoke, within = command.invoke, getattr(command, "commands", None)

    def invoke_with_log(context: typer.Context) -> Any:
        # a group of commands is invoked for each command within it too, whose arguments follow
        if within is None or not context.args:
            from feedmill.telemetry.logs import configure_logs

            configure_logs("command", level="warning")
        return invoke(context)

    command.invoke = invoke_with_log
    for each in (within or {}).values():
        _configure_log_when_run(each)


def _name_no_type(ctx: object) -> str:
    del ctx
    return ""


def _keep_lines(examples: str) -> str:
    """Returns examples marked so that the help breaks no line of theirs: a command is copied from one line."""
    return "\n\n".join(f"\b\n{part}" if part.startswith("  ") else part for part in examples.split("\n\n"))


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        sys.stdout.write(f"feedmill {version('feedmill')}\n")
        raise typer.Exit


def _program(
    show_version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """The open search appliance: feeds in over the old wire, documents out of search."""
    del show_version


def main() -> None:
    """Runs the command that the arguments name, and ends the process with its exit code."""
    os.umask(UMASK)
    # most of the time of a small command goes into loading code, in which collections and a search for plugins find nothing
    gc.set_threshold(*GC_THRESHOLDS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # collections at the end of the interpreter would visit every object of the program, which takes a fifth of a second
    atexit.register(gc.freeze)
    try:
        build_app()()
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


def _report_as_json(text: str) -> None:
    """Prints an error on standard output, if the output is JSON."""
    if "--json" in sys.argv[1:]:
        from feedmill.cli.options import print_json

        # the reason may be that nothing can be written there
        with suppress(OSError):
            print_json({"error": text})
            sys.stdout.flush()


def _report(exc: Exception) -> None:
    from feedmill.cli.options import clean, error_console
    from feedmill.cli.oserrors import describe_os_error

    texts = exc.faults if isinstance(exc, BadSettings) else [describe_os_error(exc) if isinstance(exc, OSError) else str(exc)]
    _report_as_json("; ".join(texts))
    for text in texts:
        error_console().print(clean(f"error: {text}"))


if __name__ == "__main__":
    main()
