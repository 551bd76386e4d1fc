"""Targets that come and go, hang, reset, or take little at a time, while messages are on their way:
all are delivered, and exactly once where the outcome was known (C9, C12, Q1), by the target's own log."""

import contextlib
import datetime
import os
import pathlib
import signal
import time

import pytest

from mocking import Mock
from serving import Serve
from sink import Sink

POLICY = "webhook base=30ms cap=300ms retries=30 floor=0"
BATCH = 50
ROUNDS = 8  # batches, one each ROUND_S
ROUND_S = 0.25
FIRST_BYTE_S = 1  # after which a request to a target that hangs is given up


def post_under(serve, message_of, trouble, rounds=ROUNDS):
    """Posts batches, and in each round makes trouble(round). {number: id}"""
    accepted = {}
    for one in range(rounds):
        numbers = range(one * BATCH, (one + 1) * BATCH)
        for number, line in zip(numbers, serve.batch([message_of(number) for number in numbers])):
            assert line["status"] == 202, line
            accepted[number] = line["id"]
        trouble(one)
        time.sleep(ROUND_S)
    serve.wait_until_empty()
    return accepted


def unknown_attempts(message):
    return sum(attempt["effect"] == "unknown" for attempt in message["attempts"])


def is_answered_at_a_stop(message, stops):
    """Its last attempt got its 201 in the last second before the target was stopped: nginx answers, and
    writes its log when the request is over, which a stop can come before."""
    last = message["attempts"][-1]
    end = datetime.datetime.fromisoformat(last["at"].replace("Z", "+00:00")).timestamp() \
        + last["duration_ms"] / 1000
    return last["status"] == 201 and any(-0.1 <= stop - end <= 1 for stop in stops)


def check_delivered(serve, accepted, delivered, stops=()):
    """delivered: {number: how often the target took it}. Returns how many came twice. Each may have come
    once more for each of its attempts that ended in the unknown (C12), and for nothing else. stops: when
    the target was told to stop."""
    missing = [serve.message(name) for number, name in accepted.items() if number not in delivered]
    assert [message for message in missing if not is_answered_at_a_stop(message, stops)] == []
    twice = 0
    for number, count in delivered.items():
        if count > 1:
            message = serve.message(accepted[number])
            assert count <= 1 + unknown_attempts(message), (number, count, message)
            twice += 1
    status = serve.status()
    assert status["totals"]["delivered"] == len(accepted) and status["queue"]["dead"] == 0
    return twice


@contextlib.contextmanager
def to_sink(world, folder, tls_more=""):
    (folder / "nginx").mkdir()
    sink = Sink(folder / "nginx", world.certificates, tls_more)
    try:
        with Serve(folder, "--ca-file", world.certificates.authority, "--first-byte-timeout",
                   f"{FIRST_BYTE_S}s") as serve:
            yield serve, sink
    finally:
        sink.stop()


def webhook(sink, number, tls=True, place="m"):
    return {"webhook": {"url": sink.url(f"/{place}/{number}", tls)}, "body": str(number), "policy": POLICY}


def delivered_by(sink):
    return {int(path.rpartition("/")[2]): sum(entry.status == 201 for entry in entries)
            for path, entries in sink.arrivals().items()}


@pytest.mark.parametrize("directive", ["keepalive_requests 3;", "http2_max_concurrent_streams 1;"])
def test_a_target_that_takes_little_at_a_time(world, tmp_path, directive):
    """GOAWAY after three requests; one stream at a time. Nothing is unknown in that, so nothing twice."""
    with to_sink(world, tmp_path, directive) as (serve, sink):
        accepted = post_under(serve, lambda number: webhook(sink, number), lambda _: None)
        assert check_delivered(serve, accepted, delivered_by(sink)) == 0
        assert {entry.protocol for entry in sink.all_entries()} == {"HTTP/2.0"}


@pytest.mark.parametrize("tls", [True, False], ids=["http2", "http1"])
def test_nginx_is_reloaded_again_and_again(world, tmp_path, tls):
    """What is on its way ends; what comes too late to a connection that closes is sent by another."""
    with to_sink(world, tmp_path) as (serve, sink):
        accepted = post_under(serve, lambda number: webhook(sink, number, tls),
                              lambda _: sink.signal(signal.SIGHUP))
        check_delivered(serve, accepted, delivered_by(sink))


@pytest.mark.parametrize("tls", [True, False], ids=["http2", "http1"])
def test_nginx_is_stopped_and_started_again(world, tmp_path, tls):
    stops = []
    with to_sink(world, tmp_path) as (serve, sink):

        def restart(one):
            if one % 2 == 0:
                stops.append(time.time())
                sink.stop()
                time.sleep(0.3)
                sink.start()

        accepted = post_under(serve, lambda number: webhook(sink, number, tls, "whole"), restart)
        check_delivered(serve, accepted, delivered_by(sink), stops)
        assert serve.status()["totals"]["retries"] > 0


def children(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("tls", [True, False], ids=["http2", "http1"])
def test_nginx_hangs_for_longer_than_anyone_waits(world, tmp_path, tls):
    """Its worker stops in the middle, and goes on later with what it finds then: only what ended in the
    unknown meanwhile may come twice."""
    with to_sink(world, tmp_path) as (serve, sink):
        workers = children(sink.pid)
        assert workers

        def hang(one):
            if one in (1, 5):
                for worker in workers:
                    os.kill(worker, signal.SIGSTOP)
                serve.batch([webhook(sink, 10**6 + one * BATCH + i, tls) for i in range(BATCH)])
                time.sleep(FIRST_BYTE_S + 0.5)
                for worker in workers:
                    os.kill(worker, signal.SIGCONT)

        accepted = post_under(serve, lambda number: webhook(sink, number, tls), hang)
        delivered = delivered_by(sink)
        extra = {number for number in delivered if number >= 10**6}
        assert len(extra) == 2 * BATCH
        messages = {message["id"]: message for message in serve.messages()}
        assert messages == {}
        for number, count in delivered.items():
            if number in accepted:
                assert 1 <= count <= 1 + unknown_attempts(serve.message(accepted[number])), number
        assert set(delivered) - extra == set(accepted)
        assert serve.status()["totals"]["delivered"] == len(delivered)


FAULTS = "12% reset;12% close;8% half;4% hang;8% 503;4% slow:200 201"


def test_a_target_that_resets_closes_stammers_and_hangs(tmp_path):
    """The practice service misbehaves to a third of all pushes: each is accepted by it exactly once."""
    (tmp_path / "mock").mkdir()
    mock = Mock(tmp_path / "mock", "--plan", FAULTS)
    subscriptions = [mock.subscription() for _ in range(20)]
    with Serve(tmp_path, "--first-byte-timeout", f"{FIRST_BYTE_S}s") as serve:
        accepted = post_under(
            serve, lambda number: {"subscription": subscriptions[number % len(subscriptions)],
                                   "body": str(number),
                                   "policy": "delivery base=20ms cap=200ms retries=30"},
            lambda _: None, rounds=4)
        taken = [int(push["text"]) for push in mock.all_pushes() if push["status"] == 201]
        assert sorted(taken) == sorted(accepted)
        faults = {push["status"] for push in mock.all_pushes()} - {201}
        assert faults >= {"reset", "close", "half", "hang", 503}
        assert serve.status()["totals"]["delivered"] == len(accepted)
    mock.stop()
