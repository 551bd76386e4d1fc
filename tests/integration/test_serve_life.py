"""The life of the process: it drains, reloads, starts again where it was, and takes no store that is
another's."""

import http.client
import json
import signal
import sqlite3
import threading
import time

import pytest

from mocking import Mock
from serving import QUICK, Serve

SLOW_MS = 2500


@pytest.fixture
def mock(tmp_path):
    (tmp_path / "mock").mkdir()
    target = Mock(tmp_path / "mock")
    yield target
    target.stop()


def push(subscription, **members):
    return {"subscription": subscription, "body": "x", "policy": QUICK, **members}


def problem_of(answer):
    return answer.status, answer.json["type"].rpartition(":")[2]


# ---- SIGTERM ----


def test_sigterm_lets_what_is_in_flight_end_and_takes_nothing_new(tmp_path, mock):
    serve = Serve(tmp_path).start()
    slow = mock.subscription(f"slow:{SLOW_MS} 201*")
    flying = [serve.accept(push(slow, body=f"flies {i}")) for i in range(10)]
    later = serve.accept(push(slow, body="waits", delay=60))
    while serve.status()["queue"]["leased"] < len(flying):
        time.sleep(0.01)
    time.sleep(0.5)  # what is leased is sent at once; later would do no harm but to this test
    serve.signal(signal.SIGTERM)
    more, refused = post_until_refused(serve, push(slow, delay=3600))
    assert problem_of(refused) == (503, "draining") and int(refused.headers["Retry-After"]) >= 1
    assert problem_of(serve.get("/readyz")) == (503, "draining")
    assert serve.get("/healthz").status == 200 and serve.status()["draining"] is True
    batch = serve.post("/v1/messages/batch", json.dumps(push(slow)), Content_Type="application/x-ndjson")
    assert problem_of(batch) == (503, "draining")
    assert serve.wait_for_end() == 0
    assert sorted(p["text"] for p in mock.pushes(slow)) == sorted(f"flies {i}" for i in range(10))
    serve.start()
    assert serve.message(later)["state"] == "waiting"  # Q1
    queue = serve.status()["queue"]
    assert (queue["waiting"], queue["leased"], queue["dead"]) == (1 + more, 0, 0)
    serve.stop()
    assert len(mock.pushes(slow)) == len(flying)  # each exactly once


def post_until_refused(serve, message):
    """How many were taken before, and the refusal."""
    for count in range(1000):
        answer = serve.post("/v1/messages", message)
        if answer.status != 202:
            return count, answer
    raise AssertionError("it still takes messages")


def test_sigterm_does_not_wait_for_ever(tmp_path, mock):
    """What hangs longer than the drain may take is given back: it waits, and is sent after the start."""
    serve = Serve(tmp_path, "--drain-timeout", "1s").start()
    name = serve.accept(push(mock.subscription("hang;201")))
    while not mock.all_pushes():
        time.sleep(0.02)
    begin = time.monotonic()
    serve.stop()
    assert time.monotonic() - begin < 15
    serve.start()
    assert serve.wait_for(name)["state"] == "delivered"
    serve.stop()


def test_a_second_signal_ends_the_drain(tmp_path, mock):
    serve = Serve(tmp_path).start()
    name = serve.accept(push(mock.subscription("hang;201")))
    while not mock.all_pushes():
        time.sleep(0.02)
    serve.signal(signal.SIGTERM)
    while "draining" not in serve.output():
        time.sleep(0.02)
    begin = time.monotonic()
    serve.signal(signal.SIGINT)
    assert serve.wait_for_end() == 0 and time.monotonic() - begin < 15
    serve.start()
    assert serve.wait_for(name)["state"] == "delivered"
    serve.stop()


# ---- SIGHUP ----


class Configured:
    """A server with a configuration file that can be written anew."""

    def __init__(self, folder):
        self.tokens = folder / "tokens"
        self.config = folder / "lull.conf"
        self.write("first-token-0123456789", "base=20ms retries=1")
        self.serve = Serve(folder, "--config", self.config, token="first-token-0123456789")

    def write(self, token, policy, more=""):
        self.tokens.write_text(f"someone: {token}\n")
        self.tokens.chmod(0o600)
        self.config.write_text(f'token_file = "{self.tokens}"\n'
                               f'policy "mine" {{ text = "delivery {policy}" }}\n{more}')

    def reload(self, word="reloaded"):
        count = self.serve.output().count(f'"event":"{word}"')
        self.serve.signal(signal.SIGHUP)
        end = time.monotonic() + 30
        while self.serve.output().count(f'"event":"{word}"') == count:
            assert time.monotonic() < end, self.serve.output()[-3000:]
            time.sleep(0.01)
        self.serve.wait_until_ready()


def test_sighup_takes_over_tokens_and_policies(tmp_path, mock):
    configured = Configured(tmp_path)
    with configured.serve as serve:
        failing = mock.subscription("503*")
        first = serve.accept(push(failing, policy="mine"))
        assert serve.wait_for(first)["attempts_made"] == 2
        configured.write("second-token-0123456789", "base=20ms retries=3")
        configured.reload()
        assert serve.get("/v1/status").status == 401
        serve.token = "second-token-0123456789"
        second = serve.accept(push(failing, policy="mine"))
        assert serve.wait_for(second)["attempts_made"] == 4
        assert serve.message(first)["state"] == "dead"


