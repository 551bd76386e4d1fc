"""The threads of the server under the thread sanitizer: API, engine, senders, checkpoints, reloads and
the end, all at once and under load, without a report. LULL_PROGRAM_TSAN: that build."""

import os
import signal
import threading
import time

import pytest

from driving import ROOT
from loading import Loader
from mocking import Mock
from serving import Serve
from sink import Sink

PROGRAM = os.environ.get("LULL_PROGRAM_TSAN", str(ROOT / "build-tsan" / "lull"))
LOAD_S = 8


@pytest.fixture
def targets(world, tmp_path):
    (tmp_path / "nginx").mkdir()
    (tmp_path / "mock").mkdir()
    sink = Sink(tmp_path / "nginx", world.certificates)
    mock = Mock(tmp_path / "mock")
    yield sink, mock
    mock.stop()
    sink.stop()


def message_of(sink, subscriptions):
    def make(number):
        kind = number % 10
        if kind < 2:
            return {"subscription": subscriptions[number % len(subscriptions)], "body": str(number),
                    "policy": "delivery base=20ms cap=200ms retries=9"}
        place = ("gone", "flaky")[kind - 2] if kind < 4 else "m"
        return {"webhook": {"url": sink.url(f"/{place}/{number}", tls=kind % 2 == 0)}, "body": "x",
                "policy": "webhook base=20ms cap=200ms retries=9 floor=0",
                **({"delay": 1} if kind == 4 else {})}

    return make


def ask_about(serve, is_done, mistakes):
    """What operators and their machines do meanwhile."""
    while not is_done.is_set():
        try:
            for path in ("/v1/status", "/metrics", "/readyz", "/v1/messages?state=dead", "/v1/messages"):
                answer = serve.get(path)
                if answer.status not in (200, 503):
                    mistakes.append((path, answer.status))
            listed = serve.get("/v1/messages?state=waiting&limit=5")
            for message in listed.json.get("messages", []):
                serve.get(f"/v1/messages/{message['id']}")
                serve.delete(f"/v1/messages/{message['id']}")
        except OSError:
            pass  # it is between two lives
        is_done.wait(0.05)


def test_no_race_under_load(tmp_path, world, targets):
    sink, mock = targets
    subscriptions = [mock.subscription(plan) for plan in ("", "20% 503", "20% reset", "slow:30 201*")]
    serve = Serve(tmp_path, "--ca-file", world.certificates.authority, "--senders", "2", "--api-threads", "3",
                  program=PROGRAM, environment={"TSAN_OPTIONS": "halt_on_error=0:second_deadlock_stack=1"})
    is_done, mistakes = threading.Event(), []
    with serve:
        loader = Loader(serve, message_of(sink, subscriptions), keys="t", pause_s=0.01).start()
        asking = threading.Thread(target=ask_about, args=(serve, is_done, mistakes))
        asking.start()
        for one in range(4):
            time.sleep(LOAD_S / 4)
            if one == 2:
                serve.restart()  # SIGTERM, in the middle of it all
            else:
                serve.signal(signal.SIGHUP)
        loader.stop()
        is_done.set()
        asking.join()
        serve.wait_until_empty()
        assert loader.mistakes == [] and mistakes == []
        assert len(loader.accepted) > 200
        serve.signal(signal.SIGTERM)
        assert serve.wait_for_end() == 0  # a report changes the exit code
    assert "ThreadSanitizer" not in serve.output()
