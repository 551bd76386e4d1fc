"""Runs every program of examples/ against a scripted HTTP server and a real redis-server."""

import collections
import contextlib
import http.server
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = pathlib.Path(os.environ.get("LULL_EXAMPLES", ROOT / "build-test" / "examples"))
WAIT_S = 30

Seen = collections.namedtuple("Seen", "method path key attempt body at_s")


class Server(http.server.ThreadingHTTPServer):
    """Answers by a script: plan[path] is a list of (status, headers); the last one stays."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan, self.seen, self.lock = {}, [], threading.Lock()
        self.hang = threading.Event()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def seen_at(self, path, method=None):
        with self.lock:
            return [s for s in self.seen if s.path == path and method in (None, s.method)]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            before = sum(s.path == self.path and s.method == self.command
                         for s in self.server.seen)
            self.server.seen.append(Seen(self.command, self.path,
                                         self.headers.get("Idempotency-Key"),
                                         self.headers.get("Lull-Attempt"), body,
                                         time.monotonic()))
            plan = self.server.plan.get(self.path, [(200, {})])
            status, headers = plan[min(before, len(plan) - 1)]
        if status == 0:
            self.server.hang.wait(WAIT_S)
            status = 200
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "3")
            self.end_headers()
            self.wfile.write(b"ok\n")

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    it = Server()
    threading.Thread(target=it.serve_forever, daemon=True).start()
    yield it
    it.hang.set()
    it.shutdown()
    it.server_close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Redis:
    def __init__(self, folder):
        self.folder, self.port, self.process = folder, free_port(), None

    def start(self, *options):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
             str(self.folder), "--save", "", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.is_up())
        return self

    def is_up(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(WAIT_S)
            self.process = None

    def ask(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], text=True,
                              capture_output=True, timeout=WAIT_S, check=True)
        return done.stdout.strip()


@pytest.fixture
def redis(tmp_path):
    it = Redis(tmp_path)
    yield it
    it.stop()


def wait_for(is_true):
    end_s = time.monotonic() + WAIT_S
    while not is_true():
        assert time.monotonic() < end_s, "it did not happen"
        time.sleep(0.02)


def run(name, *arguments):
    return subprocess.run([str(PROGRAMS / name), *map(str, arguments)], text=True,
                          capture_output=True, timeout=WAIT_S)


@contextlib.contextmanager
def running(name, *arguments):
    process = subprocess.Popen([str(PROGRAMS / name), *map(str, arguments)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


TWICE = [(503, {}), (503, {}), (200, {})]


def test_every_example_is_built():
    sources = {p.stem for p in (ROOT / "examples").glob("*.c")}
    assert len(sources) == 6
    assert [n for n in sorted(sources) if not os.access(PROGRAMS / n, os.X_OK)] == []


def test_every_example_is_in_the_readme():
    text = (ROOT / "examples" / "README.md").read_text()
    assert [p.name for p in (ROOT / "examples").glob("*.c") if p.name not in text] == []


@pytest.mark.parametrize("name", ["blocking", "multi", "libevent", "libuv", "database_reconnect",
                                  "redis_stream_consumer"])
def test_usage(name):
    done = run(name)
    assert done.returncode == 2
    assert done.stderr.startswith(f"usage: {name} ")


def test_blocking_retries_both_and_keeps_the_key(server):
    server.plan["/a"] = TWICE
    done = run("blocking", server.url("/a"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("attempt 3: status 200, delivered") == 2
    assert done.stdout.count("status 503, unavailable") == 4
    assert [s.attempt for s in server.seen_at("/a", "GET")] == [None, "2", "3"]
    posts = server.seen_at("/a", "POST")
    assert len(posts) == 3
    assert len({p.key for p in posts}) == 1 and len(posts[0].key) == 32
    assert {p.body for p in posts} == {b'{"amount": 5}'}


def test_blocking_tells_of_a_refused_connection():
    done = run("blocking", f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 1
    assert "attempt 1: refused" in done.stdout
    assert "give_up: " in done.stdout
    assert done.stderr == ""


def test_blocking_does_not_retry_a_refusal(server):
    server.plan["/a"] = [(400, {})]
    done = run("blocking", server.url("/a"))
    assert done.returncode == 1
    assert len(server.seen_at("/a")) == 2
    assert done.stdout.count("give_up: rejected, status 400") == 2


@pytest.mark.parametrize("name", ["multi", "libevent", "libuv"])
def test_loop_retries_what_fails_and_nothing_else(name, server):
    server.plan["/slow"] = TWICE
    urls = [server.url(f"/{i}") for i in range(20)] + [server.url("/slow")]
    plain = [server.url("/plain")] if name == "multi" else []
    done = run(name, *plain, *urls)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("delivered, status 200, attempts 1\n") == 20
    assert f"lull {server.url('/slow')}: delivered, delivered, status 200, attempts 3" in done.stdout
    assert all(len(server.seen_at(f"/{i}")) == 1 for i in range(20))
    assert len(server.seen_at("/slow")) == 3
    if plain:
        assert f"plain {plain[0]}: status 200, No error" in done.stdout
        assert len(server.seen_at("/plain")) == 1


def test_multi_leaves_the_plain_transfer_alone(server):
    server.plan["/plain"] = [(503, {}), (200, {})]
    done = run("multi", server.url("/plain"), server.url("/a"))
    assert "status 503" in done.stdout
    assert len(server.seen_at("/plain")) == 1


@pytest.mark.parametrize("name", ["libevent", "libuv"])
def test_loop_is_cancelled_by_an_interrupt(name, server):
    server.plan["/hang"] = [(0, {})]
    server.plan["/wait"] = [(503, {"Retry-After": "15"})]
    with running(name, server.url("/hang"), server.url("/wait"), server.url("/a")) as process:
        wait_for(lambda: server.seen_at("/hang") and server.seen_at("/wait")
                 and server.seen_at("/a"))
        time.sleep(0.3)
        started_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=WAIT_S)
    assert time.monotonic() - started_s < 5
    assert process.returncode == 1, errors
    assert errors == ""
    for path in ("/hang", "/wait"):
        assert f"lull {server.url(path)}: give_up, cancelled" in output
        assert len(server.seen_at(path)) == 1
    assert f"lull {server.url('/a')}: delivered" in output


PATIENT = "client retries=40 base=200ms cap=200ms"


def test_database_comes_up_late_and_goes_away_once(redis):
    with running("database_reconnect", "127.0.0.1", redis.port, 8, PATIENT) as process:
        lines = []
        lines.append(process.stdout.readline())
        redis.start()
        while not lines[-1].startswith("wrote 2"):
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        redis.stop()
        while not lines[-1].startswith("attempt 2"):
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        redis.start()
        output, errors = process.communicate(timeout=WAIT_S)
    output = "".join(lines) + output
    assert process.returncode == 0, output + errors
    assert output.startswith("attempt 2 in ")
    assert output.count("connected at attempt") == 2
    assert [w for w in output.splitlines() if w.startswith("wrote")] == [
        f"wrote {i}" for i in range(1, 9)]
    assert redis.ask("GET", "lull:example") == "8"
    assert "Connection refused" in errors


def test_database_that_stays_away():
    done = run("database_reconnect", "127.0.0.1", free_port())
    assert done.returncode == 1
    assert "gave up after attempt 4: max_attempts_exceeded" in done.stdout


def test_database_that_wants_a_password_is_not_asked_again(redis):
    redis.start("--requirepass", "secret")
    done = run("database_reconnect", "127.0.0.1", redis.port)
    assert done.returncode == 1
    assert done.stdout == "gave up after attempt 1: operation_failed\n"
    assert "NOAUTH" in done.stderr


QUICK = "webhook base=200ms cap=400ms retries=2"


def add(redis, server, path):
    return redis.ask("XADD", "hooks", "*", "url", server.url(path), "body", "for " + path)


def pending(redis):
    return redis.ask("XPENDING", "hooks", "lull").splitlines()[0]


def stop(process):
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, output + errors
    assert errors == ""
    return output


def test_consumer_delivers_retries_and_buries(redis, server):
    redis.start()
    server.plan.update({"/flaky": TWICE, "/down": [(503, {})], "/bad": [(400, {})]})
    ids = {path: add(redis, server, path) for path in ("/good", "/flaky", "/down", "/bad")}
    ids["none"] = redis.ask("XADD", "hooks", "*", "body", "nowhere to go")
    names = ("127.0.0.1", redis.port, "hooks")
    with running("redis_stream_consumer", *names, "one", QUICK, 1000) as one, \
            running("redis_stream_consumer", *names, "two", QUICK, 1000) as two:
        wait_for(lambda: redis.ask("EXISTS", "hooks") == "1" and
                 redis.ask("XLEN", "hooks:dead") == "3" and pending(redis) == "0")
        output = stop(one) + stop(two)
    for path, count in {"/good": 1, "/flaky": 3, "/down": 3, "/bad": 1}.items():
        seen = server.seen_at(path)
        assert len(seen) == count, path
        assert {(s.method, s.key, s.body) for s in seen} == {
            ("POST", ids[path], f"for {path}".encode())}
    assert output.count(f"{ids['/flaky']} delivered") == 1
    dead = redis.ask("XRANGE", "hooks:dead", "-", "+").splitlines()
    reasons = {dead[i + 1]: dead[dead.index("reason", i) + 1]
               for i, word in enumerate(dead) if word == "id"}
    assert reasons == {ids["/down"]: "max_attempts_exceeded", ids["/bad"]: "rejected",
                       ids["none"]: "invalid_target"}
    assert redis.ask("HLEN", "hooks:due") == "0"


def test_consumer_does_not_touch_what_waits_longer_than_the_lease(redis, server):
    redis.start()
    server.plan["/later"] = [(429, {"Retry-After": "3"}), (200, {})]
    identity = add(redis, server, "/later")
    with running("redis_stream_consumer", "127.0.0.1", redis.port, "hooks", "one", QUICK,
                 400) as process:
        wait_for(lambda: len(server.seen_at("/later")) == 2)
        wait_for(lambda: pending(redis) == "0")
        output = stop(process)
    first, second = server.seen_at("/later")
    assert 3 <= second.at_s - first.at_s < 6
    assert f"{identity} attempt 1: throttled" in output
    assert f"{identity} delivered" in output


def test_consumer_takes_over_from_one_that_died(redis, server):
    redis.start()
    server.plan["/hang"] = [(0, {}), (200, {})]
    identity = add(redis, server, "/hang")
    names = ("127.0.0.1", redis.port, "hooks")
    with running("redis_stream_consumer", *names, "one", QUICK, 1000) as process:
        wait_for(lambda: server.seen_at("/hang"))
        process.kill()
        process.communicate(timeout=WAIT_S)
    with running("redis_stream_consumer", *names, "two", QUICK, 1000) as process:
        wait_for(lambda: pending(redis) == "0")
        output = stop(process)
    first, second = server.seen_at("/hang")
    assert first.key == second.key == identity
    assert second.at_s - first.at_s >= 1.9  # the lease
    assert output == f"{identity} delivered\n"
