"""kill -9 at random moments under load: nothing that got its 202 is lost, and what came twice was in
flight at a kill (Q1, Q2, Q3, Q6, C12).

LULL_KILLS: how many kills (40). LULL_TEST_SEED: of the moments; it is printed.
"""

import collections
import json
import os
import random
import time

import pytest

from loading import Loader
from mocking import Mock, id_of
from serving import Serve
from sink import Sink

KILLS = int(os.environ.get("LULL_KILLS", "40"))
DRAIN_S = 60 + KILLS

# A request is in flight from its arrival at the target until its outcome is committed. At most so long,
# on a busy machine under a sanitizer: what arrived longer before the kill was settled by then.
IN_FLIGHT_S = 2.0

# What was sent before the kill may lie in the socket of a busy target for a moment, and is in its log
# with a time after the kill.
UNREAD_S = 0.25

POLICY = "webhook base=20ms cap=200ms retries=9 floor=0"
NEVER_POLICY = "webhook base=20ms cap=100ms retries=2 floor=0"


class Arrival:
    """A request at a target. attempt: what it said of itself (G7)."""

    def __init__(self, start, attempt, status):
        self.start, self.attempt, self.status = start, attempt, status


class Targets:
    """nginx, plain and with TLS and HTTP/2, for webhooks; the practice service for pushes, of which some
    are answered late, so that there is always something on its way."""

    def __init__(self, folder, certificates):
        (folder / "nginx").mkdir()
        (folder / "mock").mkdir()
        self.sink = Sink(folder / "nginx", certificates)
        self.mock = Mock(folder / "mock")
        self.subscriptions = [self.mock.subscription(plan)
                              for plan in ("", "", "slow:30 201*", "slow:120 201*", "10% 503")]

    def message_of(self, number):
        kind = number % 20
        if kind < 5:
            subscription = self.subscriptions[kind]
            return {"subscription": subscription, "body": str(number), "policy": "delivery base=20ms "
                    "cap=200ms retries=9"}
        place = "gone" if kind == 5 else "never" if kind == 6 else "flaky" if kind < 10 else "m"
        policy = NEVER_POLICY if place == "never" else POLICY
        message = {"webhook": {"url": self.sink.url(f"/{place}/{number}", tls=kind % 2 == 0)},
                   "json": {"number": number}, "policy": policy, "correlation_id": f"n{number}"}
        if kind == 11:
            message["delay"] = 1
        if kind in (12, 13):
            message["urgency"] = ("very-low", "high")[kind - 12]
        return message

    def arrivals(self):
        """{number: [Arrival, ...]} in the order of time."""
        found = collections.defaultdict(list)
        for path, entries in self.sink.arrivals().items():
            number = int(path.rpartition("/")[2])
            found[number] += [Arrival(e.start, int(e.attempt or 1), e.status) for e in entries]
        for push in self.mock.all_pushes():
            found[int(push["text"])].append(
                Arrival(push["time_ms"] / 1000, int(push["attempt"] or 1), push["status"]))
        for arrivals in found.values():
            arrivals.sort(key=lambda arrival: (arrival.start, arrival.attempt))
        return found

    def stop(self):
        self.mock.stop()
        self.sink.stop()


class Run:
    """All of it, once; the tests look at what came of it."""

    def __init__(self, folder, world):
        self.seed = int(os.environ.get("LULL_TEST_SEED", time.time_ns() % 10**9))
        print(f"LULL_TEST_SEED={self.seed} LULL_KILLS={KILLS}", flush=True)
        chance = random.Random(self.seed)
        self.targets = Targets(folder, world.certificates)
        self.serve = Serve(folder, "--ca-file", world.certificates.authority, "--delivered-kept", "1000000")
        self.loader = Loader(self.serve, self.targets.message_of, keys="k", seed=self.seed)
        self.kills = []
        self.starts_cut = 0
        try:
            self.serve.start()
            self.loader.start()
            for _ in range(KILLS):
                self._kill_once(chance)
            self.loader.stop()
            self.status = self.serve.wait_until_empty(limit_s=DRAIN_S)
            self.dead = {message["id"]: message for message in self.serve.messages("state=dead")}
            self.serve.stop()
        finally:
            if self.serve.process and self.serve.process.poll() is None:
                self.serve.kill9()
            self.targets.stop()
        self.arrivals = self.targets.arrivals()

    def _kill_once(self, chance):
        """Mostly while it works; now and then while it starts."""
        if chance.random() < 0.1:
            time.sleep(chance.uniform(0, 0.05))
            self._kill()
            self.serve.launch()
            time.sleep(chance.uniform(0, 0.2))
            self.starts_cut += 1
        else:
            time.sleep(chance.uniform(0, 0.6))
        self._kill()
        self.serve.start()

    def _kill(self):
        self.serve.kill9()
        self.kills.append(time.time())

    def kills_between(self, start, end):
        return [kill for kill in self.kills if start - UNREAD_S < kill <= end]


