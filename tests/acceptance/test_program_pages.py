"""The pages of the manual for programs: every step runs, in order, against a server, where the client alone is installed."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests import staffsource
from tests.appliance import Appliance, running
from tests.clientenvironment import make_client_environment, run_alone
from tests.docexamples import ROOT

BETWEEN = "--- the next step"
SETTINGS = """
[[dataload.profiles]]
name = "default"
allowed = ["127.0.0.0/8"]
fields = [{name = "Price", type = "number"}]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("pages")
    staffsource.make_database(folder, ["rowword"])
    with running(folder / "data", SETTINGS + staffsource.SETTINGS) as made:
        yield made


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_client_environment(tmp_path_factory.mktemp("environment"))


def read_steps(page: str, language: str, server: Appliance) -> list[str]:
    """Returns the steps of a page, with the ports and the data folder of this test's server."""
    text = (ROOT / "docs" / page).read_text()
    for port, own in ((19900, server.gate), (8080, server.search_port), (8000, server.admin)):
        text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{own}")
    text = text.replace("data/admin.token", f"{server.data}/admin.token")
    return [dedent(code) for code in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def run_steps(page: str, server: Appliance, python: Path) -> list[str]:
    """Runs the steps in Python of a page, and returns what each printed."""
    return run_alone(python, f"print({BETWEEN!r})\n".join(read_steps(page, "python", server))).split(f"{BETWEEN}\n")


def test_steps_of_the_tutorial_run(server: Appliance, python: Path) -> None:
    pushed, _, found, listed, groups = run_steps("tutorial/python-client.md", server, python)
    assert pushed == "completed 3 of 3\n"
    assert found.splitlines()[1:] == [
        "Travel http://intranet.example.com/handbook/travel {'department': ['Finance', 'Travel office']}",
        "Finance 1",
        "Travel office 1",
    ]
    assert listed == "http://intranet.example.com/handbook/travel\n"
    assert "AclShown" in groups


def test_steps_of_the_page_for_developers_run(server: Appliance, python: Path) -> None:
    pushed, found, passages, together, failed, _, loaded, asked, listed, other = run_steps("howto/write-a-program.md", server, python)
    assert re.search(r"^1000 documents, \d+ bytes$", pushed, re.MULTILINE)
    assert pushed.splitlines()[-1] == "completed 1000 of 1000"
    assert found.startswith("1000 [1000]\n")
    assert found.count("{'team': ['office']}") == 1_000
    assert "The text of article 7." in passages
    assert together.startswith("article 1000\ntext 1000\nhttp://wiki.example.com/")
    assert failed.strip()
    assert loaded.splitlines() == ["I OK ", "D OK Not found", "UI OK "]
    assert asked.splitlines()[0] == "0"
    assert listed.count("http://wiki.example.com/") >= 1_000
    assert other.startswith("[{'id': ")


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_steps_without_python_run(server: Appliance, tmp_path: Path) -> None:
    steps = read_steps("howto/write-a-program.md", "bash", server)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(steps)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    assert '"url": "http://wiki.example.com/line"' in done.stdout or '"url":"http://wiki.example.com/line"' in done.stdout
