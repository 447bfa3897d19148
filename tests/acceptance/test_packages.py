"""The two wheels of the tree: the server's, and the client's, which is used here in an environment that has nothing of the server."""

import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import h11
import pytest

import feedmill
import feedmill_client
from tests.appliance import Appliance
from tests.docexamples import ROOT

PROGRAM = """
import sys
from feedmill_client import Client, FeedBuilder, Unreachable

search, feeds = sys.argv[1:]
with Client(search=search, feeds=feeds) as client:
    with FeedBuilder() as feed:
        feed.add("http://packages.example.com/1", "packageword")
        client.wait(client.push(feed, datasource="packages"))
    print(*(result.url for result in client.iter_results("packageword")))
try:
    import feedmill
except ImportError:
    print("no server here")
print({name.partition(".")[0] for name in sys.modules} & {"feedmill", "pydantic", "httpx2", "asyncio"})
"""


def build_wheel(project: Path, folder: Path) -> ZipFile:
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=project, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return ZipFile(wheel)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ZipFile, ZipFile]]:
    """The wheel of the server and that of the client."""
    folder = tmp_path_factory.mktemp("wheels")
    with build_wheel(ROOT, folder / "server") as server, build_wheel(ROOT / "client", folder / "client") as client:
        yield server, client


def read_metadata(wheel: ZipFile) -> tuple[str, str, list[str]]:
    (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    message = message_from_bytes(wheel.read(name))
    return message["Name"], message["Version"], message.get_all("Requires-Dist", [])


def read_client(wheel: ZipFile) -> dict[str, bytes]:
    return {name: wheel.read(name) for name in wheel.namelist() if name.startswith("feedmill_client/")}


def test_wheels_hold_the_same_client_with_the_same_version(wheels: tuple[ZipFile, ZipFile]) -> None:
    server, client = wheels
    assert read_metadata(client) == ("feedmill-client", feedmill_client.__version__, ["h11<1,>=0.14"])
    name, version, required = read_metadata(server)
    assert (name, version) == ("feedmill", feedmill.__version__)
    assert version == feedmill_client.__version__
    assert any(each.startswith("h11==") for each in required)
    # an index may have a package of this name that is not ours
    assert not any("feedmill" in each for each in required)
    assert read_client(client) == read_client(server)
    assert "feedmill_client/py.typed" in client.namelist()
    folders = {each.partition("/")[0] for each in client.namelist()}
    assert folders == {"feedmill_client", f"feedmill_client-{version}.dist-info"}
    assert any(each.endswith("licenses/LICENSE") for each in client.namelist())


def test_client_works_where_nothing_of_the_server_is_installed(wheels: tuple[ZipFile, ZipFile], server: Appliance, tmp_path: Path) -> None:
    venv.create(tmp_path / "environment")
    (packages,) = (tmp_path / "environment/lib").glob("python*/site-packages")
    wheels[1].extractall(packages)
    shutil.copytree(Path(h11.__file__).parent, packages / "h11")
    ports = (f"http://127.0.0.1:{server.search_port}", f"http://127.0.0.1:{server.gate}")
    command: list[str | Path] = [tmp_path / "environment/bin/python", "-I", "-W", "error", "-c", PROGRAM, *ports]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", "http://packages.example.com/1\nno server here\nset()\n")


def test_former_name_of_the_client_is_the_same_client() -> None:
    import feedmill.client

    assert feedmill.client.__all__ == feedmill_client.__all__
    assert feedmill.client.Client is feedmill_client.Client
