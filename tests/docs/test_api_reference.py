"""The reference of the JSON resources is the one that their OpenAPI documents make."""

from pathlib import Path

from feedmill.http.common.apireference import write_reference

ROOT = Path(__file__).parents[2]


def test_api_reference_is_current() -> None:
    assert (ROOT / "docs/reference/api.md").read_text() == write_reference(), "run make api-reference"
