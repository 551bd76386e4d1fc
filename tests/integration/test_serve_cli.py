"""`lull push`, `lull messages` and `lull status` against a real `lull serve`, with `lull mock` as the
push service: what they say, their exit codes, and that a message is in the queue once, whatever breaks.
"""

import collections
import json
import os
import subprocess
import threading
import time

import pytest

from mocking import Mock, PROGRAM, TIMEOUT_S
from scripted import Scripted, answer
from serving import Cutter, QUICK, Serve

DONE, FAILED, USAGE, REFUSED, NO_ANSWER, DEAD, UNDECIDED = 0, 1, 2, 3, 4, 5, 6
TEXT = "a word that nobody else may read"
PATIENT = "delivery base=1h cap=1h"  # waits where a test wants to look at it


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    service = Mock(tmp_path_factory.mktemp("mock"))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve")) as server:
        yield server


def lull(serve, *arguments, stdin=None, url=None, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LULL_")}
    done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True,
                          timeout=TIMEOUT_S,
                          env={**clean, "LULL_SERVER": url or serve.url, **environment},
                          **({"input": stdin} if stdin is not None else
                             {"stdin": subprocess.DEVNULL}))
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    assert TEXT not in done.stdout + done.stderr
    assert "/push/" not in done.stdout + done.stderr, "an endpoint"
    return done


def push(serve, to, *arguments, policy=QUICK, **options):
    return lull(serve, "push", "--to", to, "--body", TEXT, "--policy", policy, *arguments, **options)


def id_of(done):
    assert done.returncode == DONE, done
    return done.stdout.strip()


# ---- one message ----


def test_a_push_is_delivered(serve, mock):
    to = mock.subscribe()
    done = push(serve, to, "--wait", "--ttl", "60", "--urgency", "high", "--topic", "news",
                "--padding", "10")
    assert done.returncode == DONE and done.stderr.endswith("lull push: delivered\n"), done
    (sent,) = mock.pushes(to)
    assert (sent["text"], sent["urgency"], sent["topic"]) == (TEXT, "high", "news")
    assert sent["bytes"] == len(TEXT) + 10 + 103 and sent["problems"] == []
    assert serve.message(id_of(done))["state"] == "delivered"


