#!/usr/bin/python3
"""A thousand clients meet an outage: how hard do they hit the server, and how many get through?

    bench/storm.py [--clients N] [--outage SECONDS] [--lull PROGRAM]

Each client is a real process. The server holds the first request of each until all have come, and
then answers all of them 503 at the same instant, as a service does that hangs and falls over: so the
clients are in step, however long it took to start them. It goes on with 503 until the outage is over,
and answers 200 after that. All figures are from the server's own log.
"""

import argparse
import asyncio
import collections
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent

END_S = 90  # a client that takes longer after the recovery is stopped
RETRIES = 5
LULL_EXIT_GAVE_UP = 4


def ways(lull):
    """curl waits 1, 2, 4, 8 and 16 s. base=1s draws from up to as much, so it waits half as long in
    the mean; base=2s waits as long in the mean."""
    fetch = [lull, "fetch", "-s", "-f", "-o", "/dev/null", "--retries", str(RETRIES), "--policy"]
    return {
        "curl --retry 5": ["curl", "-sS", "-f", "-o", "/dev/null", "--retry", str(RETRIES),
                           "--retry-all-errors"],
        "lull base=1s": [*fetch, "client base=1s"],
        "lull base=2s": [*fetch, "client base=2s"],
    }


class Storm(NamedTuple):
    clients: int
    exits: collections.Counter
    per_client: collections.Counter  # requests of each client
    delivered: int
    total: int
    outage_100ms: int  # peaks of requests
    outage_1s: int
    after_100ms: int
    after_1s: int
    start_s: float  # how long it took to start them all
    last_s: float  # from the recovery to the last request


def peak(times, width_s):
    """The most requests in any window of that width."""
    best = first = 0
    for last, moment in enumerate(times):
        while times[first] < moment - width_s:
            first += 1
        best = max(best, last - first + 1)
    return best


class Server:
    """Plain HTTP/1.1 on a thread of its own; a line of the log is (time, path, status)."""

    def __init__(self, clients, outage_s):
        self.log = []
        self.clients = clients
        self.outage_s = outage_s
        self.fell_over = None  # when all had come
        self.loop = asyncio.new_event_loop()
        self.is_ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.is_ready.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.all_here = asyncio.Event()
        server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096))
        self.port = server.sockets[0].getsockname()[1]
        self.is_ready.set()
        self.loop.run_forever()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    async def hold(self):
        if len(self.log) >= self.clients and self.fell_over is None:
            self.fell_over = time.time()
            self.all_here.set()
        await self.all_here.wait()

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                entry = [time.time(), path, 503]
                self.log.append(entry)
                await self.hold()
                if entry[0] >= self.fell_over + self.outage_s:
                    entry[2] = 200
                writer.write(b"HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n" % entry[2])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def run_storm(command, clients, outage_s):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    server = Server(clients, outage_s)
    processes = []
    exits = collections.Counter()
    end = time.time() + outage_s + END_S
    try:
        begun = time.time()
        for number in range(clients):
            processes.append(subprocess.Popen(
                [*command, f"http://127.0.0.1:{server.port}/{number}"], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for process in processes:
            exits[process.wait(max(end - time.time(), 1))] += 1
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        server.stop()
    return measure(server, exits, clients, begun)


def measure(server, exits, clients, begun):
    fell_over, recovered = server.fell_over, server.fell_over + server.outage_s
    times = sorted(moment for moment, _, _ in server.log)
    outage = [moment for moment in times if fell_over < moment < recovered]
    after = [moment for moment in times if moment >= recovered]
    return Storm(clients, exits, collections.Counter(path for _, path, _ in server.log),
                 sum(status == 200 for _, _, status in server.log), len(server.log),
                 peak(outage, 0.1), peak(outage, 1), peak(after, 0.1), peak(after, 1),
                 fell_over - begun, max(times) - recovered if after else 0)


def report(storms):
    yield (f"{'':16} {'delivered':>9} {'requests':>8} {'outage':>16} {'recovery':>16} {'last after':>10}")
    yield (f"{'':16} {'':>9} {'':>8} {'/100ms':>8}{'/1s':>8} {'/100ms':>8}{'/1s':>8}")
    for name, s in storms.items():
        yield (f"{name:16} {s.delivered:9} {s.total:8} {s.outage_100ms:8}{s.outage_1s:8} "
               f"{s.after_100ms:8}{s.after_1s:8} {s.last_s:8.1f} s")
    first, *others = storms.items()
    for name, s in others:
        parts = [f"{label} {a / b:.1f} times" for label, a, b in (
            ("outage peak/100ms", first[1].outage_100ms, s.outage_100ms),
            ("outage peak/1s", first[1].outage_1s, s.outage_1s),
            ("recovery peak/100ms", first[1].after_100ms, s.after_100ms),
            ("recovery peak/1s", first[1].after_1s, s.after_1s)) if b]
        yield f"{first[0]} against {name}: " + ", ".join(parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--outage", type=float, default=10)
    parser.add_argument("--lull", default=os.environ.get("LULL_PROGRAM",
                                                         str(ROOT / "build-bench" / "lull")))
    arguments = parser.parse_args()
    storms = {name: run_storm(command, arguments.clients, arguments.outage)
              for name, command in ways(arguments.lull).items()}
    print(f"bench/storm: {arguments.clients} clients, all answered 503 at once, and for "
          f"{arguments.outage:g} s after")
    print("\n".join(report(storms)))
    too_many = [name for name, s in storms.items() if max(s.per_client.values()) > RETRIES + 1]
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
