"""``feedmill serve``: reads the settings and runs the server."""

import os
from typing import Annotated

import typer

from feedmill.cli.options import DATA, Config, Data

SERVE_EXAMPLES = """Examples:

  feedmill serve --data /var/lib/feedmill --config /etc/feedmill.toml

  FEEDMILL_GATE_PORT=29900 feedmill serve --data data"""


def serve(
    data: Data = DATA,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the log as JSON, also to a terminal.")] = False,
) -> None:
    """Run the server until SIGTERM.

    Prints 'ready' when all ports respond. The log goes to standard error. SIGHUP reads the settings again.
    """
    from feedmill.runtime.parent import run_parent
    from feedmill.settings import load_settings
    from feedmill.telemetry.logs import configure_logs

    if as_json:
        os.environ["FEEDMILL_LOGS_FORMAT"] = "json"
    loaded = load_settings(config, os.environ)
    configure_logs("parent", level=loaded.settings.logs.level, form=loaded.settings.logs.format)
    raise typer.Exit(run_parent(data, config, loaded))
