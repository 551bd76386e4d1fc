"""The clock is set an hour ahead and back under a running server (T4), by libfaketime: nothing goes out
before its time, nothing is lost, nothing comes twice, and what waits does not go out all at once.

All times are those of the targets, whose clock is right. The build without sanitizers, since libfaketime
does not go with them.
"""

import email.utils
import glob
import time

import pytest

from driving import ROOT
from mocking import Mock
from serving import Serve

HOUR_S = 3600
RETRY_AFTER_S = 4
LATE_S = 2.0  # on a busy machine
EARLY_S = 0.02  # two clocks are read, and whole milliseconds counted
SLOWER = 1.12  # a clock that was set back is followed a tenth slower
PROGRAM = ROOT / "build" / "lull"


class Clock:
    """What a process believes of the time: its offset from ours, which can be changed while it runs."""

    def __init__(self, folder):
        library, = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        self._file = folder / "clock"
        self.set(0)
        self.environment = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(self._file),
                            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                            "DONT_FAKE_MONOTONIC": "1"}

    def set(self, offset_s):
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{offset_s:+d}\n")
        fresh.rename(self._file)


@pytest.fixture
def mock(tmp_path):
    (tmp_path / "mock").mkdir()
    target = Mock(tmp_path / "mock")
    yield target
    target.stop()


def believed(serve):
    """The server's wall clock, as it logs it: seconds off ours."""
    answer = serve.get("/readyz")
    return email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.time()


@pytest.mark.parametrize("steps", [(HOUR_S,), (-HOUR_S,), (HOUR_S, -HOUR_S, HOUR_S, 0)],
                         ids=["ahead", "back", "to and fro"])
def test_the_clock_is_set_while_messages_wait(tmp_path, mock, steps):
    clock = Clock(tmp_path)
    with Serve(tmp_path, program=PROGRAM, environment=clock.environment) as serve:
        throttled = [mock.subscription(f"429:{RETRY_AFTER_S};201*") for _ in range(30)]
        names = [serve.accept({"subscription": subscription, "body": "x"}) for subscription in throttled]
        delays = [3 + i // 20 for i in range(60)]
        delayed = mock.subscription()
        posted = time.time()
        lines = serve.batch([{"subscription": delayed, "body": f"{i}", "delay": delay}
                             for i, delay in enumerate(delays)])
        names += [line["id"] for line in lines]
        while len(mock.all_pushes()) < len(throttled):
            time.sleep(0.02)
        for step in steps:
            clock.set(step)
            time.sleep(0.5)
            assert abs(believed(serve) - step) < 5  # it is really in force
        for name in names:
            assert serve.wait_for(name)["state"] == "delivered"
        status = serve.status()
        assert status["totals"]["delivered"] == len(names) and status["queue"]["dead"] == 0
        fresh = serve.accept({"subscription": mock.subscription(), "body": "x"})
        assert serve.wait_for(fresh)["state"] == "delivered"  # signed with a time that is off, and good
    assert not [push for push in mock.all_pushes() if push["early"] or push["problems"]]
    for subscription in throttled:
        refused, taken = [push["mono_ms"] / 1000 for push in mock.pushes(subscription)]
        waited = taken - refused
        assert RETRY_AFTER_S <= waited <= RETRY_AFTER_S * 1.1 * SLOWER + LATE_S, waited
    arrivals = {int(push["text"]): push["time_ms"] / 1000 for push in mock.pushes(delayed)}
    assert len(mock.pushes(delayed)) == len(arrivals) == len(delays)
    for i, delay in enumerate(delays):
        waited = arrivals[i] - posted
        assert delay - EARLY_S <= waited <= delay * SLOWER + LATE_S, (delay, waited)


def test_the_clock_is_set_while_it_is_down(tmp_path, mock):
    """What waits is counted by the wall clock then (T1): an hour ahead, it is due; nothing is lost, and
    nothing comes twice."""
    clock = Clock(tmp_path)
    subscription = mock.subscription()
    serve = Serve(tmp_path, program=PROGRAM, environment=clock.environment).start()
    later = serve.accept({"subscription": subscription, "body": "later", "delay": HOUR_S // 2})
    short = serve.accept({"subscription": subscription, "body": "short", "delay": HOUR_S // 2, "ttl": 60})
    serve.kill9()
    clock.set(HOUR_S)
    serve.start()
    assert serve.wait_for(later)["state"] == "delivered"
    dead = serve.wait_for(short)
    assert (dead["state"], dead["reason"]) == ("dead", "ttl_expired")
    waits = serve.accept({"subscription": subscription, "body": "waits", "delay": 2})
    serve.kill9()
    clock.set(-HOUR_S)
    serve.start()
    assert serve.message(waits)["state"] == "waiting"
    serve.stop()
    clock.set(HOUR_S)
    serve.start()
    assert serve.wait_for(waits)["state"] == "delivered"
    serve.stop()
    assert sorted(push["text"] for push in mock.pushes(subscription)) == ["later", "waits"]
