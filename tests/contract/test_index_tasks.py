"""The store's marks; one suite for every database."""

from feedmill.adapters.store.engine import SqlStore
from feedmill.ports import IndexTask, Lane, Stage
from tests.builders.tasks import make_index_task


def put(store: SqlStore, *tasks: IndexTask) -> None:
    with store.writing() as unit:
        unit.processing.index_tasks.put_many(tasks)


def found(store: SqlStore, document_id: int = 1) -> IndexTask | None:
    with store.reading() as unit:
        return unit.processing.index_tasks.find_many([document_id]).get(document_id)


def open_feeds(store: SqlStore, *feed_ids: int) -> tuple[set[int], set[int]]:
    with store.reading() as unit:
        return unit.processing.index_tasks.list_open_feeds(feed_ids)


def test_put_many_with_later_mark_replaces_but_keeps_tightens_and_quicker_lane(store: SqlStore) -> None:
    put(store, make_index_task(1, lane=Lane.QUICK, revokes_access=True, stage=Stage.EXTRACT))
    later = make_index_task(1, version=2, lane=Lane.BULK, feed_id=2**40, datasource="other")
    put(store, later)
    assert found(store) == make_index_task(1, version=2, lane=Lane.QUICK, revokes_access=True, feed_id=2**40, datasource="other")


def test_put_many_with_quicker_or_tightening_later_mark_takes_that(store: SqlStore) -> None:
    put(store, make_index_task(1))
    put(store, make_index_task(1, lane=Lane.QUICK, revokes_access=True))
    assert found(store) == make_index_task(1, lane=Lane.QUICK, revokes_access=True)


def test_put_many_with_repeating_mark_repeats_only_while_all_do(store: SqlStore) -> None:
    put(store, make_index_task(1, is_refresh=True))
    put(store, make_index_task(1, is_refresh=True))
    assert found(store) == make_index_task(1, is_refresh=True)
    put(store, make_index_task(1))
    assert found(store) == make_index_task(1)
    put(store, make_index_task(1, is_refresh=True))
    assert found(store) == make_index_task(1)


def test_put_many_with_document_twice_keeps_the_last(store: SqlStore) -> None:
    put(store, make_index_task(1, revokes_access=True), make_index_task(1, version=2))
    put(store)
    assert found(store) == make_index_task(1, version=2, revokes_access=True)


def test_list_with_stages_and_lanes_returns_quick_first_then_older_feeds(store: SqlStore) -> None:
    put(
        store,
        make_index_task(9, feed_id=1),
        make_index_task(1, feed_id=2),
        make_index_task(2, feed_id=2),
        make_index_task(7, feed_id=3, lane=Lane.QUICK),
        make_index_task(8, stage=Stage.EXTRACT),
    )
    with store.reading() as unit:
        assert [task.document_id for task in unit.processing.index_tasks.list(Stage.INDEX, 10)] == [7, 9, 1, 2]
        assert [task.document_id for task in unit.processing.index_tasks.list(Stage.INDEX, 2)] == [7, 9]
        assert [task.document_id for task in unit.processing.index_tasks.list(Stage.INDEX, 10, lane=Lane.BULK)] == [9, 1, 2]
        assert [task.document_id for task in unit.processing.index_tasks.list(Stage.INDEX, 10, lane=Lane.QUICK)] == [7]
        assert [task.document_id for task in unit.processing.index_tasks.list(Stage.EXTRACT, 10)] == [8]
        assert unit.processing.index_tasks.count() == {Stage.EXTRACT: 1, Stage.INDEX: 4}


def test_list_after_a_task_returns_those_behind_it_in_its_lane(store: SqlStore) -> None:
    first, second, third = make_index_task(9, feed_id=1), make_index_task(1, feed_id=2), make_index_task(2, feed_id=2)
    last, quick, quicker = make_index_task(3, feed_id=4), make_index_task(7, lane=Lane.QUICK), make_index_task(8, lane=Lane.QUICK)
    put(store, first, second, third, last, quick, quicker, make_index_task(6, feed_id=2, stage=Stage.EXTRACT))
    with store.reading() as unit:
        listing = unit.processing.index_tasks.list
        assert listing(Stage.INDEX, 10, lane=Lane.BULK, after=first) == [second, third, last]
        assert listing(Stage.INDEX, 2, lane=Lane.BULK, after=first) == [second, third]
        assert listing(Stage.INDEX, 1, lane=Lane.BULK, after=second) == [third]
        assert listing(Stage.INDEX, 10, lane=Lane.BULK, after=last) == []
        assert listing(Stage.INDEX, 10, lane=Lane.QUICK, after=quick) == [quicker]


