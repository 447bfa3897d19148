"""What every benchmark makes of its measurements."""

from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 1_000_000


def percentile(values: Sequence[float], percent: int) -> float:
    """Returns the value below which so many hundredths lie."""
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def peak_megabytes(pid: int) -> float:
    """Returns the most memory that a process ever had, 0 for one that is gone."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / MEGABYTE
    return 0.0
