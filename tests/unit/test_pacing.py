from feedmill.model.document import Document
from feedmill.model.extraction import Task
from feedmill.services.indexing.pacing import SMALL_TEXT_BYTES, Pacing
from tests.builders.documents import make_document

LARGE = b"x" * (SMALL_TEXT_BYTES + 1)


def document(datasource: str, size_bytes: int) -> Document:
    return make_document("http://a.example.com/", id=1, datasource=datasource, content_bytes=size_bytes)


def task(key: int, data: bytes | None) -> Task:
    return Task(key=key, url="http://a.example.com/", mimetype="text/html", data=data)


def test_pacing_small_texts_are_admitted_any_number() -> None:
    pacing = Pacing()
    assert all(pacing.admit(task(key, b"<p>text"), "a") for key in range(100))


def test_pacing_second_risk_of_a_source_is_not_admitted_while_the_first_is_there() -> None:
    pacing = Pacing()
    assert pacing.admit(task(1, LARGE), "a")
    assert not pacing.admit(task(2, b"%PDF-1.4"), "a")
    assert pacing.must_wait(document("a", len(LARGE)))
    pacing.dismiss(1, was_too_slow=False, datasource="a")
    assert pacing.admit(task(2, b"%PDF-1.4"), "a")


def test_pacing_sources_do_not_hold_each_other_up() -> None:
    pacing = Pacing()
    assert pacing.admit(task(1, None), "a")
    assert pacing.admit(task(2, None), "b")


def test_pacing_slow_source_keeps_its_small_texts_alone() -> None:
    pacing = Pacing()
    assert pacing.admit(task(1, LARGE), "a")
    pacing.dismiss(1, was_too_slow=True, datasource="a")
    assert not pacing.admit(task(2, LARGE), "a")
    assert pacing.admit(task(3, b"<p>text"), "a")
    assert not pacing.must_wait(document("a", len(LARGE)))
    assert pacing.admit(task(4, LARGE), "b")


def test_pacing_small_text_that_was_too_slow_bars_the_small_texts_of_its_source() -> None:
    pacing = Pacing()
    assert pacing.admit(task(1, b"<p>text"), "a")
    pacing.dismiss(1, was_too_slow=True, datasource="a")
    assert not pacing.admit(task(2, b"<p>text"), "a")
    assert pacing.admit(task(3, b"<p>text"), "b")
