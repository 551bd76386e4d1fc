#!/usr/bin/python3
"""bench/queue: `lull serve` as a queue, beside BullMQ on Redis and beanstalkd, the same work in turn.

    bench/serve_queue.py LULL BENCH-LOAD [--quick]

Lull commits to SQLite with every commit synced; its messages are delivered, over HTTP/2 and TLS, to
an nginx. BullMQ's Redis syncs its file once a second, and its jobs do nothing: both in its favour.
beanstalkd syncs for each job, and in the second column each 50 ms. The messages are webhooks of 197
bytes. Fails where Lull is not ahead of BullMQ, and where a target of its own is missed.
"""

import argparse
import contextlib
import statistics
import sys
import time

import daemons
import sink as sinks

ROUNDS = 3
HOUR_MS = 3600 * 1000
RESIDENT_MAX = 100e6
RESTART_MAX_S = 2
# nginx looks at the clock when it begins a turn, not for each request: on a busy machine, by a server
# that looked for each, none of 16,000 came early where nginx put some 13 ms too early.
SINK_CLOCK_MS = 50
LOAD_S = 3  # messages that are due later are there by then, at the latest


def now_ms():
    return time.time_ns() // 1000000


class Work:
    """How much of each."""

    def __init__(self, is_quick):
        part = 10 if is_quick else 1
        self.rounds = 1 if is_quick else ROUNDS
        self.single = 40000 // part
        self.posts = 20000 // part  # to BullMQ
        self.bulk = 60000 // part
        self.synced = 6000 // part  # beanstalkd, a sync each
        self.claimed = 40000 // part
        self.waiting = 1000000 // part
        self.waiting_peers = 200000 // part
        self.late_s = 3 if not is_quick else 1


class Row:
    """values: of Lull, BullMQ and the two of beanstalkd, None where there is none."""

    def __init__(self, name, unit, is_more_better, values, note=""):
        self.name, self.unit, self.is_more_better, self.note = name, unit, is_more_better, note
        self.values = values
        ours, theirs = values[:2]
        self.ratio = ours / theirs if is_more_better else theirs / ours

    def show(self, value):
        if value is None:
            return "-"
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    def __str__(self):
        cells = " ".join(f"{self.show(value):>11}" for value in self.values)
        return f"  {self.name + ', ' + self.unit:<40} {cells}  {self.ratio:6.2f} x"


