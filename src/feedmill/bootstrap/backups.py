"""Makes backups of a data folder and restores them."""

from pathlib import Path

from feedmill import __version__
from feedmill.adapters.backups import (
    FORMAT,
    STORE,
    Description,
    StoreSnapshot,
    hold_links,
    is_empty,
    link_files,
    read_description,
    restore_files,
    write_backup,
)
from feedmill.adapters.store.revision import knows_schema
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.model.errors import BadRequest, Conflict


def back_up(context: AppContext, file: Path, outside: tuple[str, ...] = ()) -> Description:
    """Writes a backup of a data folder to a file, beside a running server too. It names what is not in it, ``outside``.

    Errors: BadRequest, Conflict, OSError.
    """
    if context.settings.store.url or context.settings.blobs.url:
        raise BadRequest("a backup holds a store and blobs of the data folder; back up what store.url and blobs.url name by its own tools")
    if file.exists() and not file.is_file():
        raise BadRequest(f"'{file}' is no file that a backup may replace; name a file in a folder")
    if file.exists() and file.stat().st_size:
        _check_replaceable(file)
    if not file.parent.is_dir():
        raise BadRequest(f"there is no folder '{file.parent}' for the backup; create it first")
    if file.resolve().is_relative_to(context.data.resolve()):
        raise BadRequest(f"'{file}' is in the data folder, which the next backup would copy; name a file elsewhere")
    with hold_links(context.data) as links:
        # Nobody commits meanwhile, so that the snapshot refers to linked files only. It takes a moment, whatever the size.
        with context.store.writing():
            snapshot = StoreSnapshot(context.data / STORE)
            try:
                link_files(context.data, links)
            except BaseException:
                snapshot.close()
                raise
        try:
            snapshot.copy(links / STORE)
        finally:
            snapshot.close()
        made_at = utc_now().isoformat()
        about = Description(format=FORMAT, version=__version__, schema=snapshot.schema, made_at=made_at, outside=outside)
        return write_backup(links, about, file)


def _check_replaceable(file: Path) -> None:
    """Checks that a file is an earlier backup. Errors: BadRequest."""
    try:
        read_description(file)
    except BadRequest as exc:
        raise BadRequest(f"{exc}; a backup replaces only an earlier one, so name another file, or remove this one") from exc


def check_restorable(file: Path, data: Path) -> Description:
    """Checks that a backup can be restored into a folder, and returns what it holds.

    Errors: BadRequest for another file, and for a backup of a newer release; Conflict for a folder that is not empty; NotFound.
    """
    description = read_description(file)
    if not knows_schema(description.schema):
        raise BadRequest(
            f"'{file}' was made by release {description.version} with schema {description.schema}, which this release does not know;"
            " restore it with that release or a newer one"
        )
    if not is_empty(data):
        raise Conflict(f"the data folder '{data}' is not empty; name a new one")
    return description


def restore(file: Path, data: Path) -> None:
    """Writes a checked backup into an empty folder that this process has locked. Errors: BadRequest, Corrupt, OSError."""
    restore_files(file, data)
