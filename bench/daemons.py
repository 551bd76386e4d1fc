"""Lull, Redis and beanstalkd as servers of their own, for the time of a `with`, on loopback.

Each keeps its files in a folder beside the programs of the build, which is on a real disk: /tmp need
not be. Each is stopped by its process, and nothing else is."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from nginx import free_port

START_S = 60
STOP_S = 60
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def on_core(number):
    """For preexec_fn: the first and the last core of those that this process may use, 0 and -1; the
    same, if there is but one. None: any."""
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, cores if number is None else {cores[number]})


def cpu_s(pid):
    """Of all its threads, those that have ended too."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    sys.exit(f"bench: process {pid} is gone")


def ask(port, question, timeout_s=10):
    """The beginning of the answer to a line; b"" if there is none."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout_s) as client:
        client.sendall(question + b"\r\n")
        return client.recv(65536)
    return b""


class Daemon:
    """Kept in `folder`; started again on the same files by kill_and_start."""

    def __init__(self, name, command, folder, port, is_ready, core=None, environment=None):
        self.name, self.command, self.folder, self.port = name, command, folder, port
        self.is_ready, self.core, self.environment = is_ready, core, environment
        self.process = None

    def start(self):
        """How long it took, in seconds, until it was ready."""
        begin = time.monotonic()
        with open(f"{self.folder}/messages", "ab") as messages:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, stdout=messages, stderr=messages,
                env={**os.environ, **(self.environment or {})}, preexec_fn=on_core(self.core))
        while not self.is_ready(self.port):
            if self.process.poll() is not None or time.monotonic() - begin > START_S:
                tail = pathlib.Path(f"{self.folder}/messages").read_text(errors="replace")[-2000:]
                self.stop()
                sys.exit(f"bench: {self.name} did not start\n{tail}")
            time.sleep(0.002)
        return time.monotonic() - begin

    def kill_and_start(self):
        self.process.kill()
        self.process.wait()
        return self.start()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def cpu_s(self):
        return cpu_s(self.process.pid)

    def resident_bytes(self):
        return resident_bytes(self.process.pid)


@contextlib.contextmanager
def running(name, command_of, is_ready, beside, core=None, environment_of=lambda folder: None):
    with tempfile.TemporaryDirectory(prefix=f"bench-{name}-", dir=beside) as folder:
        port = free_port()
        daemon = Daemon(name, command_of(folder, port), folder, port, is_ready, core,
                        environment_of(folder))
        try:
            daemon.start()
            yield daemon
        finally:
            daemon.stop()


def redis(beside, core=None):
    """Every job is in its append-only file, which is synced each second."""
    return running(
        "redis-server",
        lambda folder, port: [shutil.which("redis-server") or "/usr/bin/redis-server",
                              "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                              "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""],
        lambda port: ask(port, b"PING") == b"+PONG\r\n", beside, core)


def redis_memory(daemon):
    for line in ask(daemon.port, b"INFO memory").decode().splitlines():
        if line.startswith("used_memory:"):
            return int(line.split(":")[1])
    sys.exit("bench: redis-server does not say what memory it uses")


def beanstalkd(beside, sync_ms):
    """Its log is synced at most once each sync_ms; 0: for each job."""
    return running(
        "beanstalkd",
        lambda folder, port: [shutil.which("beanstalkd") or "/usr/bin/beanstalkd",
                              "-l", "127.0.0.1", "-p", str(port), "-b", folder, f"-f{sync_ms}"],
        lambda port: ask(port, b"stats").startswith(b"OK"), beside)


def is_http_ready(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    return False


def folder_of(program):
    """Of the build: for what the daemons keep."""
    return pathlib.Path(program).resolve().parent


def lull(program, ca_file, core=None):
    """On SQLite, each commit synced; it may send to loopback."""
    return running(
        "lull",
        lambda folder, port: [str(pathlib.Path(program).resolve()), "serve",
                              "--listen", f"127.0.0.1:{port}"],
        is_http_ready, folder_of(program), core,
        lambda folder: {"LULL_STORE": f"{folder}/lull.db", "LULL_CA_FILE": ca_file,
                        "LULL_ALLOW_PRIVATE": "yes", "LULL_SUBJECT": "mailto:bench@example.org"})


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    return json.load(connection.getresponse())


BULLMQ = str(pathlib.Path(__file__).resolve().parent / "peers" / "bullmq.js")


def bullmq_by_http(daemon, beside):
    """node's own http server in front of BullMQ: a POST adds a job."""
    return running("bullmq", lambda folder, port: ["node", BULLMQ, "serve", str(daemon.port),
                                                   f"port={port}"], is_http_ready, beside)


def bullmq(step, daemon, core=None, **options):
    """One step of peers/bullmq.js."""
    words = [f"{word}={value}" for word, value in options.items()]
    done = subprocess.run(["node", BULLMQ, step, str(daemon.port), *words], text=True,
                          stdout=subprocess.PIPE, preexec_fn=on_core(core))
    if done.returncode != 0:
        sys.exit(f"bench: BullMQ's step {step} failed")
    return json.loads(done.stdout)


def load(program, what, port, sink, core=None, **options):
    """bench-load; every message must have been accepted."""
    words = [f"{word}={value}" for word, value in options.items()]
    done = subprocess.run([program, what, str(port), sink, *words], text=True,
                          stdout=subprocess.PIPE, preexec_fn=on_core(core))
    if done.returncode != 0:
        sys.exit(f"bench: bench-load {what} failed")
    result = json.loads(done.stdout)
    if result["refused"]:
        sys.exit(f"bench: {result['refused']} messages were refused by {what}")
    return result
