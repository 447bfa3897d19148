"""Clicks as lines of JSON in one file a day, ``clicks/2026-03-01.jsonl``.

The file of a day has a maximum size, of which each sender may use a hundredth, so that one sender cannot use up the day. The bytes of each
sender are counted in memory only. When a new file begins, files past their retention are deleted. Each line is written in one piece, so a
crash costs at most the last line. Any tool that reads JSON can make reports of these files.
"""

import json
import threading
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path

from cachetools import FIFOCache

from feedmill.model.click import Click, ClickSender

MAX_DAY_BYTES = 50_000_000
SENDERS_TO_A_DAY = 100
SHARES_OF_MANY = 10
"""How many shares a sender has that stands for many people."""

MAX_COUNTED = 20_000


class FolderClickLog:
    """Stores clicks in a folder. Several threads may use it. Units: days, 0 stores nothing."""

    def __init__(self, folder: Path, days: int, max_day_bytes: int = MAX_DAY_BYTES) -> None:
        self._folder = folder
        self._days = days
        self._max_day_bytes = max_day_bytes
        self._lock = threading.Lock()
        self._today: date | None = None
        self._sent_bytes: FIFOCache[str, int] = FIFOCache(MAX_COUNTED)

    def keep(self, click: Click, sender: ClickSender) -> bool:
        """Stores a click and returns whether it did. It does not if the day's file or the sender's share is full, or if writing fails."""
        if self._days <= 0:
            return False
        fields = {**asdict(click), "at": click.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        line = json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"
        path = self._folder / f"{click.at.date().isoformat()}.jsonl"
        with self._lock:
            try:
                self._begin_day(click.at.date())
                with path.open("ab", buffering=0) as file:
                    if file.tell() + len(line) > self._max_day_bytes or not self._is_within_share(sender, len(line)):
                        return False
                    file.write(line)
                    self._count(sender, len(line))
            except OSError:
                # a click is not important enough to fail a request
                return False
        return True

    def _is_within_share(self, sender: ClickSender, size_bytes: int) -> bool:
        share_bytes = self._max_day_bytes // SENDERS_TO_A_DAY * (SHARES_OF_MANY if sender.is_many else 1)
        return self._sent_bytes.get(sender.name, 0) + size_bytes <= share_bytes

    def _count(self, sender: ClickSender, size_bytes: int) -> None:
        # the sender that was counted least recently is evicted first
        self._sent_bytes[sender.name] = self._sent_bytes.get(sender.name, 0) + size_bytes

    def _begin_day(self, day: date) -> None:
        if day == self._today:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        oldest = f"{(day - timedelta(days=self._days - 1)).isoformat()}.jsonl"
        for path in self._folder.glob("????-??-??.jsonl"):
            if path.name < oldest:
                path.unlink(missing_ok=True)
        self._sent_bytes.clear()
        self._today = day
