"""A folder with a database server that several processes use: the server ends, and the folder goes, once none of them lives.

Each user holds a shared lock on a file in the folder. A separate process waits for the exclusive lock, which it gets however the users end,
also if they are killed.
"""

import fcntl
import subprocess
from pathlib import Path
from typing import IO

_USERS = "users"
_PID_FILES = "*/postmaster.pid pid"
_END = f"""
flock --exclusive "$1/{_USERS}" true
cd "$1" || exit
for file in {_PID_FILES}; do
    [ -e "$file" ] || continue
    pid=$(head -n 1 "$file")
    kill -s QUIT "$pid" || continue
    tries=0
    while kill -s 0 "$pid" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
done
cd / && rm -rf "$1"
"""


def use_folder(folder: Path) -> IO[bytes]:
    """Returns a file that makes this process a user of the folder while it is open. Errors: OSError if the folder goes, or is gone."""
    file = (folder / _USERS).open("rb")
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def start_using(folder: Path) -> IO[bytes]:
    """Does so for a new folder, and lets it go after its last user."""
    (folder / _USERS).touch()
    file = use_folder(folder)
    command = ["sh", "-c", f"( {_END} ) >/dev/null 2>&1 &", "sh", str(folder)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, start_new_session=True)
    return file