def test_count_without_marks_names_every_stage(store: SqlStore) -> None:
    with store.reading() as unit:
        assert unit.processing.index_tasks.count() == {Stage.EXTRACT: 0, Stage.INDEX: 0}


def test_advance_with_exact_and_other_versions_moves_only_exact_ones(store: SqlStore) -> None:
    put(store, make_index_task(1, stage=Stage.EXTRACT), make_index_task(2, stage=Stage.EXTRACT, version=2), make_index_task(3))
    with store.writing() as unit:
        unit.processing.index_tasks.advance([])
        unit.processing.index_tasks.advance([make_index_task(1), make_index_task(2), make_index_task(3), make_index_task(4)])
        assert unit.processing.index_tasks.count() == {Stage.EXTRACT: 1, Stage.INDEX: 2}
    assert found(store, 2) == make_index_task(2, stage=Stage.EXTRACT, version=2)


def test_remove_with_exact_and_other_versions_removes_only_exact_ones(store: SqlStore) -> None:
    put(store, make_index_task(1), make_index_task(2, version=2), make_index_task(3))
    with store.writing() as unit:
        unit.processing.index_tasks.remove([])
        unit.processing.index_tasks.remove([make_index_task(1), make_index_task(2), make_index_task(4)])
        assert set(unit.processing.index_tasks.find_many([1, 2, 3, 4])) == {2, 3}


def test_marks_with_thousands_at_once_are_put_found_and_removed(store: SqlStore) -> None:
    tasks = [make_index_task(number) for number in range(1200)]
    put(store, *tasks)
    with store.writing() as unit:
        assert len(unit.processing.index_tasks.find_many(range(1200))) == 1200
        unit.processing.index_tasks.remove(tasks)
        assert unit.processing.index_tasks.count()[Stage.INDEX] == 0


def test_list_open_feeds_with_tasks_returns_feeds_and_revocations(store: SqlStore) -> None:
    put(
        store,
        make_index_task(1, feed_id=1),
        make_index_task(2, feed_id=2),
        make_index_task(3, feed_id=2, revokes_access=True),
        make_index_task(4, feed_id=3, stage=Stage.EXTRACT),
    )
    assert open_feeds(store, 1, 2, 3, 4) == ({1, 2, 3}, {2})
    assert open_feeds(store) == (set(), set())


def test_list_open_feeds_with_overtaken_mark_keeps_the_earlier_feed_open(store: SqlStore) -> None:
    put(store, make_index_task(1, feed_id=1, revokes_access=True))
    put(store, make_index_task(1, feed_id=2, version=2))
    put(store, make_index_task(1, feed_id=3, version=3))
    put(store, make_index_task(2, feed_id=4))
    assert open_feeds(store, 1, 2, 3, 4) == ({1, 2, 3, 4}, {1, 2, 3})
    with store.writing() as unit:
        unit.processing.index_tasks.remove([make_index_task(1, version=2), make_index_task(2)])
    assert open_feeds(store, 1, 2, 3, 4) == ({1, 2, 3}, {1, 2, 3})
    with store.writing() as unit:
        unit.processing.index_tasks.remove([make_index_task(1, version=3)])
    assert open_feeds(store, 1, 2, 3, 4) == (set(), set())


def test_list_open_feeds_with_mark_of_same_feed_again_ends_with_it(store: SqlStore) -> None:
    put(store, make_index_task(1))
    put(store, make_index_task(1, version=2))
    assert open_feeds(store, 1) == ({1}, set())
    with store.writing() as unit:
        unit.processing.index_tasks.remove([make_index_task(1, version=2)])
    assert open_feeds(store, 1) == (set(), set())
