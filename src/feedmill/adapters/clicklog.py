"""Clicks as lines of JSON in one file a day, ``clicks/2026-03-01.jsonl``.

A day's file takes so many bytes and no more, whoever sends; files older than the days to keep are removed when a new one begins. A line
is written in one piece, so that a crash costs the last line at most. Reports for people are made of these files by whatever reads JSON.
"""

import json
import threading
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path

from feedmill.model.click import Click

MAX_DAY_BYTES = 50_000_000


class FolderClickLog:
    """Keeps clicks in a folder. May be used from several threads. Units: days, 0 keeps nothing."""

    def __init__(self, folder: Path, days: int, max_day_bytes: int = MAX_DAY_BYTES) -> None:
        self._folder = folder
        self._days = days
        self._max_day_bytes = max_day_bytes
        self._lock = threading.Lock()
        self._today: date | None = None

    def keep(self, click: Click) -> bool:
        """Keeps a click and tells whether it did: not when the day's file is full or cannot be written."""
        if self._days <= 0:
            return False
        fields = {**asdict(click), "at": click.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        line = json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"
        path = self._folder / f"{click.at.date().isoformat()}.jsonl"
        with self._lock:
            try:
                self._begin_day(click.at.date())
                with path.open("ab", buffering=0) as file:
                    if file.tell() + len(line) > self._max_day_bytes:
                        return False
                    file.write(line)
            except OSError:
                # a click is worth no failure
                return False
        return True

    def _begin_day(self, day: date) -> None:
        if day == self._today:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        oldest = f"{(day - timedelta(days=self._days - 1)).isoformat()}.jsonl"
        for kept in self._folder.glob("????-??-??.jsonl"):
            if kept.name < oldest:
                kept.unlink(missing_ok=True)
        self._today = day