def test_a_body_that_is_no_text_arrives_byte_for_byte(serve, mock, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(b"\xff\0\xfe")
    to = mock.subscribe()
    assert lull(serve, "push", "--to", to, "--body", f"@{body}", "--wait").returncode == DONE
    assert mock.pushes(to)[0]["text_base64url"] == "_wD-"


def test_a_push_without_a_body(serve, mock):
    to = mock.subscribe()
    assert lull(serve, "push", "--to", to, "--wait").returncode == DONE
    assert mock.pushes(to)[0]["bytes"] == 0


def test_W4_a_webhook(serve):
    target = Scripted()
    try:
        path = target.script("/hook", answer(200))
        done = lull(serve, "push", "--webhook", f"http://127.0.0.1:{target.port}{path}", "--body-json",
                    '{ "a": [1, 2] }', "--header", "X-Shop: one", "--method", "PUT", "--wait",
                    "--idempotency-key", "order-5", "--policy", "webhook base=50ms")
        assert done.returncode == DONE, done
        (request,) = target.requests(path)
        assert (request.method, request.body) == ("PUT", b'{"a":[1,2]}')
        assert request.headers["x-shop"] == "one"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["idempotency-key"] == "order-5"
    finally:
        target.stop()


def test_json_is_the_answer_of_the_server(serve, mock):
    answered = json.loads(push(serve, mock.subscribe(), "--json").stdout)
    assert set(answered) >= {"id", "state"}
    waited = json.loads(push(serve, mock.subscribe(), "--json", "--wait").stdout)
    assert waited["state"] == "delivered"


def test_D1_a_dead_one(serve, mock):
    done = push(serve, mock.subscribe("410*"), "--wait")
    assert done.returncode == DEAD
    assert "lull push: dead: gone" in done.stderr


def test_Q10_one_that_waits_says_why(serve, mock):
    done = push(serve, mock.subscribe("503*"), "--wait=0.5", policy=PATIENT)
    assert done.returncode == UNDECIDED
    assert "not delivered yet: " in done.stderr and "503" in done.stderr
    assert lull(serve, "messages", "cancel", done.stdout.strip()).returncode == DONE


@pytest.mark.parametrize("arguments,part", [
    (("--policy", "nobody"), "member policy"),
    (("--at", "yesterday"), "member at"),
    (("--key", "nokey"), "member key"),
], ids=["policy", "at", "key"])
def test_what_the_server_refuses_is_told_as_a_sentence(serve, mock, arguments, part):
    done = lull(serve, "push", "--to", mock.subscribe(), *arguments)
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert "lull push: the server refused it: " in done.stderr and part in done.stderr


def test_Q6_the_same_key_is_one_message(serve, mock):
    to = mock.subscribe()
    first, again = (push(serve, to, "--idempotency-key", "once", "--wait") for _ in range(2))
    assert id_of(first) == id_of(again)
    assert len(mock.pushes(to)) == 1
    other = push(serve, to, "--idempotency-key", "once", "--ttl", "5")
    assert other.returncode == REFUSED and "key-reused" in other.stderr


@pytest.mark.parametrize("cut", [0, 30])
def test_Q6_an_answer_that_got_lost_makes_no_second_message(serve, mock, cut):
    to = mock.subscribe()
    with Cutter(serve.port, [cut, cut]) as cutter:
        done = push(serve, to, "--wait", url=cutter.url)
        assert done.returncode == DONE, done
        assert cutter.connections > 2
    assert len(mock.pushes(to)) == 1


# ---- many ----


def lines_of(mock, count, **members):
    subscription = mock.subscription()
    return subscription, [json.dumps({"subscription": subscription, "body": f"{TEXT} {n}", **members})
                          for n in range(count)]


def check_each_once(mock, subscription, count):
    texts = collections.Counter(sent["text"] for sent in mock.pushes(subscription))
    assert texts == {f"{TEXT} {n}": 1 for n in range(count)}


def test_a_batch(serve, mock):
    subscription, lines = lines_of(mock, 250)
    done = lull(serve, "push", "--batch", "-", "--chunk", "100", stdin="\n".join(lines))
    assert (done.returncode, done.stdout) == (DONE, ""), done
    assert "250 accepted, 0 refused" in done.stderr
    serve.wait_until_empty()
    check_each_once(mock, subscription, 250)


def test_a_batch_tells_the_lines_that_are_refused(serve, mock):
    subscription, lines = lines_of(mock, 5)
    lines = [lines[0], "", "{broken", lines[1], '{"body":"x"}', *lines[2:]]
    done = lull(serve, "push", "--batch", "-", "--chunk", "2", "--json", stdin="\n".join(lines))
    assert done.returncode == REFUSED
    assert "line 3: " in done.stderr and "line 5: " in done.stderr
    assert "5 accepted, 2 refused" in done.stderr
    *results, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["line"], r["status"]) for r in results] == [(1, 202), (3, 400), (4, 202), (5, 400),
                                                           (6, 202), (7, 202), (8, 202)]
    assert last == {"accepted": 5, "refused": 2, "left": 0, "repeated": 0, "exit": REFUSED}
    serve.wait_until_empty()
    check_each_once(mock, subscription, 5)


def test_Q6_a_batch_through_connections_that_break(serve, mock):
    """Cut before the answer, in its head, and in the middle of its lines."""
    subscription, lines = lines_of(mock, 300)
    with Cutter(serve.port, [0, 20, 2000, None, 500]) as cutter:
        done = lull(serve, "push", "--batch", "-", "--chunk", "100", stdin="\n".join(lines),
                    url=cutter.url)
    assert done.returncode == DONE, done
    assert "300 accepted, 0 refused" in done.stderr
    serve.wait_until_empty()
    check_each_once(mock, subscription, 300)


def test_Q6_the_same_batch_again_makes_nothing_new(serve, mock):
    subscription, lines = lines_of(mock, 20)
    arguments = ("push", "--batch", "-", "--chunk", "7", "--json", "--idempotency-key", "campaign-7")
    first, again = (lull(serve, *arguments, stdin="\n".join(lines)) for _ in range(2))
    ids = [[json.loads(line)["id"] for line in done.stdout.splitlines()[:-1]]
           for done in (first, again)]
    assert ids[0] == ids[1] and len(set(ids[0])) == 20
    assert "20 accepted (20 of them before), 0 refused" in again.stderr
    serve.wait_until_empty()
    check_each_once(mock, subscription, 20)


