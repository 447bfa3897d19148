"""Clicks as lines of JSON in one file a day, ``clicks/2026-03-01.jsonl``.

The file of a day has a maximum size, of which each sender may use a hundredth, so that one sender cannot use up the day. The bytes of each
sender are counted together with other processes, and not stored. When a new file begins, files past their retention are deleted. Each line
is written in one piece, so a crash costs at most the last line. Any tool that reads JSON can make reports of these files.
"""

import json
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path

from feedmill.model.click import Click, ClickSender
from feedmill.ports.counts import Count, Counts, LocalCounts

MAX_DAY_BYTES = 50_000_000
SENDERS_TO_A_DAY = 100
SHARES_OF_MANY = 10
"""How many shares a sender has that stands for many people."""


class FolderClickLog:
    """Stores clicks in a folder. Several threads and processes may use it. Units: days, 0 stores nothing."""

    def __init__(self, folder: Path, days: int, counts: Counts | None = None, *, max_day_bytes: int = MAX_DAY_BYTES) -> None:
        self._folder = folder
        self._days = days
        self._max_day_bytes = max_day_bytes
        self._counts = LocalCounts() if counts is None else counts
        self._today: date | None = None

    def keep(self, click: Click, sender: ClickSender) -> bool:
        """Stores a click and returns whether it did. It does not if the day's file or the sender's share is full, or if writing fails."""
        if self._days <= 0:
            return False
        fields = {**asdict(click), "at": click.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        line = json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"
        path = self._folder / f"{click.at.date().isoformat()}.jsonl"
        key = f"{click.at.date().isoformat()} {sender.name}"
        with self._counts.locked():
            try:
                self._begin_day(click.at.date())
                sent = self._counts.find(key) or Count()
                sent.amount += len(line)
                with path.open("ab", buffering=0) as file:
                    if file.tell() + len(line) > self._max_day_bytes or sent.amount > self._share_bytes(sender):
                        return False
                    file.write(line)
                    self._counts.put(key, sent)
            except OSError:
                # a click is not important enough to fail a request
                return False
        return True

    def _share_bytes(self, sender: ClickSender) -> int:
        return self._max_day_bytes // SENDERS_TO_A_DAY * (SHARES_OF_MANY if sender.is_many else 1)

    def _begin_day(self, day: date) -> None:
        if day == self._today:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        oldest = f"{(day - timedelta(days=self._days - 1)).isoformat()}.jsonl"
        for path in self._folder.glob("????-??-??.jsonl"):
            if path.name < oldest:
                path.unlink(missing_ok=True)
        self._today = day
