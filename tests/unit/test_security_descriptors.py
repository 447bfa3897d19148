"""Security descriptors of Windows: which entries decide on reading, and bytes that are none."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.crawling.smb.accounts import Accounts
from feedmill.adapters.crawling.smb.descriptors import EVERYONE, Readers, UnreadableDescriptor, parse_readers, parse_sid, write_sid
from feedmill.adapters.crawling.smb.rpc import Account, RpcFailure, look_up_accounts, read_share_descriptor

ANN, BOB = "S-1-5-21-1-2-3-1001", "S-1-5-21-1-2-3-1002"
PERMIT, DENY, PERMIT_CALLBACK, DENY_CALLBACK, DENY_OBJECT = 0, 1, 9, 10, 6
READ, WRITE, GENERIC_READ, GENERIC_ALL = 0x1, 0x2, 0x80000000, 0x10000000


def make(*entries: tuple[int, int, int, str], object_flags: int = 0) -> bytes:
    """Returns a descriptor: kind, flags, mask and account of each entry."""
    aces = []
    for kind, flags, mask, sid in entries:
        body = struct.pack("<I", mask) + (struct.pack("<I", object_flags) + b"g" * (16 * object_flags) if kind == DENY_OBJECT else b"")
        aces.append(struct.pack("<BBH", kind, flags, 4 + len(body) + len(write_sid(sid))) + body + write_sid(sid))
    dacl = struct.pack("<BBHHH", 2, 0, 8 + sum(map(len, aces)), len(aces), 0) + b"".join(aces)
    return struct.pack("<BBHIIII", 1, 0, 0x8004, 0, 0, 0, 20) + dacl


@pytest.mark.parametrize(
    ("raw", "permitted", "denied"),
    [
        (make(), (), ()),
        (struct.pack("<BBHIIII", 1, 0, 0x8000, 0, 0, 0, 0), (EVERYONE,), ()),
        (struct.pack("<BBHIIII", 1, 0, 0x8004, 0, 0, 0, 0), (EVERYONE,), ()),
        (make((PERMIT, 0, READ, ANN), (PERMIT, 0, GENERIC_READ, BOB), (PERMIT, 0, GENERIC_ALL, EVERYONE)), (ANN, BOB, EVERYONE), ()),
        (make((PERMIT, 0, WRITE, ANN), (DENY, 0, WRITE, BOB)), (), ()),
        (make((DENY, 0, READ | WRITE, BOB), (PERMIT, 0x10, READ, BOB), (PERMIT, 0, READ, ANN)), (ANN,), (BOB,)),
        (make((PERMIT, 0, READ, ANN), (DENY, 0x10, READ, ANN)), (ANN,), ()),
        (make((PERMIT, 0x0B, READ, ANN), (DENY, 0x0B, READ, BOB)), (), ()),
        (make((PERMIT_CALLBACK, 0, READ, ANN), (DENY_CALLBACK, 0, READ, BOB)), (), (BOB,)),
        (make((DENY_OBJECT, 0, READ, BOB)), (), (BOB,)),
        (make((DENY_OBJECT, 0, READ, BOB), object_flags=1), (), (BOB,)),
    ],
)
def test_first_entry_that_decides_on_reading_counts(raw: bytes, permitted: tuple[str, ...], denied: tuple[str, ...]) -> None:
    assert parse_readers(raw) == Readers(permitted, denied)


@given(st.binary(max_size=200), st.integers(0, 60))
def test_bytes_that_are_no_descriptor_are_unreadable(tail: bytes, cut: int) -> None:
    whole = make((PERMIT, 0, READ, ANN), (DENY, 0, READ, BOB))
    for raw in (tail, whole[:cut], whole[:cut] + tail):
        with suppress(UnreadableDescriptor):
            parse_readers(raw)
    with pytest.raises(UnreadableDescriptor):
        parse_readers(whole[:-1])


def test_security_identifier_is_written_as_it_is_read() -> None:
    assert parse_sid(write_sid(ANN)) == ANN
    assert parse_sid(bytes([1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0])) == "S-1-5-18"


@given(st.lists(st.binary(max_size=120), max_size=4))
def test_answers_of_a_server_that_makes_them_up_are_failures(answers: list[bytes]) -> None:
    bound = struct.pack("<BBBBIHHI", 5, 0, 12, 3, 0x10, 40, 0, 1) + b"\0" * 24
    framed = [struct.pack("<BBBBIHHI", 5, 0, 2, 3, 0x10, 24 + len(each), 0, 2) + b"\0" * 8 + each for each in answers]
    for first in (bound, *answers[:1]):
        left = [first, *framed]
        with suppress(RpcFailure):
            look_up_accounts(lambda _data, left=left: left.pop(0) if left else b"", [ANN])  # type: ignore[misc]
        left = [first, *framed]
        with suppress(RpcFailure):
            read_share_descriptor(lambda _data, left=left: left.pop(0) if left else b"", "docs")  # type: ignore[misc]


def test_share_whose_acl_is_not_shown_is_a_failure_and_not_open_to_all() -> None:
    bound = struct.pack("<BBBBIHHI", 5, 0, 12, 3, 0x10, 40, 0, 1) + b"\0" * 24
    stub = struct.pack("<14I", 502, 1, *[0] * 12)
    left = [bound, struct.pack("<BBBBIHHI", 5, 0, 2, 3, 0x10, 24 + len(stub), 0, 2) + b"\0" * 8 + stub]
    with pytest.raises(RpcFailure, match="does not show"):
        read_share_descriptor(lambda _data: left.pop(0), "docs")


def test_accounts_are_asked_for_once_and_unknown_denials_close() -> None:
    asked: list[str] = []

    def look_up(sids: object) -> list[Account | None]:
        asked.extend(sids)  # type: ignore[arg-type]
        return [Account("CORP", "ann", 1) if sid == ANN else None for sid in sids]  # type: ignore[attr-defined]

    accounts = Accounts()
    for _ in range(2):
        entries = accounts.list_entries(Readers((ANN, BOB, EVERYONE, "S-1-5-18")), "Everyone", "ad", look_up)
        assert [(entry["access"], entry["scope"], entry["name"]) for entry in entries] == [
            ("permit", "user", r"CORP\ann"),
            ("permit", "group", "Everyone"),
        ]
    assert asked == [ANN, BOB]
    assert accounts.list_entries(Readers((ANN,), (BOB,)), "Everyone", "ad", look_up) == []
    assert accounts.list_entries(Readers((ANN,), ("S-1-5-11",)), "Everyone", "ad", look_up) == []
    assert len(accounts.list_entries(Readers((ANN,), ("S-1-5-18",)), "Everyone", "ad", look_up)) == 1