@pytest.fixture(scope="module")
def run(world, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("kill"), world)


def is_push(number):
    return number % 20 < 5


def repeats(run):
    """(number, earlier, later) of each request that was made again although its outcome may have been
    known: it does not say that it is the next attempt after a refusal."""
    for number, arrivals in run.arrivals.items():
        for earlier, later in zip(arrivals, arrivals[1:]):
            if not (later.attempt == earlier.attempt + 1 and earlier.status == 503):
                yield number, earlier, later


def test_the_clients_saw_nothing_wrong(run):
    """Q6, through all kills: the same key, the same id."""
    assert run.loader.mistakes == []
    assert len(set(run.loader.accepted.values())) == len(run.loader.accepted)


def test_every_accepted_message_is_delivered_or_dead_with_a_reason(run):
    """Q1. By the logs of the targets, and what the API says of the rest."""
    forgotten = []
    for number, name in run.loader.accepted.items():
        is_there = any(arrival.status == 201 for arrival in run.arrivals[number])
        if not is_there and not run.dead.get(name, {}).get("reason"):
            forgotten.append((number, name))
    assert forgotten == []


def test_what_died_had_to(run):
    """D1, B5: 410 at once, 503 for ever after three attempts; nothing else."""
    names = {name: number for number, name in run.loader.accepted.items()}
    for name, message in run.dead.items():
        number = names[name]
        expected = {5: ("rejected", "gone"), 6: ("max_attempts_exceeded",)}.get(number % 20, ())
        assert message["reason"] in expected, (number, message)
        if number % 20 == 6:
            assert message["attempts_made"] == 3, message
    assert sum(number % 20 in (5, 6) for number in names.values()) == len(run.dead)


def test_nothing_waits_in_the_end(run):
    assert run.status["queue"]["waiting"] == run.status["queue"]["leased"] == 0


def test_only_what_was_in_flight_at_a_kill_came_twice(run):
    """C12: a request is made again only where a kill lies between, and the first one had arrived no
    longer than IN_FLIGHT_S before it (or was read UNREAD_S after it, at most). Never twice in one life of
    the server."""
    wrong = []
    ages = []
    for number, earlier, later in repeats(run):
        kills = run.kills_between(earlier.start, later.start)
        if not kills or kills[0] - earlier.start > IN_FLIGHT_S or later.attempt != earlier.attempt:
            wrong.append((number, vars(earlier), vars(later), kills[:1]))
        else:
            ages.append(kills[0] - earlier.start)
    count = len(run.loader.accepted)
    figures = {"kills": len(run.kills), "of them at start": run.starts_cut, "accepted": count,
               "dead": len(run.dead), "arrived": sum(map(len, run.arrivals.values())),
               "made again": len(ages), "longest in flight at a kill, ms": round(1000 * max(ages, default=0)),
               "posts without an answer": run.loader.repeated}
    print(json.dumps(figures))
    assert wrong == []


def test_pushes_arrived_whole(run):
    """W1: each was decrypted by the practice service, and had no fault."""
    pushes = run.targets.mock.all_pushes()
    assert pushes and not [push for push in pushes if push["problems"]]
    ids = {id_of(subscription) for subscription in run.targets.subscriptions}
    assert {push["subscription"] for push in pushes} == ids