def test_a_configuration_with_mistakes_is_not_taken_over(tmp_path, mock):
    configured = Configured(tmp_path)
    with configured.serve as serve:
        configured.write("second-token-0123456789", "base=20ms", 'listne = "x"\n')
        configured.reload("not_reloaded")
        assert f"{configured.config}:3:" in serve.output()
        assert serve.status()["draining"] is False  # with the old token


def test_a_reload_under_load_loses_nothing_and_refuses_no_connection(tmp_path, mock):
    configured = Configured(tmp_path)
    subscription = mock.subscription()
    accepted, strange = [], []
    is_done = threading.Event()

    def post():
        while not is_done.is_set():
            try:
                answer = serve.post("/v1/messages", push(subscription, body=str(len(accepted))))
            except (OSError, http.client.HTTPException) as error:
                strange.append(error)
                continue
            if answer.status == 202:
                accepted.append(answer.json["id"])
            elif problem_of(answer) != (503, "draining"):
                strange.append(answer)

    with configured.serve as serve:
        thread = threading.Thread(target=post)
        thread.start()
        for _ in range(5):
            time.sleep(0.2)
            configured.reload()
        is_done.set()
        thread.join()
        serve.wait_until_empty()
        assert strange == [] and len(accepted) > 5
    assert sorted(int(p["text"]) for p in mock.pushes(subscription)) == list(range(len(accepted)))


# ---- the store ----


def test_a_second_process_on_the_same_store_is_refused(tmp_path, mock):
    with Serve(tmp_path) as serve:
        (tmp_path / "second").mkdir()
        second = Serve(tmp_path / "second", store=serve.store).launch()
        assert second.wait_for_end() == 1
        assert "another process" in second.output() and str(serve.store) in second.output()
        name = serve.accept(push(mock.subscription()))
        assert serve.wait_for(name)["state"] == "delivered"


def of_another_program(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.execute("INSERT INTO recipes VALUES ('soup')")
    connection.close()


def of_a_later_version(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def without_its_head(path):
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])


def cut_short(path):
    path.write_bytes(path.read_bytes()[:5000])


def with_a_broken_schema(path):
    text = bytearray(path.read_bytes())
    text[100:1200] = b"\xa5" * 1100
    path.write_bytes(text)


SPOILED = {
    "text": lambda path: path.write_text("This is a letter, not a store.\n" * 40),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 32),
    "short": lambda path: path.write_bytes(b"SQLite"),
    "of another program": of_another_program,
    "of a later version": of_a_later_version,
    "without its head": without_its_head,
    "cut short": cut_short,
    "with a broken schema": with_a_broken_schema,
}


@pytest.fixture(scope="module")
def good_store(tmp_path_factory):
    """The bytes of a store with messages in it."""
    folder = tmp_path_factory.mktemp("store")
    with Serve(folder) as serve:
        for line in serve.batch([{"webhook": {"url": "http://127.0.0.1:1/x"}, "body": "x" * 500, "delay": 3600}
                                 for _ in range(100)]):
            assert line["status"] == 202
    return serve.store.read_bytes()


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_a_store_that_is_not_ours_is_refused_and_left_as_it_is(tmp_path, good_store, spoil):
    store = tmp_path / "lull.db"
    if spoil in (of_a_later_version, without_its_head, cut_short, with_a_broken_schema):
        store.write_bytes(good_store)
    spoil(store)
    before = store.read_bytes()
    serve = Serve(tmp_path).launch()
    assert serve.wait_for_end() == 1
    assert str(store) in serve.output(), serve.output()
    serve.check_output()
    assert store.read_bytes() == before
    for path in tmp_path.glob("lull.db-*"):  # what SQLite has made beside it, to look: nothing in it
        assert path.stat().st_size == 0 or path.suffix == ".db-shm", path


def test_a_store_in_a_folder_that_is_not_there(tmp_path):
    """The folder is made; one that cannot be is told."""
    with Serve(tmp_path, store=tmp_path / "a" / "b" / "lull.db") as serve:
        assert serve.store.exists()
    (tmp_path / "file").write_text("x")
    serve = Serve(tmp_path, store=tmp_path / "file" / "lull.db").launch()
    assert serve.wait_for_end() == 1 and str(tmp_path / "file") in serve.output()


def test_what_waits_goes_on_where_it_was(tmp_path, mock):
    """Q4: due times, attempts and their history are as they were, after kill -9 as after SIGTERM."""
    failing = mock.subscription("503:3600*")
    with Serve(tmp_path) as serve:
        delayed = serve.accept(push(mock.subscription(), delay=3600))
        retried = serve.accept({"subscription": failing, "body": "x"})
        serve.wait_for(retried, "waiting")
        while not serve.message(retried)["attempts"]:
            time.sleep(0.02)
        before = {name: serve.message(name) for name in (delayed, retried)}
        for end in (serve.kill9, serve.stop):
            end()
            serve.start()
            assert {name: serve.message(name) for name in before} == before
        assert serve.status()["queue"]["waiting"] == 2
    assert len(mock.all_pushes()) == 1
