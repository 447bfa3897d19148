import pytest

from feedmill.model.feed import FeedKind, FeedTarget, FeedType, SourceCommand


@pytest.mark.parametrize(
    ("name", "operation", "target"),
    [
        ("full", FeedType.FULL, FeedTarget.DOCUMENTS),
        ("incremental", FeedType.INCREMENTAL, FeedTarget.DOCUMENTS),
        ("metadata-and-url", FeedType.METADATA_AND_URL, FeedTarget.DOCUMENTS),
        ("delete", SourceCommand.DELETE, FeedTarget.DOCUMENTS),
        ("destroy", SourceCommand.DESTROY, FeedTarget.DOCUMENTS),
        ("groups-full", FeedType.FULL, FeedTarget.GROUPS),
        ("groups-incremental", FeedType.INCREMENTAL, FeedTarget.GROUPS),
        ("groups-cleanup", SourceCommand.CLEANUP, FeedTarget.GROUPS),
    ],
)
def test_name_in_the_store_stands_for_an_operation_and_a_target(name: str, operation: FeedType | SourceCommand, target: FeedTarget) -> None:
    kind = FeedKind(name)

    assert (kind.operation, kind.target) == (operation, target)
    assert (kind.feedtype, kind.command).count(None) == 1
    assert operation in (kind.feedtype, kind.command)


def test_every_kind_has_an_operation() -> None:
    assert len({(kind.operation, kind.target) for kind in FeedKind}) == len(FeedKind)
