import pytest

from feedmill.core.urls.networks import LOOPBACK, Networks
from feedmill.model.errors import BadRequest


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("11.0.0.1", False),
        ("2001:db8::7", True),
        ("testclient", False),
        (None, False),
        ("", False),
    ],
)
def test_networks_of_a_list_cover_their_addresses_alone(address: str | None, expected: bool) -> None:
    assert Networks.parse(["10.0.0.0/255.0.0.0", "2001:db8::/32"]).covers(address) is expected


def test_networks_with_all_cover_everybody_even_without_an_address() -> None:
    assert Networks.parse(["all"]).covers(None)
    assert not Networks.parse([]).covers("127.0.0.1")


def test_loopback_covers_this_machine_alone() -> None:
    assert LOOPBACK.covers("127.9.9.9")
    assert LOOPBACK.covers("::1")
    assert LOOPBACK.covers("::1%lo")
    assert not LOOPBACK.covers("192.168.0.1")


@pytest.mark.parametrize("text", ["10.0.0.1/8", "example.com", "", "10.0.0.0/40", "ALL"])
def test_networks_with_a_wrong_text_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"mask|no address"):
        Networks.parse([text])
