"""Which addresses are of the public internet, block by block of the registries, at both ends of each."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.publicaddresses import is_public

SPECIAL_IPV4 = """
0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32
192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.0.192/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16
192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
""".split()
SPECIAL_IPV6 = """
::1/128 ::/128 ::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128
2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7
fe80::/10 fec0::/10 ff00::/8 4000::/3 ::ffff:0:0/97 64:ff9b::/104 64:ff9b::7f00:0/104 64:ff9b::a9fe:0/112 2002:a00::/24 2002:7f00::/24
""".split()


@pytest.mark.parametrize("block", [*SPECIAL_IPV4, *(block for block in SPECIAL_IPV6 if block != "::ffff:0:0/97")])
def test_no_address_of_a_special_block_is_public(block: str) -> None:
    network = ip_network(block)
    for each in (network[0], network[-1], network[network.num_addresses // 2]):
        assert not is_public(str(each)), each
        assert not is_public(f"{each}%eth0") or network.version == 4


@pytest.mark.parametrize("block", SPECIAL_IPV4)
@pytest.mark.parametrize("written", ["::ffff:{}", "64:ff9b::{}", "2002:{:04x}:{:04x}::1"])
def test_a_special_address_inside_an_ipv6_one_is_not_public(block: str, written: str) -> None:
    for each in (ip_network(block)[0], ip_network(block)[-1]):
        number = int(each)
        text = written.format(number >> 16, number & 0xFFFF) if "x" in written else written.format(each)
        assert not is_public(text), text


@pytest.mark.parametrize(
    "text", ["192.0.0.192", "fec0::1", "192.88.99.1", "::10.0.0.1", "2001:0:102:304::", "nonsense", "", "1.2.3", "1.2.3.4/8"]
)
def test_what_passed_once_is_not_public(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255",
        "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "2001:200::1", "2606:4700::1",
        "2a00:1450::1", "3ffe::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
    ],
)  # fmt: skip
def test_neighbours_of_special_blocks_are_public(text: str) -> None:
    assert is_public(text)


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public(address: object) -> None:
    known = ip_address(str(address))
    if known.is_private or known.is_multicast or known.is_reserved or known.is_loopback or known.is_link_local:
        assert not is_public(str(known)) or str(known).startswith(("::ffff:", "64:ff9b:"))


@given(st.text(max_size=50))
def test_any_text_is_judged(text: str) -> None:
    assert is_public(text) in (True, False)