def test_Q1_a_batch_while_the_server_is_killed_and_comes_back(mock, tmp_path):
    """Nothing of what was accepted is lost, and nothing has to be sent again by hand."""
    subscription = mock.subscription("slow:50*")  # so that many are on their way
    lines = [json.dumps({"subscription": subscription, "body": f"{TEXT} {n}", "policy": QUICK}) + "\n"
             for n in range(400)]
    with Serve(tmp_path) as serve:
        command = [PROGRAM, "push", "--batch", "-", "--chunk", "20", "--retries", "20", "--server",
                   serve.url]
        with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as client:
            client.stdin.writelines(lines[:200])
            client.stdin.flush()
            serve.wait_until(lambda: serve.status()["totals"]["accepted"] >= 180, "200 are in")
            serve.kill9()
            feeder = threading.Thread(target=lambda: (client.stdin.writelines(lines[200:]),
                                                      client.stdin.close()))
            feeder.start()
            serve.restart()
            feeder.join(TIMEOUT_S)
            told = client.stderr.read()
            assert client.wait(TIMEOUT_S) == DONE, told
        assert "400 accepted, 0 refused" in told
        serve.wait_until_empty()
    texts = {sent["text"] for sent in mock.pushes(subscription)}
    assert texts == {f"{TEXT} {n}" for n in range(400)}


def test_G6_a_full_queue_is_waited_for(mock, tmp_path):
    subscription = mock.subscription("slow:20*")
    lines = [json.dumps({"subscription": subscription, "body": f"{TEXT} {n}"}) for n in range(120)]
    _, before = lines_of(mock, 15)
    with Serve(tmp_path, "--set", "limits.waiting_soft_max=20", "--set", "limits.waiting_hard_max=40",
               "--set", "limits.in_flight_max=8") as serve:
        serve.batch(before)
        serve.wait_until_empty()  # now it knows how fast messages leave, and so how long to ask for
        done = lull(serve, "push", "--batch", "-", "--chunk", "10", "--retries", "50",
                    stdin="\n".join(lines))
        assert done.returncode == DONE, done
        assert "120 accepted, 0 refused" in done.stderr
        assert "again in" in done.stderr
        serve.wait_until_empty()
    check_each_once(mock, subscription, 120)


def test_G6_a_queue_that_stays_full_ends_it(mock, tmp_path):
    _, lines = lines_of(mock, 120, delay=3600)
    with Serve(tmp_path, "--set", "limits.waiting_soft_max=20", "--set",
               "limits.waiting_hard_max=40") as serve:
        done = lull(serve, "push", "--batch", "-", "--chunk", "10", "--retries", "0",
                    stdin="\n".join(lines))
        assert done.returncode == NO_ANSWER, done
        accepted = serve.status()["totals"]["accepted"]
        assert 20 <= accepted < 60
        assert f"{accepted} accepted, 0 refused, 10 not taken" in done.stderr
        assert "takes up from there" in done.stderr


# ---- looking at them ----


def test_messages_list_show_and_cancel(serve, mock):
    waiting = id_of(push(serve, mock.subscribe(), "--delay", "3600", "--correlation-id", "corr-1"))
    line = next(line for line in lull(serve, "messages", "list", "--state", "waiting").stdout.splitlines()
                if line.startswith(waiting))
    assert line.split()[1:3] == ["waiting", "push"] and line.split()[-1] == "delayed"
    shown = lull(serve, "messages", "show", waiting).stdout
    assert shown.startswith(f"{waiting}: waiting\n  ")
    assert "corr-1" in shown and "sha256:" in shown and "No attempt yet." in shown
    cancelled = lull(serve, "messages", "cancel", waiting)
    assert cancelled.returncode == DONE and f"{waiting} is cancelled" in cancelled.stderr
    dead = lull(serve, "messages", "show", waiting).stdout
    assert dead.startswith(f"{waiting}: dead\n") and "reason          cancelled" in dead
    again = lull(serve, "messages", "cancel", waiting)
    assert again.returncode == REFUSED and "too-late" in again.stderr


