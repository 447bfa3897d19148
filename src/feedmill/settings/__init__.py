"""The settings: one TOML file, overridden by environment variables. Every key is documented, and every fault names its line."""

from feedmill.settings.keypaths import dotted
from feedmill.settings.load import LoadedSettings, list_values, load_settings
from feedmill.settings.sections import Settings
from feedmill.settings.snapshot import read_snapshot, write_snapshot

__all__ = ["LoadedSettings", "Settings", "dotted", "list_values", "load_settings", "read_snapshot", "write_snapshot"]
