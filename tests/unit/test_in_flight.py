"""What was in flight when a process was killed is found by the next one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from feedmill.adapters.inflight import MappedInFlight


def test_find_left_after_a_kill_returns_the_item(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from feedmill.adapters.inflight import MappedInFlight\n"
        "one = MappedInFlight(Path(sys.argv[1]), 'role'); one.begin('a' * 90); one.end(); one.begin('index.entry document:7')\n"
        f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    assert MappedInFlight(tmp_path, "role").find_left() == "index.entry document:7"
    assert MappedInFlight(tmp_path, "other").find_left() is None


def test_find_left_after_end_returns_nothing(tmp_path: Path) -> None:
    one = MappedInFlight(tmp_path, "role")
    one.begin("x" * 5000)
    assert MappedInFlight(tmp_path, "role").find_left() == "x" * 1022
    one.end()
    assert MappedInFlight(tmp_path, "role").find_left() is None