def test_D2_show_has_each_attempt(serve, mock):
    name = id_of(push(serve, mock.subscribe("503;429:1;410*")))
    serve.wait_for(name)
    text = lull(serve, "messages", "show", name).stdout
    rows = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert [row[0] for row in rows if "HTTP" in row] == ["1", "2", "3"], text
    assert "HTTP 503" in text and "HTTP 429" in text and "gone (HTTP 410)" in text
    as_json = json.loads(lull(serve, "messages", "show", name, "--json").stdout)
    assert [attempt["status"] for attempt in as_json["attempts"]] == [503, 429, 410]


def test_list_goes_from_page_to_page(serve, mock):
    _, lines = lines_of(mock, 30, delay=3600, correlation_id="page")
    assert lull(serve, "push", "--batch", "-", stdin="\n".join(lines)).returncode == DONE
    every = lull(serve, "messages", "list", "--all", "--json", "--state", "waiting")
    listed = [json.loads(line) for line in every.stdout.splitlines()]
    ids = [message["id"] for message in listed if message["correlation_id"] == "page"]
    assert len(ids) == len(set(ids)) == 30
    few = lull(serve, "messages", "list", "--limit", "7", "--json", "--state", "waiting")
    assert [json.loads(line)["id"] for line in few.stdout.splitlines()] == \
        [message["id"] for message in listed][:7]
    assert lull(serve, "messages", "cancel", *ids, "-q").returncode == DONE


def test_an_id_that_was_never_given(serve):
    for action in ("show", "cancel"):
        done = lull(serve, "messages", action, "1zzzzzzzzzzzz")
        assert done.returncode == REFUSED and "not-found" in done.stderr, done


def test_list_of_a_service_that_has_none(serve):
    done = lull(serve, "messages", "list", "--service", "nobody.example")
    assert (done.returncode, done.stdout) == (DONE, "")
    assert "there is no such message" in done.stderr


def test_status(serve, mock):
    assert push(serve, mock.subscribe(), "--wait").returncode == DONE
    text = lull(serve, "status").stdout
    assert text.startswith("lull serve ") and "Queue: " in text and "127.0.0.1:" in text
    as_json = json.loads(lull(serve, "status", "--json").stdout)
    assert as_json["totals"]["delivered"] >= 1
    watched = lull(serve, "status", "--watch=0.01", "--count", "3", "--json").stdout.splitlines()
    assert len(watched) == 3 and all(json.loads(line)["queue"] for line in watched)


# ---- who may ask ----


def test_a_token(tmp_path, mock):
    token = "a-token-of-some-length"
    path = tmp_path / "tokens"
    path.write_text(f"ops: {token}\n")
    path.chmod(0o600)
    with Serve(tmp_path, "--token-file", path, token=token) as serve:
        assert lull(serve, "status", "--token-file", path).returncode == DONE
        assert lull(serve, "status", LULL_TOKEN_FILE=str(path)).returncode == DONE
        assert lull(serve, "status", LULL_TOKEN=token).returncode == DONE
        for environment in ({}, {"LULL_TOKEN": "another-token-than-that"}):
            for command in (("status",), ("messages", "list"),
                            ("push", "--to", mock.subscribe(), "--body", "x"),
                            ("push", "--batch", "-")):
                done = lull(serve, *command, stdin="{}\n", **environment)
                assert (done.returncode, done.stdout) == (REFUSED, ""), done
                assert "unauthorized" in done.stderr and "--token-file" in done.stderr
                assert "another-token" not in done.stderr


def test_a_unix_socket(tmp_path):
    path = tmp_path / "socket"
    serve = Serve(tmp_path, "--listen", path).launch()
    try:
        end = time.monotonic() + TIMEOUT_S
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.02)
        done = lull(serve, "status", "--json", "--retries", "9", url=f"unix:{path}")
        assert done.returncode == DONE, done.stderr + serve.output()
        assert json.loads(done.stdout)["version"]
    finally:
        serve.stop()


def test_a_server_that_is_no_lull(tmp_path):
    stranger = Scripted()
    try:
        for status, body in ((200, b"<html>"), (404, b"<html>"), (302, b"")):
            stranger.script("/v1/status", answer(status, body=body))
            done = lull(None, "status", "--retries", "0", url=f"http://127.0.0.1:{stranger.port}")
            assert done.returncode in (REFUSED, NO_ANSWER), done
            assert "is that 'lull serve'?" in done.stderr
    finally:
        stranger.stop()
