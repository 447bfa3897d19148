"""Adds segments that another process built to an index, without indexing their documents again.

A segment is a set of immutable files with its own name, and ``meta.json`` lists the segments of an index. A segment of an index with the
same fields becomes part of another index once its files are there and the list names it. ``.managed.json`` lists all files that the
engine may remove later. The list is replaced last, in one step: if the process dies before, it leaves files that no reader uses.
Source: Tantivy, ARCHITECTURE.md, "Index and segments", and ``src/index/index_meta.rs``.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from feedmill.adapters.index.tantivy.failures import translated

META, MANAGED = "meta.json", ".managed.json"


def adopt_segments(folder: Path, built: Path) -> str:
    """Makes the segments of a built index part of the index in ``folder``, which no writer holds open. Returns the commit's token."""
    with translated(f"taking over segments into index {folder.name}"):
        # Names of segments are random, so files of two indexes do not collide. Lists and lock files stay where they are.
        files = [path for path in built.iterdir() if not path.name.startswith((".", META))]
        for path in files:
            _link_file(path, folder / path.name)
        _sync(folder)
        # Files first, then the list of files, then the list of segments: a crash between
        # two of them leaves files that no segment uses, never a segment without its files.
        managed = json.loads((folder / MANAGED).read_text())
        _replace(folder / MANAGED, [*managed, *(path.name for path in files)])
        meta: dict[str, Any] = json.loads((folder / META).read_text())
        meta["segments"] += json.loads((built / META).read_text())["segments"]
        meta["opstamp"] += 1
        _replace(folder / META, meta)
        return str(meta["opstamp"])


def _link_file(source: Path, target: Path) -> None:
    """Links a file under a second name, or copies it if the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        _sync(target)


def _replace(path: Path, value: object) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(value))
    _sync(fresh)
    fresh.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
