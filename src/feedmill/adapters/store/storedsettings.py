"""Settings that the admin API stored, in SQL."""

import sqlalchemy as sa

from feedmill.adapters.store.schema import stored_settings
from feedmill.adapters.store.statements import upsert
from feedmill.model.serving import StoredSetting


class SqlStoredSettings:
    """Implements ``ports.StoredSettings``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def list(self) -> list[StoredSetting]:
        """Lists all stored settings, by section and name."""
        query = sa.select(stored_settings).order_by(stored_settings.c.section, stored_settings.c.name)
        return [_stored_of(row) for row in self._connection.execute(query).mappings()]

    def find(self, section: str, name: str) -> StoredSetting | None:
        """Finds one stored setting."""
        query = sa.select(stored_settings).where(stored_settings.c.section == section, stored_settings.c.name == name)
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _stored_of(row)

    def put(self, setting: StoredSetting) -> None:
        """Stores a setting, replacing the earlier value."""
        values = {"section": setting.section, "name": setting.name, "value": setting.value, "version": setting.version}
        self._connection.execute(upsert(self._connection, stored_settings, ["section", "name"]), [values])

    def remove(self, section: str, name: str) -> None:
        """Removes a stored setting."""
        self._connection.execute(sa.delete(stored_settings).where(stored_settings.c.section == section, stored_settings.c.name == name))


def _stored_of(row: sa.RowMapping) -> StoredSetting:
    return StoredSetting(section=row["section"], name=row["name"], value=row["value"], version=row["version"])
