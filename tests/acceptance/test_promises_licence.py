"""The licence limit: which documents go when there are too many, and what does not count."""

from collections.abc import Iterator

import pytest

from tests.acceptance.promises import counts, put
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record


@pytest.fixture(scope="module")
def licensed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("licensed") / "data", "[limits]\nmax_documents = 4\n") as appliance:
        yield appliance


def alive(server: Appliance, base: str, names: str) -> str:
    return "".join(name for name in names if server.document(base + name) is not None)


def test_licence_pushes_out_the_least_and_counts_the_record_in(licensed: Appliance) -> None:
    base = "http://licence.example.com/"
    put(licensed, "licence", make_record(f"{base}a", "x", pagerank="97"))
    put(
        licensed, "licence", make_record(f"{base}b", "licenceword", pagerank="70"), make_record(f"{base}c", "x", lock="true", pagerank="68")
    )
    put(licensed, "licence", make_record(f"{base}d", "x"), make_acl_element("ann", url=f"{base}folder"))
    assert alive(licensed, base, "abcd") == "abcd"
    receipt = licensed.feed(make_feed(make_record(f"{base}e", "x")), "licence")
    assert counts(receipt) == ("completed", 1, 1, 0)
    assert alive(licensed, base, "abcde") == "acde"
    assert licensed.urls("licenceword", match="all") == []
    put(licensed, "licence", make_record(f"{base}f", "x"))
    assert alive(licensed, base, "abcdef") == "acef"
    put(licensed, "licence", make_record(f"{base}e", "touched"))
    put(licensed, "licence", make_record(f"{base}g", "x"))
    assert alive(licensed, base, "abcdefg") == "aceg"
    put(licensed, "licence", *(make_record(base + name, "x", lock="true", pagerank="100") for name in "hijk"))
    assert alive(licensed, base, "abcdefghijk") == "hijk"
    put(licensed, "licence", make_record(f"{base}l", "x", lock="true", pagerank="100"), make_record(f"{base}m", "x"))
    assert alive(licensed, base, "hijklm") == "ijkl"
    put(licensed, "licence", *(make_record(base + name, "x") for name in "nopq"), feedtype="full")
    assert alive(licensed, base, "hijklmnopq") == "nopq"


def test_licence_is_free_again_after_deletes(licensed: Appliance) -> None:
    base = "http://licencefree.example.com/"
    put(licensed, "licence", feedtype="full")
    put(licensed, "licencefree", *(make_record(base + name, "x") for name in "abcd"))
    put(licensed, "licencefree", make_record(f"{base}a", action="delete"), make_record(f"{base}e", "x"))
    assert alive(licensed, base, "abcde") == "bcde"
    put(licensed, "licencefree", feedtype="full")
