"""What a watchdog sees, and what not."""

import pytest
from starlette.applications import Starlette

from feedmill.http.common.health import DAMAGED, UNAVAILABLE, health_routes
from feedmill.http.feeds.app import dtd_app
from feedmill.model.errors import Busy, Corrupt
from tests.asgi import ask_app

SECRET = "connection to postgresql://feedmill@db.internal:5432 failed"


def fail(error: Exception) -> list[str]:
    raise error


@pytest.mark.parametrize(
    ("error", "text"),
    [(Busy(SECRET), UNAVAILABLE), (Corrupt(SECRET), DAMAGED), (OSError(SECRET), UNAVAILABLE), (ValueError(SECRET), UNAVAILABLE)],
)
def test_reason_is_for_the_log_alone(error: Exception, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    app = Starlette(routes=health_routes(lambda: fail(error)))
    answers = [ask_app(app, "GET", "/readyz") for _ in range(3)]
    assert {(answer.status, *answer.json["problems"]) for answer in answers} == {(503, text)}
    assert capsys.readouterr().out.count(SECRET) == 1


def test_server_with_warnings_is_ready_and_says_them() -> None:
    app = Starlette(routes=health_routes(list, lambda: ["no model"]))
    answer = ask_app(app, "GET", "/readyz")
    assert (answer.status, answer.json) == (200, {"status": "ready", "warnings": ["no model"]})
    broken = Starlette(routes=health_routes(list, lambda: fail(Busy(SECRET))))
    assert ask_app(broken, "GET", "/readyz").json == {"status": "ready"}


def test_problem_that_comes_back_is_reported_again(capsys: pytest.CaptureFixture[str]) -> None:
    states: list[Exception | None] = [Busy(SECRET), None, Busy(SECRET)]

    def find_problems() -> list[str]:
        state = states.pop()
        return fail(state) if state else []

    app = Starlette(routes=health_routes(find_problems))
    assert [ask_app(app, "GET", "/readyz").status for _ in range(3)] == [503, 200, 503]
    assert capsys.readouterr().out.count(SECRET) == 2


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X"])
@pytest.mark.parametrize("path", ["/", "/getdtd", "/getdtd/", "/readyz", "/healthz", "/gsafeed.dtd", "/x", "//", "", "/\0"])
@pytest.mark.parametrize("host", ["localhost", "[", "evil/?#", ""])
def test_port_of_the_dtd_never_answers_500(method: str, path: str, host: str) -> None:
    answer = ask_app(dtd_app("<!ELEMENT a>", lambda: fail(Busy(SECRET))), method, path, headers={"host": host})
    assert answer.status != 500
    assert SECRET not in answer.text
