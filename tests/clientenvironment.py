"""An environment that has the Python client and nothing of the server, as on the machine of a connector."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import h11

from tests.docexamples import ROOT


def build_wheel(project: Path, folder: Path) -> Path:
    """Returns the wheel of a project."""
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=project, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_client_environment(folder: Path) -> Path:
    """Returns the interpreter of a new environment. Nothing is fetched: h11 is copied from the environment of the tests."""
    venv.create(folder / "environment")
    (packages,) = (folder / "environment/lib").glob("python*/site-packages")
    with ZipFile(build_wheel(ROOT / "client", folder / "wheel")) as wheel:
        wheel.extractall(packages)
    shutil.copytree(Path(h11.__file__).parent, packages / "h11")
    return folder / "environment/bin/python"


def run_alone(python: Path, code: str) -> str:
    """Returns what a program prints. It sees no other environment, and a warning is an error."""
    done = subprocess.run([python, "-I", "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