class Lull:
    """One `lull serve`, and how to give it messages. What it used of the processor is printed."""

    def __init__(self, daemon, load, sink):
        self.daemon, self.load, self.sink = daemon, load, sink
        self.next = 0

    def accept(self, what, count, **options):
        before = self.daemon.cpu_s()
        result = daemons.load(self.load, what, self.daemon.port, self.sink.origin, count=count,
                              first=self.next, **options)
        result["us"] = (self.daemon.cpu_s() - before) / count * 1e6
        self.next += count
        return result

    def wait_for_all(self, timeout_s=120):
        """Until nothing waits and nothing is leased."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            queue = daemons.get(self.daemon.port, "/v1/status")["queue"]
            if queue["waiting"] == 0 and queue["leased"] == 0:
                return
            time.sleep(0.2)
        sys.exit("bench/queue: Lull did not deliver everything")


# ---- accepting ----

def accept(work, lull, redis, redis_by_http, synced, unsynced):
    """Rates of each, by rounds in turn; and what Lull and bench-load took of the processor. Lull's
    messages are all due in an hour: they wait, as jobs without a worker do. One by one, BullMQ's are
    added by POSTs to a server of node's, as Lull's are; and, with no HTTP at all, by calls in the
    process that has them, 100 at once."""
    rates = {"single": [], "called": [], "bulk": []}
    costs = {"single": [], "bulk": []}
    waiting_bulk = (work.waiting - work.single * work.rounds) // work.rounds
    for _ in range(work.rounds):
        due = now_ms() + HOUR_MS
        ours = lull.accept("post", work.single, due_ms=due)
        posts = daemons.load(lull.load, "post", redis_by_http.port, lull.sink.origin,
                             count=work.posts, due_ms=due)
        rates["single"].append((
            work.single / ours["wall_s"], work.posts / posts["wall_s"],
            put(lull, synced, work.synced), put(lull, unsynced, work.single)))
        rates["called"].append((
            work.single / ours["wall_s"],
            work.single / daemons.bullmq("add", redis, count=work.single)["wall_s"]))
        costs["single"].append((ours["us"], ours["cpu_s"] / work.single * 1e6))
        ours = lull.accept("batch", waiting_bulk, due_ms=due, connections=4, lines=1000)
        rates["bulk"].append((
            waiting_bulk / ours["wall_s"],
            work.bulk / daemons.bullmq("bulk", redis, count=work.bulk)["wall_s"],
            put(lull, synced, work.synced, connections=4, lines=1000),
            put(lull, unsynced, work.bulk, connections=4, lines=1000)))
        costs["bulk"].append((ours["us"], ours["cpu_s"] / waiting_bulk * 1e6))
    return [
        Row("accepted by POSTs, 64 at once", "per s", True, medians(rates["single"]),
            cost(costs["single"])),
        Row("the same, BullMQ without HTTP", "per s", True, [*medians(rates["called"]), None, None],
            "by calls of add() in its own process, 100 at once"),
        Row("accepted by 1,000", "per s", True, medians(rates["bulk"]), cost(costs["bulk"])),
    ]


def put(lull, daemon, count, **options):
    return count / daemons.load(lull.load, "put", daemon.port, lull.sink.origin, count=count,
                                **options)["wall_s"]


def take(lull, daemon, count):
    return count / daemons.load(lull.load, "take", daemon.port, lull.sink.origin,
                                count=count)["wall_s"]


def medians(rounds):
    return [statistics.median(column) for column in zip(*rounds)]


def cost(rounds):
    ours, loads = medians(rounds)
    return f"Lull {ours:.1f} us CPU each, bench-load {loads:.1f}"


# ---- what waits ----

def keep(work, lull, fresh_redis, fresh_beanstalkd):
    """Memory of what waits, and how long a restart after a kill takes with it."""
    status = daemons.get(lull.daemon.port, "/v1/status")["queue"]
    if status["waiting"] != work.single * work.rounds + \
            (work.waiting - work.single * work.rounds) // work.rounds * work.rounds:
        sys.exit(f"bench/queue: {status['waiting']} messages wait, which is not what was accepted")
    count, peers = status["waiting"], work.waiting_peers
    resident = lull.daemon.resident_bytes()
    restart = lull.daemon.kill_and_start()
    resident_after = lull.daemon.resident_bytes()
    used = daemons.redis_memory(fresh_redis)
    daemons.bullmq("bulk", fresh_redis, count=peers)
    used = daemons.redis_memory(fresh_redis) - used
    before = fresh_beanstalkd.resident_bytes()
    put(lull, fresh_beanstalkd, peers, connections=4, lines=1000)
    jobs = fresh_beanstalkd.resident_bytes() - before
    rows = [
        Row("memory for each that waits", "bytes", False,
            [resident / count, used / peers, None, jobs / peers],
            f"Lull with {count:,} that wait {resident / 1e6:.1f} MB resident, "
            f"{resident_after / 1e6:.1f} MB after a restart; the others with {peers:,}"),
        Row("restart after kill -9", "s", False,
            [restart, fresh_redis.kill_and_start(), None, fresh_beanstalkd.kill_and_start()],
            "with as many"),
    ]
    targets = [
        (f"resident with {count:,} that wait", f"{resident / 1e6:.1f} MB", f"{RESIDENT_MAX / 1e6:.0f} MB",
         max(resident, resident_after) <= RESIDENT_MAX),
        ("restart with them", f"{restart:.2f} s", f"{RESTART_MAX_S} s", restart <= RESTART_MAX_S),
    ]
    return rows, targets


# ---- claiming and settling ----

def due_in(work, lull, count, due_per_s):
    """Brings that many messages, which are due from then on; returns when."""
    due = due_of_0 = now_ms() + LOAD_S * 1000
    options = {"connections": 4, "lines": 1000}
    if due_per_s:
        due_of_0 -= lull.next * 1000 // due_per_s
        options["due_per_s"] = due_per_s
    lull.accept("batch", count, due_ms=due_of_0, **options)
    if now_ms() > due:
        sys.exit(f"bench/queue: {count} messages were not accepted before they were due")
    return due


def claim(work, lull, redis, synced, unsynced):
    """Lull's are all due at the same instant, and each is delivered; the jobs of the others are those
    that accept() left, and do nothing."""
    rates, costs = [], []
    # A worker of BullMQ fetches some more than the last that is counted.
    left = work.single + work.bulk - 1000
    for _ in range(work.rounds):
        first = lull.next
        due_in(work, lull, work.claimed, 0)
        before = lull.daemon.cpu_s()
        times = lull.sink.once_each(first, work.claimed, 60).values()
        lull.wait_for_all()
        costs.append((lull.daemon.cpu_s() - before) / work.claimed * 1e6)
        rates.append((work.claimed / (max(times) - min(times)) * 1000,
                      left / daemons.bullmq("process", redis, count=left)["wall_s"],
                      take(lull, synced, 2 * work.synced),
                      take(lull, unsynced, work.single + work.bulk)))
    return [Row("claimed, done and settled", "per s", True, medians(rates),
                f"Lull {statistics.median(costs):.1f} us CPU each, sending by HTTP/2 and TLS included")]


def lateness(work, lull, redis):
    rows = []
    for per_s in (1000, 10000):
        count = per_s * work.late_s
        first = lull.next
        due = due_in(work, lull, count, per_s)
        times = lull.sink.once_each(first, count, work.late_s + LOAD_S + 30)
        late = [at - due - (number - first) * 1000 // per_s for number, at in times.items()]
        if min(late) < -SINK_CLOCK_MS:
            sys.exit(f"bench/queue: a message was sent {-min(late)} ms before it was due")
        theirs = daemons.bullmq("delayed", redis, queue="late", count=count, due_per_s=per_s,
                                delay_ms=LOAD_S * 1000 + count // 10)  # it adds 10 in a ms
        if theirs["added_ms"] > 0 or theirs["failed"]:
            sys.exit(f"bench/queue: {count} jobs of BullMQ were not there before they were due")
        rows.append(Row(f"p99 late, {per_s:,} due a second", "ms", False,
                        [max(sinks.percentile(late, 0.99), 0.5), theirs["p99_ms"], None, None],
                        f"p50 {sinks.percentile(late, 0.5)} and {theirs['p50_ms']:.0f} ms; Lull's when it "
                        "has been delivered, BullMQ's when its job begins"))
    return rows


# ---- all of it ----

def measure(work, program, load):
    rows = []
    beside = daemons.folder_of(program)
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(sinks.sink())
        redis = stack.enter_context(daemons.redis(beside))
        synced = stack.enter_context(daemons.beanstalkd(beside, 0))
        unsynced = stack.enter_context(daemons.beanstalkd(beside, 50))
        with daemons.lull(program, sink.certificate) as daemon:
            lull = Lull(daemon, load, sink)
            with daemons.bullmq_by_http(redis, beside) as redis_by_http:
                rows += accept(work, lull, redis, redis_by_http, synced, unsynced)
            with daemons.redis(beside) as fresh_redis, daemons.beanstalkd(beside, 50) as fresh_beanstalkd:
                kept, targets = keep(work, lull, fresh_redis, fresh_beanstalkd)
        with daemons.lull(program, sink.certificate) as daemon:
            lull = Lull(daemon, load, sink)
            rows += claim(work, lull, redis, synced, unsynced)
            rows += lateness(work, lull, redis)
    return rows + kept, targets


def report(work, rows, targets):
    print(f"bench/queue: lull serve, BullMQ 6 on Redis (sync each second), beanstalkd (sync each, each "
          f"50 ms);\nmedian of {work.rounds} rounds\n")
    names = " ".join(f"{name:>11}" for name in ("Lull", "BullMQ", "beanstalkd", "each 50 ms"))
    print(f"  {'':<40} {names}   Lull to BullMQ")
    for row in rows:
        print(row)
    print()
    for row in rows:
        if row.note:
            print(f"  {row.name}: {row.note}")
    for name, value, limit, is_met in targets:
        print(f"  {name}: {value}, the target is at most {limit}: {'met' if is_met else 'MISSED'}")
    behind = [row.name for row in rows if row.ratio <= 1]
    print(f"  Lull is ahead of BullMQ in {len(rows) - len(behind)} of {len(rows)}: "
          f"{'MISSED, ' + '; '.join(behind) if behind else 'met'}")
    return 1 if behind or not all(is_met for *_, is_met in targets) else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lull")
    parser.add_argument("load")
    parser.add_argument("--quick", action="store_true", help="a tenth of it, to see that it works")
    arguments = parser.parse_args()
    work = Work(arguments.quick)
    return report(work, *measure(work, arguments.lull, arguments.load))


if __name__ == "__main__":
    sys.exit(main())
