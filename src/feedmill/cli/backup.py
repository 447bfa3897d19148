"""``feedmill backup`` and ``feedmill restore``: copy a data folder to a file, beside a running server too, and back."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, InputFile, Json, amount, clean, console, print_json, show_time, workplace

BACKUP_EXAMPLES = """Example:

  feedmill backup /mnt/backups/feedmill.tar --data /var/lib/feedmill"""

RESTORE_EXAMPLES = """Example:

  feedmill restore /mnt/backups/feedmill.tar --data /var/lib/feedmill-restored"""


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="The tar file to write; it replaces an earlier backup.")],
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write everything of the data folder but the index to one file. The server may run meanwhile."""
    # loads the store, which other commands do not need
    from feedmill.bootstrap.backups import back_up
    from feedmill.settings.outside import list_outside

    place = workplace(data, config)
    with place.read() as context:
        record_command(context, "backup", {"file": str(file)})
        made = back_up(context, file, list_outside(place.load()))
    if as_json:
        print_json({"file": str(file), **asdict(made)})
        return
    out = console()
    out.print(clean(f"{file}: {amount(made.files, 'file')}, {made.size_bytes} bytes"))
    _print_outside(made.outside)
    out.print(clean(f"'feedmill restore {shlex.quote(str(file))} --data DIR' makes a data folder of it"))


def restore(file: InputFile, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Make a data folder of a backup. The folder must be empty; a server that starts on it builds its index."""
    from feedmill.bootstrap.backups import check_restorable
    from feedmill.bootstrap.backups import restore as restore_backup
    from feedmill.runtime.datafolder import handing_over
    from feedmill.runtime.runstate import hold_data

    del config
    made = check_restorable(file, data)
    with handing_over(data), hold_data(data):
        restore_backup(file, data)
    if as_json:
        print_json({"data": str(data), **asdict(made)})
        return
    out = console()
    out.print(clean(f"{data}: {amount(made.files, 'file')} of {show_time(made.made_at)}"))
    _print_outside(made.outside)
    out.print(clean(f"'feedmill serve --data {shlex.quote(str(data))} --config FILE' starts a server on it, which builds the index"))


def _print_outside(outside: Sequence[str]) -> None:
    """Prints what a backup does not hold."""
    out = console()
    out.print("it does not hold the index, which a server builds again, and nothing outside the data folder" + (":" if outside else ""))
    for name in outside:
        out.print(clean(f"  {name}"))
    if outside:
        out.print("keep these files and variables with the backup: a restored server needs them")
