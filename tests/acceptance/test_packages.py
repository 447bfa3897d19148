"""The two wheels of the tree: the server's, and the client's, which needs nothing of the server."""

from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

import feedmill
import feedmill_client
from tests.clientenvironment import build_wheel, make_client_environment, run_alone
from tests.docexamples import ROOT

PROGRAM = """
import sys
import feedmill_client
before = set(sys.modules)
from feedmill_client import Client
try:
    import feedmill
except ImportError:
    print("no server here")
print({name.partition(".")[0] for name in sys.modules} & {"feedmill", "pydantic", "httpx2", "asyncio", "ssl"})
print({name for name in before if name.partition(".")[0] in ("feedmill_client", "h11")})
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ZipFile, ZipFile]]:
    """The wheel of the server and that of the client."""
    folder = tmp_path_factory.mktemp("wheels")
    with ZipFile(build_wheel(ROOT, folder / "server")) as server, ZipFile(build_wheel(ROOT / "client", folder / "client")) as client:
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


def test_client_loads_nothing_before_it_is_used_and_nothing_of_the_server(tmp_path: Path) -> None:
    assert run_alone(make_client_environment(tmp_path), PROGRAM) == "no server here\nset()\n{'feedmill_client'}\n"


def test_former_name_of_the_client_is_the_same_client() -> None:
    import feedmill.client

    assert feedmill.client.__all__ == feedmill_client.__all__
    assert feedmill.client.Client is feedmill_client.Client
