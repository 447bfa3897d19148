"""Many clients at once, and feeds of one source that race: the order in which feeds were acknowledged is the order in which they count."""

import random
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from feedmill.model.queue import QUICK_FEED_BYTES
from tests.acceptance.feedload import Feeder, SourcePlan, deliver
from tests.acceptance.feedmodel import Act, FeedSpec, Step
from tests.acceptance.feedverdict import assert_documents, assert_nothing_left, assert_words, wait_until_applied
from tests.appliance import Appliance, running
from tests.thorough import count_examples
from tests.waiting import PATIENCE_SECONDS

CLIENTS = 50
ROUNDS = count_examples(25)
LARGE_COMMENTS = QUICK_FEED_BYTES // 100_000 + 1


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("clients") / "data") as appliance:
        yield appliance


def test_fifty_clients_at_once_each_have_their_feeds_applied(appliance: Appliance) -> None:
    sources = [Feeder(plan=SourcePlan(name=f"crowd{number}", urls=25, steps=10), dice=random.Random(number)) for number in range(10)]
    feeds = {source.plan.name: [source.make() for _ in range(3 * CLIENTS // len(sources))] for source in sources}
    jobs = [(source, feeds[source.plan.name][client::5]) for source in sources for client in range(CLIENTS // len(sources))]

    run_at_once([partial(push_all, appliance, source, specs) for source, specs in jobs])

    wait_until_applied(appliance)
    for source in sources:
        assert len(source.acknowledged) == len(feeds[source.plan.name])
        check(appliance, source)
    assert_nothing_left(appliance)


def test_racing_feeds_of_one_source_count_in_the_order_of_acknowledgement(appliance: Appliance) -> None:
    """Small and large feeds of one source are applied by different processes, which must not overtake each other."""
    source = Feeder(plan=SourcePlan(name="race", urls=4, steps=4), dice=random.Random(5))
    for number in range(ROUNDS):
        pair = [racing_spec(source, f"{number}x{side}") for side in range(2)]
        run_at_once([partial(deliver, appliance, source, spec) for spec in pair])
        if number % 5 == 4:
            wait_until_applied(appliance)
            check(appliance, source)

    ids = [int(feed) for feed in source.acknowledged]
    rounds = [sorted(ids[place : place + 2]) for place in range(0, len(ids), 2)]
    assert rounds == sorted(rounds)


def racing_spec(source: Feeder, tag: str) -> FeedSpec:
    """Returns a feed about the same few URLs as every other: full or not, large or small."""
    dice = source.dice
    steps = []
    for place in range(4):
        word = f"race{tag}u{place}"
        act = dice.choices([Act.PUT, Act.DESCRIBE, Act.DELETE], [5, 2, 2])[0]
        sent = {Act.PUT: {"word": word}, Act.DESCRIBE: {"rev": f"{word}r"}, Act.DELETE: {}}[act]
        steps.append(Step(act=act, url=f"http://race.test/page/{place}", **sent))
    feedtype = dice.choice(["full", "incremental", "incremental"])
    return FeedSpec(source="race", feedtype=feedtype, steps=tuple(steps), comments=dice.choice([0, LARGE_COMMENTS]))


def push_all(appliance: Appliance, source: Feeder, specs: list[FeedSpec]) -> None:
    for spec in specs:
        deliver(appliance, source, spec)


def check(appliance: Appliance, source: Feeder) -> None:
    reference = assert_documents(appliance, source)
    assert_words(appliance, source, reference)


def run_at_once(jobs: list[Callable[[], object]]) -> None:
    """Runs jobs in threads that begin together, and raises what any of them raised."""
    gate = threading.Barrier(len(jobs))
    failures: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            gate.wait(PATIENCE_SECONDS)
            job()
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]
