"""The store's settings that were made by API; one suite for every database."""

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.document import DocumentState
from feedmill.model.serving import StoredSetting
from feedmill.ports import LiveUrl
from tests.builders.documents import make_document, save


def a_setting(name: str, value: str = "{}", version: int = 1, section: str = "collections") -> StoredSetting:
    return StoredSetting(section=section, name=name, value=value, version=version)


def test_put_sets_replaces_and_lists_by_section_and_name(store: SqlStore) -> None:
    with store.writing() as unit:
        for setting in (a_setting("b"), a_setting("a"), a_setting("z", section="biases"), a_setting("b", '{"x": "ü"}', 2)):
            unit.state.stored_settings.put(setting)
    with store.reading() as unit:
        assert unit.state.stored_settings.list() == [a_setting("z", section="biases"), a_setting("a"), a_setting("b", '{"x": "ü"}', 2)]
        assert unit.state.stored_settings.find("collections", "b") == a_setting("b", '{"x": "ü"}', 2)
        assert unit.state.stored_settings.find("biases", "b") is None


def test_remove_takes_one_away_and_minds_none(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.state.stored_settings.put(a_setting("a"))
        unit.state.stored_settings.put(a_setting("a", section="biases"))
        unit.state.stored_settings.remove("collections", "a")
        unit.state.stored_settings.remove("collections", "never")
    with store.reading() as unit:
        assert unit.state.stored_settings.list() == [a_setting("a", section="biases")]


def test_list_live_urls_goes_on_by_id_and_leaves_out_what_is_gone(store: SqlStore) -> None:
    ids = [
        save(store, make_document(f"http://a.test/{name}", version=3, state=state))
        for name, state in (("1", DocumentState.LIVE), ("2", DocumentState.GONE), ("3", DocumentState.LIVE))
    ]
    with store.reading() as unit:
        first = unit.documents.scan.list_live_urls(after=0, limit=1)
        rest = unit.documents.scan.list_live_urls(after=first[0].document_id, limit=10)
        of_source = unit.documents.scan.list_live_urls(after=0, limit=10, datasource=first[0].datasource)
        of_other = unit.documents.scan.list_live_urls(after=0, limit=10, datasource="other")
    assert [(one.url, one.version) for one in first + rest] == [("http://a.test/1", 3), ("http://a.test/3", 3)]
    assert (of_source, of_other) == (first + rest, [])
    assert isinstance(first[0], LiveUrl)
    assert len(ids) == 3
