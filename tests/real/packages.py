"""Gets Debian packages and picks documents of them.

Packages are fetched by ``apt-get download`` and unpacked by ``dpkg-deb -x`` into a cache folder, so that nothing is installed and no rights
are needed. Files packed by gzip are unpacked, except changelogs: they stay as they are.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("packages.txt")
MOST_BYTES = 64_000_000
"""Larger files are no documents."""

_DOWNLOAD_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A document. Shape: ``name`` is its path inside the package, without the suffix of gzip where that was taken off."""

    package: str
    name: str
    path: Path
    size_bytes: int


def list_packages() -> list[str]:
    """Returns the names of the list."""
    lines = (line.partition("#")[0].split() for line in LIST.read_text().splitlines())
    return [words[0] for words in lines if words]


def fetch(package: str, cache: Path) -> Path | None:
    """Returns the folder of an unpacked package, None where this Debian does not have it or cannot get it."""
    unpacked = cache / "unpacked" / package
    if unpacked.is_dir():
        return unpacked
    downloads = cache / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    if not _find_archive(package, downloads):
        command = ["apt-get", "download", "-q", package]
        try:
            subprocess.run(command, cwd=downloads, check=True, capture_output=True, timeout=_DOWNLOAD_SECONDS)
        except (subprocess.SubprocessError, OSError):
            return None
    archive = _find_archive(package, downloads)
    if archive is None:
        return None
    unfinished = unpacked.with_name(f"{package}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "-x", str(archive), str(unfinished)], check=True)
    unfinished.rename(unpacked)
    return unpacked


def _find_archive(package: str, downloads: Path) -> Path | None:
    return next(iter(sorted(downloads.glob(f"{package}_*.deb"))), None)


def pick(package: str, folder: Path, limit: int) -> list[Picked]:
    """Returns at most so many documents of a package: the largest of each kind first. The same package yields the same ones."""
    kinds: dict[str, list[Picked]] = defaultdict(list)
    for found in _iter_files(package, folder):
        kinds[Path(found.name).suffix.lower()].append(found)
    lines = [_largest_first(files) for _, files in sorted(kinds.items())]
    chosen: list[Picked] = []
    while lines and len(chosen) < limit:
        lines = [line for line in lines if line]
        chosen += [line.pop(0) for line in lines]
    return sorted(chosen[:limit], key=lambda each: each.name)


def _largest_first(files: list[Picked]) -> list[Picked]:
    """Returns the two largest, then the others in an order that says nothing about them."""
    by_size = sorted(files, key=lambda each: (-each.size_bytes, each.name))
    return by_size[:2] + sorted(by_size[2:], key=lambda each: hashlib.sha256(each.name.encode("utf-8", "surrogateescape")).digest())


def _iter_files(package: str, folder: Path) -> Iterator[Picked]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file() or not 0 < path.stat().st_size <= MOST_BYTES:
                continue
            inside = str(path.relative_to(folder))
            if inside.endswith(".gz") and "changelog" not in name.lower():
                inside = inside.removesuffix(".gz")
            yield Picked(package=package, name=inside, path=path, size_bytes=path.stat().st_size)


def read(picked: Picked) -> bytes:
    """Returns a document's bytes."""
    data = picked.path.read_bytes()
    if picked.path.name.endswith(".gz") and not picked.name.endswith(".gz"):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return data
    return data
