"""The server that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from tests.appliance import Appliance, running


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """Returns a server with default settings, shared by all tests that keep to data sources and hosts of their own.

    It ends before a worker goes on to other folders: its processes take two percent of a core when they are idle.
    """
    with running(tmp_path_factory.mktemp("server") / "data") as appliance:
        yield appliance
