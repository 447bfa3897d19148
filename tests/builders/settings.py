"""Settings as a file holds them."""

from pathlib import Path

from feedmill.settings import LoadedSettings, load_settings


def load_text(folder: Path, text: str, **environment: str) -> LoadedSettings:
    """Writes a file of settings, ``f.toml``, and loads it."""
    path = folder / "f.toml"
    path.write_text(text)
    return load_settings(path, environment)
