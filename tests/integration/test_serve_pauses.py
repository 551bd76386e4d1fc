"""A subscription that is throttled is held with all its messages (P3); FCM is paused as a whole (P4);
both outlive kill -9 (P5); and the API says what waits for what (Q10). Seen at the targets' own end.

The server believes that fcm.googleapis.com is on this machine, by an /etc/hosts of its own in a mount
namespace; the name, the resolver, TLS and its check are the real ones.
"""

import datetime
import os
import time

import pytest

from mocking import Mock
from scripted import Scripted, answer
from serving import Serve

HOLD_S = 3
EARLY_S = 0.01  # two clocks of this machine are read, one by each end


def hosts_wrapper(folder, **hosts):
    """Words before a command, which then sees these names at 127.0.0.1."""
    path = folder / "hosts"
    path.write_text("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in hosts.values()))
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--mount", "sh", "-c",
            f'mount --bind {path} /etc/hosts && exec "$0" "$@"']


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def waits_for(serve, name, cause):
    message = serve.wait_for(name, "waiting")
    end = time.monotonic() + 10
    while message.get("waiting_for", {}).get("cause") != cause:
        assert time.monotonic() < end, message
        time.sleep(0.02)
        message = serve.message(name)
    return message["waiting_for"]


def test_a_held_subscription_and_its_other_messages(tmp_path):
    """P3: what else there is for it waits as long; what is for others goes out at once."""
    (tmp_path / "mock").mkdir()
    mock = Mock(tmp_path / "mock")
    throttled, free = mock.subscription(f"429:{HOLD_S};201*"), mock.subscription()
    with Serve(tmp_path) as serve:
        first = serve.accept({"subscription": throttled, "body": "first"})
        until = seconds_of(waits_for(serve, first, "retry_after")["until"])
        others = [serve.accept({"subscription": throttled, "body": f"other {i}"}) for i in range(3)]
        assert serve.wait_for(serve.accept({"subscription": free, "body": "free"}))["state"] == "delivered"
        for name in others:
            assert seconds_of(waits_for(serve, name, "held")["until"]) >= until - HOLD_S * 0.1 - EARLY_S
        serve.kill9()  # P5
        serve.start()
        assert [serve.message(name)["waiting_for"]["cause"] for name in others] == ["held"] * 3
        late = serve.accept({"subscription": throttled, "body": "late"})
        assert serve.message(late)["waiting_for"]["cause"] == "held"
        for name in (first, *others, late):
            assert serve.wait_for(name)["state"] == "delivered"
    refused, *rest = mock.pushes(throttled)
    assert refused["status"] == 429 and len(rest) == 5
    assert not [push for push in mock.all_pushes() if push["early"]]  # A3
    for push in rest:
        assert push["time_ms"] >= refused["time_ms"] + 1000 * HOLD_S, push
    mock.stop()


@pytest.fixture
def fcm(world):
    """A service of that name, with a certificate that the test's authority has signed."""
    world.certificates.sign("fcm", "DNS:fcm.googleapis.com")
    server = Scripted(world.certificates.context("fcm"))
    yield server
    server.stop()


def test_fcm_is_paused_as_a_whole(world, tmp_path, fcm):
    """One 429 of FCM stops all that goes there, through a kill -9, and nothing that goes elsewhere (P1)."""
    (tmp_path / "mock").mkdir()
    mock = Mock(tmp_path / "mock")
    keys = mock.subscription()["keys"]

    def push_to(path, *steps):
        fcm.script(path, *steps)
        return {"subscription": {"endpoint": f"https://fcm.googleapis.com:{fcm.port}{path}", "keys": keys},
                "body": "x"}

    serve = Serve(tmp_path, "--ca-file", world.certificates.authority,
                  wrapper=hosts_wrapper(tmp_path, fcm="fcm.googleapis.com"))
    with serve:
        first = serve.accept(push_to("/fcm/send/a", answer(429, [("Retry-After", "4")]), answer(201)))
        waits_for(serve, first, "retry_after")
        service, = [one for one in serve.status()["services"] if one["name"] == "fcm"]
        assert service["stop"] == "paused"
        until = seconds_of(service["until"])
        assert until >= fcm.requests("/fcm/send/a")[0].time + 4
        others = [serve.accept(push_to(f"/fcm/send/{i}", answer(201))) for i in range(5)]
        for name in others:
            assert waits_for(serve, name, "service_paused")["until"] == service["until"]
        elsewhere = serve.accept({"subscription": mock.subscription(), "body": "x"})
        assert serve.wait_for(elsewhere)["state"] == "delivered"
        serve.kill9()  # P5
        serve.start()
        again, = [one for one in serve.status()["services"] if one["name"] == "fcm"]
        assert (again["stop"], again["until"]) == ("paused", service["until"])
        for name in (first, *others):
            assert serve.wait_for(name)["state"] == "delivered"
    for i in range(5):
        request, = fcm.requests(f"/fcm/send/{i}")
        assert request.time >= until - EARLY_S
        assert request.headers["authorization"].startswith("vapid t=")
    refused, taken = fcm.requests("/fcm/send/a")
    assert taken.time >= refused.time + 4
    mock.stop()
