import copy
import json
import pickle

from feedmill.model.errors import NotFound, find_message
from feedmill.model.messages import counted, message


def test_message_reads_as_its_english_text() -> None:
    made = message("there is no collection %(name)s", name="100%")
    assert made == "there is no collection 100%"
    assert json.dumps([made]) == '["there is no collection 100%"]'


def test_message_counted_has_the_form_of_its_count() -> None:
    assert counted("one result", "%(count)s results", 1) == "one result"
    assert counted("one result", "%(count)s results", 0) == "0 results"


def test_message_copied_keeps_what_it_was_made_of() -> None:
    made = counted("one of %(name)s", "%(count)s of %(name)s", 3, name="%(x)s")
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (again, again.template, again.plural, again.values) == (made, made.template, made.plural, made.values)


def test_error_made_of_a_message_returns_it() -> None:
    made = message("there is no row %(name)s", name="x")
    assert find_message(NotFound(made)) is made
    assert find_message(NotFound("plain")) == "plain"
    assert find_message(NotFound()) == ""
