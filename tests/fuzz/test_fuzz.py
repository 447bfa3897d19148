"""A short run of every fuzzer: its seeds, what was found once, and inputs that are the same in every run."""

import pytest

from tests.fuzz.mutating import make_input
from tests.fuzz.target import Finding, Target, check
from tests.fuzz.targets import TARGETS, list_corpus


@pytest.mark.parametrize("name", TARGETS)
def test_parser_changed_inputs_raises_only_what_it_promises(name: str) -> None:
    target = TARGETS[name]
    known = [*target.seeds, *list_corpus(name)]
    for data in known:
        check(target, data)
    for number in range(target.inputs_in_suite):
        data = make_input(known, target.words, number)
        try:
            check(target, data)
        except Finding as exc:
            raise AssertionError(f"{name}, input {number}: {exc}: {data[:2_000]!r}") from exc


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"saml"}))
def test_first_seed_is_read_without_error(name: str) -> None:
    """A seed that is refused at once would try nothing; the response of ``saml`` is not signed, that of ``saml_signed`` is."""
    assert TARGETS[name].run(TARGETS[name].seeds[0]) > 0


def _raise(_: bytes) -> int:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target(name="raises", run=_raise, seeds=()), "KeyError"),
        (Target(name="grows", run=lambda _: 10**9, seeds=()), "output of 1000000000"),
        (Target(name="slow", run=lambda _: sum(range(300_000)) * 0, seeds=(), base_work=10.0, work_per_byte=0.0), "more than 10 units"),
    ],
)
def test_check_what_must_not_be_is_a_finding(target: Target, message: str) -> None:
    with pytest.raises(Finding, match=message):
        check(target, b"")


def test_check_promised_error_is_none() -> None:
    check(Target(name="promised", run=_raise, seeds=(), errors=(KeyError,)), b"")
