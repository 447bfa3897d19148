"""The demonstration, where it cannot start."""

import os
import socket
import subprocess
import sys
from pathlib import Path


def test_demo_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "feedmill.cli.demo", "--once", "--data", str(tmp_path / "data")]
        environment = os.environ | {"FEEDMILL_SEARCH_PORT": str(port)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert f"the server did not start; error: port {port} on 127.0.0.1 (search.port) is in use" in said
    # its own new folder was never open to others, so there is nothing to warn of
    assert "data_folder_closed" not in (tmp_path / "data" / "server.log").read_text()
