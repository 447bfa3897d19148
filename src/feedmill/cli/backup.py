"""``feedmill backup`` and ``feedmill restore``: copy a data folder to a file, beside a running server too, and back."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, InputFile, Json, clean, console, print_json, show_time, workplace

BACKUP_EXAMPLES = """Example:

  feedmill backup /mnt/backups/feedmill.tar --data /var/lib/feedmill"""

RESTORE_EXAMPLES = """Example:

  feedmill restore /mnt/backups/feedmill.tar --data /var/lib/feedmill-restored"""


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="The tar file to write; it replaces an earlier one.")],
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write everything of the data folder but the index to one file. The server may run meanwhile."""
    # loads the store, which other commands do not need
    from feedmill.bootstrap.backups import back_up

    with workplace(data, config).read() as context:
        record_command(context, "backup", {"file": str(file)})
        made = asdict(back_up(context, file))
    _print({"file": str(file), **made}, f"{file}: {made['files']} files, {made['size_bytes']} bytes", as_json=as_json)


def restore(file: InputFile, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Make a data folder of a backup. The folder must be empty; a server that starts on it builds its index."""
    from feedmill.bootstrap.backups import check_restorable
    from feedmill.bootstrap.backups import restore as restore_backup
    from feedmill.runtime.datafolder import handing_over
    from feedmill.runtime.runstate import hold_data

    del config
    made = asdict(check_restorable(file, data))
    with handing_over(data), hold_data(data):
        restore_backup(file, data)
    _print({"data": str(data), **made}, f"{data}: {made['files']} files of {show_time(made['made_at'])}", as_json=as_json)


def _print(value: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        console().print(clean(text))
