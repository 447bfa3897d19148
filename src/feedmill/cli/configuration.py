"""``feedmill config``: checks the settings, shows them with their origin, and writes a settings file to start from."""

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from feedmill.cli.options import DATA, Config, Data, Json, amount, clean, console, print_json, workplace
from feedmill.cli.settingslist import ShownSettings, find_changed, print_changed, print_settings
from feedmill.model.errors import BadSettings, Conflict, Denied
from feedmill.model.serving import StoredSetting

if TYPE_CHECKING:
    from feedmill.cli.workplace import Workplace
    from feedmill.settings import LoadedSettings

config_app = typer.Typer(help="Check the settings, show them, write a file of them.", no_args_is_help=True, rich_markup_mode=None)

CONFIG_EXAMPLES = """Examples:

  feedmill config init /etc/feedmill.toml

  feedmill config check --config /etc/feedmill.toml

  feedmill config show --changed"""

CHECK_EXAMPLES = """Examples:

  feedmill config check --config feedmill.toml

  FEEDMILL_GATE_PORT=29900 feedmill config check --json"""

SHOW_EXAMPLES = """Examples:

  feedmill config show --changed

  feedmill config show --json --config feedmill.toml"""

INIT_EXAMPLES = """Examples:

  feedmill config init

  feedmill config init /etc/feedmill.toml"""

NO_FILE = "no settings file was named, so only the environment was checked; name one with --config or FEEDMILL_CONFIG"

Changed = Annotated[bool, typer.Option("--changed", help="Only settings that are not the default.")]
NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="The new file.", show_default=True)]


@config_app.command("check", epilog=CHECK_EXAMPLES)
def check(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Check file and environment; print faults and warnings, then the settings that are not the default.

    Warnings alone exit 0.
    """
    from feedmill.http.admin.status import list_settings
    from feedmill.settings import load_settings

    del data  # every command accepts it, and file and environment do not depend on it
    try:
        loaded = load_settings(config, os.environ)
    except BadSettings as exc:
        if not as_json:
            raise
        print_json({"ok": False, "faults": list(exc.faults), "warnings": [], "error": "; ".join(exc.faults)})
        raise typer.Exit(1) from exc
    settings = list_settings(loaded)
    if as_json:
        print_json({"ok": True, "faults": [], "warnings": list(loaded.warnings), "settings": settings})
        return
    out = console()
    for warning in loaded.warnings:
        out.print(clean(f"warning: {warning}"))
    if config is None:
        out.print(NO_FILE)
    out.print(f"no faults, {amount(len(loaded.warnings), 'warning')}")
    print_changed(settings)


@config_app.command("show", epilog=SHOW_EXAMPLES)
def show(changed: Changed = False, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Show the settings in force, each with its value and where it comes from; values that may hold a secret are hidden.

    If a server runs on the data folder, these are its settings, otherwise those of file and environment, with those that were set by API.
    """
    from feedmill.http.admin.status import list_settings

    place = workplace(data, config)
    loaded, stored = _read_settings(place)
    settings: ShownSettings = list_settings(loaded, stored)
    if changed:
        settings = find_changed(settings)
    if as_json:
        print_json(settings)
    else:
        print_settings(settings)


@config_app.command("init", epilog=INIT_EXAMPLES)
def init(file: NewFile = Path("feedmill.toml"), data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Write a settings file to start from: the usual tables, each key in a comment with its default and its meaning.

    A file that exists is never overwritten.
    """
    from feedmill.adapters.manual import PackagedManual
    from feedmill.settings.starter import write_starter

    del data, config  # every command accepts them, and the file starts from the defaults
    reference = PackagedManual().folder / "reference" / "settings.md"
    text = write_starter(reference.read_text(encoding="utf-8") if reference.is_file() else "")
    try:
        with file.open("x", encoding="utf-8") as written:
            _write_whole(written, text)
    except FileExistsError as exc:
        raise Conflict(f"'{file}' exists already; name another file, or remove it first") from exc
    except OSError as exc:
        if exc.errno not in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR):
            raise
        raise Denied(f"'{file}' cannot be written: {exc.strerror}; name a file in a folder that exists and is yours") from exc
    if as_json:
        print_json({"file": str(file)})
    else:
        console().print(clean(f"wrote {file}; start the server with 'feedmill serve --config {file}'"))


def _write_whole(file: TextIO, text: str) -> None:
    """Writes a new file whole or, if the disk is full, not at all."""
    try:
        file.write(text)
        file.flush()
    except OSError:
        Path(file.name).unlink()
        raise


@config_app.callback()
def _group() -> None:
    """Check the settings, show them, write a file of them."""


def _read_settings(place: "Workplace") -> "tuple[LoadedSettings, tuple[StoredSetting, ...]]":
    """Returns the settings in force and those that were set by API. A data folder without data holds none."""
    if not place.has_data():
        return place.load(), ()
    with place.read() as context, context.store.reading() as unit:
        return place.load(), tuple(unit.state.stored_settings.list())
