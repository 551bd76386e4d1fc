#!/usr/bin/python3
"""bench/deliver: encrypted Web Pushes end to end: to `lull serve` by batch, out by HTTP/2 and TLS to an
nginx; and the same from BullMQ with node's web-push, in the same run.

    bench/serve_deliver.py LULL BENCH-LOAD [--messages N]

nginx has the first core; Lull and bench-load, or node and Redis, have the last one together. What is
counted is the processor's time of all threads of the Lull process, from the first message's arrival
until all are settled, its API and its store included; and of node and Redis both. BullMQ goes before and
after Lull. Each message must have reached nginx once. Targets: at most 120 us of Lull's for each, and
an eighth of BullMQ's.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import daemons
import sink as sinks

CPU_MAX_US = 120
RATIO_MIN = 8
WARM_UP = 2000
PEER_MESSAGES = 3000
PEER_WARM_UP = 500
BATCH = {"connections": 4, "lines": 250}
PACE_PER_S = 2000
PACE_S = 5
SETTLE_S = 60
NGINX_CORE, OUR_CORE = 0, -1


class Run:
    """So many messages through one `lull serve`: what it took."""

    def __init__(self, lull, load, sink, first, count, what, options):
        with tempfile.TemporaryDirectory(dir=lull.folder) as folder:
            log = pathlib.Path(folder) / "log"
            cpu, start_ms = lull.cpu_s(), time.time() * 1000
            self.load = daemons.load(load, what, lull.port, sink.origin, OUR_CORE, kind="push",
                                     first=first, count=count, log=log, **options)
            times = sink.once_each(first, count, 60 + count / 1000)
            wait_until_settled(lull)
            self.cpu_us = (lull.cpu_s() - cpu) / count * 1e6
            self.per_s = count / (max(times.values()) - start_ms) * 1000
            self.accepted_per_s = count / self.load["wall_s"]
            self.load_us = self.load["cpu_s"] / count * 1e6
            self.waits = waits(log, times)

    def wait(self, share):
        return sinks.percentile(self.waits, share)


def waits(log, times):
    """How long each message took, in ms: from when the request that brought it was sent until its
    answer is in nginx's log."""
    result = []
    for line in log.read_text().splitlines():
        first, count, sent_ms, _ = map(int, line.split())
        result += [times[number] - sent_ms for number in range(first, first + count)]
    return result


def wait_until_settled(lull):
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        queue = daemons.get(lull.port, "/v1/status")["queue"]
        if queue["waiting"] == 0 and queue["leased"] == 0:
            return
        time.sleep(0.1)
    sys.exit("bench/deliver: not everything was settled")


def peer(program, sink):
    """BullMQ with node's web-push: CPU of node and Redis for each message, and messages per second."""
    with daemons.redis(daemons.folder_of(program), OUR_CORE) as redis:
        result = daemons.bullmq("deliver", redis, OUR_CORE, count=PEER_MESSAGES, warm_up=PEER_WARM_UP,
                                sink=sink.origin, ca=sink.certificate)
        redis_s = redis.cpu_s() * PEER_MESSAGES / (PEER_MESSAGES + PEER_WARM_UP)
    if result["failed"]:
        sys.exit(f"bench/deliver: {result['failed']} of BullMQ's messages failed: {result['failure']}")
    came = {number for number, _ in sink.arrivals(PEER_MESSAGES + PEER_WARM_UP, 10)}
    if len(came) != PEER_MESSAGES:  # those before it have the same numbers
        sys.exit(f"bench/deliver: {len(came)} of BullMQ's {PEER_MESSAGES} messages reached nginx")
    return (result["cpu_s"] + redis_s) / PEER_MESSAGES * 1e6, PEER_MESSAGES / result["wall_s"]


def measure(program, load, messages):
    with sinks.sink(daemons.on_core(NGINX_CORE)) as sink:
        peers = [peer(program, sink)]
        with daemons.lull(program, sink.certificate, OUR_CORE) as lull:
            Run(lull, load, sink, 0, WARM_UP, "batch", BATCH)
            full = Run(lull, load, sink, WARM_UP, messages, "batch", BATCH)
            paced = Run(lull, load, sink, WARM_UP + messages, PACE_PER_S * PACE_S, "post",
                        {"per_s": PACE_PER_S})
            resident = lull.resident_bytes()
        peers.append(peer(program, sink))
    return full, paced, resident, peers


def report(full, paced, resident, peers, messages):
    peer_us, peer_per_s = (sum(values) / len(values) for values in zip(*peers))
    ratio = peer_us / full.cpu_us
    print(f"bench/deliver: {messages:,} encrypted Web Pushes of 300 bytes, in by batches of "
          f"{BATCH['lines']}, out by HTTP/2 and TLS\nto nginx on the other core; each reached it once")
    print(f"  {'Lull':<28} {full.cpu_us:8.1f} us CPU  {full.per_s:8,.0f} per s  (accepted "
          f"{full.accepted_per_s:,.0f} per s; bench-load {full.load_us:.1f} us; {resident / 1e6:.1f} MB "
          "resident)")
    print(f"  {'BullMQ, node web-push':<28} {peer_us:8.1f} us CPU  {peer_per_s:8,.0f} per s  "
          f"(before {peers[0][0]:.0f} us, after {peers[1][0]:.0f} us; {PEER_MESSAGES:,} messages)")
    print(f"  from the request to the answer of nginx: p50 {full.wait(0.5)} ms, p99 {full.wait(0.99)} ms "
          f"at full speed;\n  p50 {paced.wait(0.5)} ms, p99 {paced.wait(0.99)} ms of {PACE_PER_S:,} per s, "
          f"one by one ({paced.cpu_us:.1f} us CPU each)")
    is_cheap, is_ahead = full.cpu_us <= CPU_MAX_US, ratio >= RATIO_MIN
    print(f"  Lull {full.cpu_us:.1f} us, the target is at most {CPU_MAX_US}: "
          f"{'met' if is_cheap else 'MISSED'}")
    print(f"  BullMQ takes {ratio:.1f} times as much, the target is at least {RATIO_MIN}: "
          f"{'met' if is_ahead else 'MISSED'}")
    return 0 if is_cheap and is_ahead else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lull")
    parser.add_argument("load")
    parser.add_argument("--messages", type=int, default=100000)
    arguments = parser.parse_args()
    return report(*measure(arguments.lull, arguments.load, arguments.messages), arguments.messages)


if __name__ == "__main__":
    sys.exit(main())
