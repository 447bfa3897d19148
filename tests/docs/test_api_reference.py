"""The references of the JSON resources and of the Python client are those that OpenAPI documents and docstrings make."""

from pathlib import Path

from docs import clientreference
from feedmill.http.common.apireference import write_reference

ROOT = Path(__file__).parents[2]


def test_api_reference_is_current() -> None:
    assert (ROOT / "docs/reference/api.md").read_text() == write_reference(), "run make api-reference"


def test_reference_of_the_client_is_current() -> None:
    assert (ROOT / "docs/reference/python-client.md").read_text() == clientreference.write_reference(), "run make api-reference"
