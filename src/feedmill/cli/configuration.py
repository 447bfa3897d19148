"""``feedmill config check``: shows whether the settings are valid, and their values."""

import os

import typer

from feedmill.cli.options import DATA, Config, Data, Json, clean, console, print_json
from feedmill.cli.status import settings_table
from feedmill.http.admin.status import list_settings
from feedmill.model.errors import BadSettings
from feedmill.settings import load_settings

config_app = typer.Typer(help="Look at the settings.", no_args_is_help=True, rich_markup_mode=None)

CHECK_EXAMPLES = """Examples:

  feedmill config check --config feedmill.toml

  FEEDMILL_GATE_PORT=29900 feedmill config check --json"""


@config_app.command("check", epilog=CHECK_EXAMPLES)
def check(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Check file and environment; print warnings, and every setting with its value and its origin.

    Warnings alone exit 0.
    """
    del data  # every command accepts it, and settings do not depend on it
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
    console().print(settings_table(settings))
    for warning in loaded.warnings:
        console().print(clean(f"warning: {warning}"))


@config_app.callback()
def _group() -> None:
    """Look at the settings."""
