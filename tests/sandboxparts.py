"""What this kernel has of the sandbox, found out by a process that does nothing but confine itself."""

import json
import subprocess
import sys
from functools import lru_cache

from feedmill.adapters.sandbox.confinement import Sandbox

_CODE = (
    "import json, dataclasses; from feedmill.adapters.sandbox.probe import probe_sandbox as p; print(json.dumps(dataclasses.asdict(p())))"
)


@lru_cache(maxsize=1)
def find_sandbox() -> Sandbox:
    """Returns the parts that are in force here."""
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, check=True)
    return Sandbox(**json.loads(done.stdout))
