"""A bad item costs only itself; infrastructure errors blame no item."""

import errno
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.errors import BadRequest, Broken, Busy, Conflict, Corrupt, DiskFull, FeedmillError, NotFound, UpstreamFailure
from feedmill.services.isolation.batches import belongs_to_item, describe, run_each, run_halved
from feedmill.services.isolation.faultpoints import fault_point, injected


class PanicException(BaseException):
    """Stands for the panic of a Rust library, whose class cannot be imported."""


@given(st.lists(st.booleans(), max_size=200))
def test_run_halved_does_every_good_item_once_and_names_the_bad(are_bad: list[bool]) -> None:
    done: list[int] = []
    runs = 0

    def work(items: Sequence[int]) -> None:
        nonlocal runs
        runs += 1
        if any(are_bad[item] for item in items):
            raise KeyError("\n")
        done.extend(items)

    failed = run_halved(range(len(are_bad)), work, step="test")
    bad = [item for item, is_bad in enumerate(are_bad) if is_bad]
    assert [each.item for each in failed] == bad
    assert done == [item for item, is_bad in enumerate(are_bad) if not is_bad]
    assert runs <= 1 + len(bad) * 2 * max(1, len(are_bad)).bit_length()
    assert {(each.step, each.reason) for each in failed} <= {("test", "step test failed: KeyError: '\\n'")}


@given(st.lists(st.sampled_from(["good", "bad", "panic"]), max_size=50))
def test_run_each_returns_what_came_of_the_good_items(kinds: list[str]) -> None:
    def work(kind: str) -> str:
        if kind == "panic":
            raise PanicException("out of bounds")
        if kind == "bad":
            raise MemoryError
        return kind.upper()

    done, failed = run_each(kinds, work, step="test")
    assert done == [("good", "GOOD")] * kinds.count("good")
    assert [each.item for each in failed] == [kind for kind in kinds if kind != "good"]


@pytest.mark.parametrize(
    "error",
    [
        Busy("x"),
        DiskFull("x"),
        UpstreamFailure("x"),
        Broken("x"),
        Conflict("x"),
        Corrupt("x"),
        OSError(errno.ENOSPC, "full"),
        KeyboardInterrupt(),
    ],
)
def test_run_halved_infrastructure_error_leaves_at_once(error: BaseException) -> None:
    runs = 0

    def work(_items: Sequence[int]) -> None:
        nonlocal runs
        runs += 1
        raise error

    with pytest.raises(type(error)):
        run_halved([1, 2, 3], work, step="test")
    assert runs == 1


@pytest.mark.parametrize(
    "error",
    [
        KeyError("k"),
        RecursionError(),
        MemoryError(),
        UnicodeError(),
        BadRequest("x"),
        NotFound("x"),
        FeedmillError("x"),
        PanicException(),
        OSError("x"),
    ],
)
def test_belongs_to_item_takes_foreign_errors(error: BaseException) -> None:
    assert belongs_to_item(error)


def test_describe_is_one_bounded_line() -> None:
    assert describe("index.entry", ValueError("a\n b")) == "step index.entry failed: ValueError: a b"
    assert len(describe("index.entry", ValueError("x" * 10_000))) == 500


def test_fault_point_raises_for_marked_urls_alone() -> None:
    fault_point("index.entry", "http://h/marked")
    with injected("index.entry=raise:marked other.step=kill:marked"):
        fault_point("index.entry", "http://h/plain")
        fault_point("index.put", "http://h/marked")
        with pytest.raises(RuntimeError, match=r"injected fault in index\.entry"):
            fault_point("index.entry", "http://h/marked")
    fault_point("index.entry", "http://h/marked")


@pytest.mark.parametrize("text", ["index.entry", "index.entry=raise", "=raise:x", "index.entry=sleep:x"])
def test_injected_refuses_what_is_no_fault(text: str) -> None:
    with pytest.raises(ValueError, match="FEEDMILL_FAULTS"), injected(text):
        pass
